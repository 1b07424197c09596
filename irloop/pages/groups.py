"""Groups the operations of a large graph, so that a page opens quickly: each group is one box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["grouped"]

#: Graphs with more than LIMIT nodes are grouped. A group has at most MEMBERS nodes. Groups form
#: larger groups, until there are at most WIDEST with at most EDGES edges between them, because the
#: time for the layout depends on the edges even more than on the boxes.
LIMIT, MEMBERS, WIDEST, EDGES = 300, 100, 20, 60

Tree = list[Any]


def grouped(numbers: Sequence[int], edges: Sequence[tuple[int, int]] = ()) -> Tree:
    """Group the numbers of a graph's nodes, which come in executable order.

    Each element of `edges` holds the numbers of the two nodes that the edge connects. A list in the
    result is a group of consecutive nodes or groups. A small graph has no groups.
    """
    if len(numbers) <= LIMIT:
        return list(numbers)
    groups = _chunks(numbers, MEMBERS)
    widest = WIDEST
    while True:
        items = groups if len(groups) <= widest else _chunks(groups, -(-len(groups) // widest))
        if widest == 2 or _edges_between(items, edges) <= EDGES:
            return items
        widest //= 2


def _edges_between(items: Tree, edges: Sequence[tuple[int, int]]) -> int:
    """Return how many ordered pairs of different items are connected by at least one edge.

    An item is a node or a group of nodes. `edges` holds pairs of node numbers.
    """
    place = {number: at for at, item in enumerate(items) for number in _members(item)}
    pairs = {(place[source], place[target]) for source, target in edges}
    return sum(source != target for source, target in pairs)


def _members(item: Tree | int) -> Iterator[int]:
    if isinstance(item, int):
        yield item
        return
    for part in item:
        yield from _members(part)


def _chunks(items: Sequence[Any], size: int) -> Tree:
    """Consecutive parts of about equal length, each of at most `size` items."""
    count = -(-len(items) // size)
    bounds = [len(items) * at // count for at in range(count + 1)]
    return [list(items[bounds[at] : bounds[at + 1]]) for at in range(count)]
