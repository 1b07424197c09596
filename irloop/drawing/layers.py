"""Assigns vertices to layers with edges leading down, and orders each layer for few crossings.

K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
Structures" (1981): layers by longest paths, bends where an edge crosses a layer, and sweeps that
order each layer by barycentres.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from irloop.progress import told

__all__ = ["Edge", "Layered", "layered", "ranks"]

#: The numbers of the source, the target, and the output of the source; edges of one output share
#: their bends.
Edge = tuple[int, int, int]

#: The number of sweeps over all layers, alternately down and up.
SWEEPS = 12


@dataclass(slots=True)
class Layered:
    """Vertices in layers. Vertices with numbers from `count` on are bends of long edges.

    `routes` holds, for each edge, the bends between its ends.
    """

    count: int
    layers: list[list[int]]
    above: list[list[int]]
    below: list[list[int]]
    routes: list[list[int]]


def ranks(
    count: int, edges: Sequence[Edge], first: Mapping[int, int], last: Mapping[int, int]
) -> list[int]:
    """Return the number of the layer in which each vertex of a graph is drawn; 0 is at the top.

    A vertex is placed directly below the lowest vertex from which an edge leads to it. If there is
    no such edge, it is placed directly above the first vertex to which it leads.

    Args:
        count: the number of vertices.
        edges: the edges; each leads from a lower vertex number to a higher one.
        first: the layers of the vertices at the top, by vertex.
        last: the positions of the vertices at the bottom; 0 is the first layer below all vertices
            that are not in `last`, 1 the layer after it.
    """
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for source, target, _ in edges:
        above[target].append(source)
        below[source].append(target)
    top = max(first.values(), default=-1) + 1
    rank = [0] * count
    for vertex in range(count):
        lowest = max((rank[source] + 1 for source in above[vertex]), default=0)
        rank[vertex] = first.get(vertex, max(top, lowest))
    bottom = max((rank[v] for v in range(count) if v not in last), default=-1) + 1
    for vertex, layer in last.items():
        rank[vertex] = bottom + layer
    free = [False] * count
    for vertex in range(count):
        free[vertex] = vertex not in first and all(free[source] for source in above[vertex])
    for vertex in reversed(range(count)):
        if free[vertex] and below[vertex] and vertex not in last:
            rank[vertex] = max(top, min(rank[target] for target in below[vertex]) - 1)
    for vertex in range(count):
        if free[vertex] and above[vertex] and vertex not in last:
            # Vertices that read nothing are now directly above their first reader. The others move
            # back up, directly below the vertices that they read.
            rank[vertex] = max(rank[source] for source in above[vertex]) + 1
    return rank


def layered(rank: Sequence[int], edges: Sequence[Edge]) -> Layered:
    """Place vertices in the layers that `rank` gives, with bends for long edges.

    The vertices of each layer are ordered so that few edges cross.
    """
    found = _with_bends(rank, edges)
    _order(found)
    return found


def _with_bends(rank: Sequence[int], edges: Sequence[Edge]) -> Layered:
    count = len(rank)
    layers: list[list[int]] = [[] for _ in range(max(rank, default=-1) + 1)]
    for vertex, layer in enumerate(rank):
        layers[layer].append(vertex)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    chains: dict[tuple[int, int], list[int]] = {}
    routes: list[list[int]] = []
    for source, target, output in edges:
        chain = chains.setdefault((source, output), [])
        needed = rank[target] - rank[source] - 1
        while len(chain) < needed:
            bend = len(above)
            before = chain[-1] if chain else source
            above.append([before])
            below.append([])
            below[before].append(bend)
            chain.append(bend)
            layers[rank[source] + len(chain)].append(bend)
        end = chain[needed - 1] if needed else source
        if target not in below[end]:
            below[end].append(target)
            above[target].append(end)
        routes.append(chain[:needed])
    return Layered(count, layers, above, below, routes)


def _order(layered: Layered) -> None:
    """Order the vertices within each layer, so that few edges cross.

    Several sweeps, downwards and upwards in turn, reorder each layer by the positions of its
    neighbours. The order with the fewest crossings is kept.
    """
    _order_as_reached(layered)
    best = [list(layer) for layer in layered.layers]
    fewest = _crossings(layered)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        told("sweeps", sweep, SWEEPS)
        downwards = sweep % 2 == 0
        layers = layered.layers if downwards else layered.layers[::-1]
        neighbours = layered.above if downwards else layered.below
        for fixed, free in pairwise(layers):
            _by_barycentre(fixed, free, neighbours)
        crossings = _crossings(layered)
        if crossings < fewest:
            fewest = crossings
            best = [list(layer) for layer in layered.layers]
    told("sweeps", SWEEPS, SWEEPS)
    for layer, order in zip(layered.layers, best, strict=True):
        layer[:] = order


def _order_as_reached(layered: Layered) -> None:
    """Set the initial order of each layer: the order of a depth-first search from the top.

    The search follows the edges from each vertex to its readers.
    """
    reached: dict[int, int] = {}
    starts = [vertex for layer in layered.layers for vertex in layer if not layered.above[vertex]]
    stack = starts[::-1]
    while stack:
        vertex = stack.pop()
        if vertex not in reached:
            reached[vertex] = len(reached)
            stack += reversed(layered.below[vertex])
    for layer in layered.layers:
        layer.sort(key=reached.__getitem__)


def _by_barycentre(fixed: list[int], free: list[int], neighbours: list[list[int]]) -> None:
    at = {vertex: index for index, vertex in enumerate(fixed)}
    own = {vertex: index for index, vertex in enumerate(free)}
    scale = len(fixed) / max(1, len(free))

    def place(vertex: int) -> tuple[float, int]:
        near = [at[other] for other in neighbours[vertex]]
        # A vertex without neighbours keeps its position relative to the others.
        wish = sum(near) / len(near) if near else own[vertex] * scale
        return wish, own[vertex]

    free.sort(key=place)


def _crossings(found: Layered) -> int:
    total = 0
    for upper, lower in pairwise(found.layers):
        at = {vertex: index for index, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(at[other] for other in found.below[vertex])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total
