"""Groups the operations of a large graph, so that a page opens quickly: each group is one box."""

from __future__ import annotations

from typing import Any

__all__ = ["grouped"]

#: A graph with more than LIMIT nodes is grouped: MEMBERS nodes form a group, and WIDEST groups form
#: a larger group.
LIMIT, MEMBERS, WIDEST = 300, 100, 60

Tree = list[Any]


def grouped(numbers: list[int]) -> Tree:
    """Group the numbers of a graph's nodes, which come in executable order.

    A list in the result is a group of consecutive nodes or groups. A small graph has no groups.
    """
    if len(numbers) <= LIMIT:
        return list(numbers)
    items: Tree = _chunks(numbers, MEMBERS)
    while len(items) > WIDEST:
        items = _chunks(items, WIDEST // 3)
    return items


def _chunks(items: Tree, size: int) -> Tree:
    """Consecutive parts of about equal length, each of at most `size` items."""
    count = -(-len(items) // size)
    bounds = [len(items) * at // count for at in range(count + 1)]
    return [items[bounds[at] : bounds[at + 1]] for at in range(count)]
