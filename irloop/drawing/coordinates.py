"""Computes the horizontal coordinates of the vertices in ordered layers.

U. Brandes, B. Köpf, "Fast and Simple Horizontal Coordinate Assignment" (GD 2001): the vertices are
aligned along the edges in four extreme ways, which are compacted and then averaged, so that long
edges are straight.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["horizontal"]

Layers = list[list[int]]


def horizontal(
    layers: Layers,
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    widths: Sequence[float],
    bends: Sequence[bool],
    gap: float,
) -> list[float]:
    """Compute the horizontal centre of each vertex.

    `above` and `below` hold the neighbours of each vertex in the layer above and the layer below.
    `bends` marks vertices that are bends of long edges: two consecutive bends stay in line.
    """
    conflicts = _conflicts(layers, above, bends)
    layouts = []
    for downwards in (True, False):
        ordered = layers if downwards else layers[::-1]
        neighbours = above if downwards else below
        for leftwards in (True, False):
            turned = ordered if leftwards else [layer[::-1] for layer in ordered]
            root = _aligned(turned, neighbours, conflicts, len(widths))
            places = _compacted(turned, root, widths, gap)
            layouts.append(places if leftwards else [-x for x in places])
    return _balanced(layouts, widths)


def _positions(layers: Layers) -> dict[int, int]:
    return {vertex: at for layer in layers for at, vertex in enumerate(layer)}


def _conflicts(
    layers: Layers, above: Sequence[Sequence[int]], bends: Sequence[bool]
) -> set[tuple[int, int]]:
    """Return the edges that cross the line between two consecutive bends of a long edge.

    An edge is a pair (upper, lower) of vertices in consecutive layers. `above` holds the neighbours
    of each vertex in the layer above. `bends` is true for the vertices that are bends of long
    edges. Edges between two bends are not returned.
    """
    order = _positions(layers)
    conflicts: set[tuple[int, int]] = set()
    for upper, lower in pairwise(layers):
        low, start = 0, 0
        for index, vertex in enumerate(lower):
            inner = next((u for u in above[vertex] if bends[u]), None) if bends[vertex] else None
            if inner is None and index < len(lower) - 1:
                continue
            high = len(upper) - 1 if inner is None else order[inner]
            for other in lower[start : index + 1]:
                for source in above[other]:
                    inside = low <= order[source] <= high
                    if not inside and not (bends[source] and bends[other]):
                        conflicts.add((source, other))
            low, start = high, index + 1
    return conflicts


def _aligned(
    layers: Layers,
    neighbours: Sequence[Sequence[int]],
    conflicts: set[tuple[int, int]],
    count: int,
) -> list[int]:
    """Align each vertex with a median neighbour, if possible; return the root of each vertex.

    Aligned vertices form a chain, called a block; its first vertex is the root of all of them. A
    vertex that cannot be aligned starts a block of its own. `neighbours` holds the neighbours of
    each vertex in the previous layer. Along the edges in `conflicts`, no vertices are aligned.
    `count` is the number of vertices.
    """
    order = _positions(layers)
    root = list(range(count))
    taken = [False] * count
    for layer in layers:
        last = -1
        for vertex in layer:
            near = sorted(neighbours[vertex], key=order.__getitem__)
            middle = near[(len(near) - 1) // 2 : len(near) // 2 + 1]
            for other in middle:
                crossed = (other, vertex) in conflicts or (vertex, other) in conflicts
                if last < order[other] and not crossed and not taken[other]:
                    taken[other] = True
                    root[vertex] = root[other]
                    last = order[other]
                    break
    return root


def _compacted(layers: Layers, root: list[int], widths: Sequence[float], gap: float) -> list[float]:
    """Place all blocks as far left as possible, then move them towards their right neighbours.

    Returns the position of each vertex.
    """
    left: dict[int, dict[int, float]] = {}
    right: dict[int, dict[int, float]] = {}
    for layer in layers:
        for first, second in pairwise(layer):
            a, b = root[first], root[second]
            apart = max(left.get(b, {}).get(a, 0.0), (widths[first] + widths[second]) / 2 + gap)
            left.setdefault(b, {})[a] = apart
            right.setdefault(a, {})[b] = apart
    blocks = sorted(set(root))
    order = _before_first(blocks, left)
    places = dict.fromkeys(blocks, 0.0)
    for block in order:
        places[block] = max((places[a] + d for a, d in left.get(block, {}).items()), default=0.0)
    for block in reversed(order):
        room = min((places[b] - d for b, d in right.get(block, {}).items()), default=places[block])
        places[block] = max(places[block], room)
    return [places[item] for item in root]


def _before_first(blocks: list[int], before: dict[int, dict[int, float]]) -> list[int]:
    """Sort the blocks so that each comes after all blocks to its left.

    `before` maps a block to the blocks to its left, with the minimum distance from each of them.
    """
    order: list[int] = []
    seen: set[int] = set()
    stack = [(block, False) for block in reversed(blocks)]
    while stack:
        block, done = stack.pop()
        if done:
            order.append(block)
        elif block not in seen:
            seen.add(block)
            stack.append((block, True))
            stack += [(other, False) for other in before.get(block, {}) if other not in seen]
    return order


def _balanced(placements: list[list[float]], widths: Sequence[float]) -> list[float]:
    """Combine four placements of the vertices into one.

    First, each placement is shifted: those at even indices to the left border of the narrowest
    placement, those at odd indices to its right border. The result for each vertex is the mean of
    the second and third of its four sorted positions.
    """
    if not widths:
        return []
    spans = []
    for places in placements:
        low = min(x - w / 2 for x, w in zip(places, widths, strict=True))
        high = max(x + w / 2 for x, w in zip(places, widths, strict=True))
        spans.append((low, high))
    narrow = min(spans, key=lambda span: span[1] - span[0])
    moved = []
    for number, (places, span) in enumerate(zip(placements, spans, strict=True)):
        shift = narrow[0] - span[0] if number % 2 == 0 else narrow[1] - span[1]
        moved.append([x + shift for x in places])
    middle = [sorted(four)[1:3] for four in zip(*moved, strict=True)]
    return [(low + high) / 2 for low, high in middle]
