"""Checks where the branches of decision trees lead, before a kernel follows them."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.graph.arguments import Arguments

__all__ = ["require_trees"]


def require_trees(
    args: Arguments, children: Sequence[tuple[int, ...]], roots: Sequence[int] | None = None
) -> None:
    """Check that the branches of trees lead to existing nodes and form no cycles.

    `children` holds, for each node, the indices of the nodes that it leads to. `roots` holds the
    indices of the root nodes; if it is None, any node may be a root.

    Raises:
        InferenceError: when an index does not belong to a node, or nodes form a cycle.
    """
    count = len(children)
    starts = range(count) if roots is None else roots
    for number in (*starts, *(child for found in children for child in found)):
        if not 0 <= number < count:
            raise args.error(
                "a branch leads to a node that does not exist",
                f"a node from 0 to {count - 1}",
                str(number),
                kind="range",
            )
    done: set[int] = set()
    for start in starts:
        _require_no_cycle(args, children, start, done)


def _require_no_cycle(
    args: Arguments, children: Sequence[tuple[int, ...]], start: int, done: set[int]
) -> None:
    above: set[int] = set()
    stack = [(start, False)]
    while stack:
        node, is_left = stack.pop()
        if is_left:
            above.discard(node)
            done.add(node)
        elif node in above:
            raise args.error("the nodes of a tree form a cycle", "a tree", f"node {node}")
        elif node not in done:
            above.add(node)
            stack.append((node, True))
            stack += [(child, False) for child in children[node]]
