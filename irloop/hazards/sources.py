"""Finds the nodes that values are computed from, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from irloop.graph.model import Node, Value

__all__ = ["MOST", "sources"]

#: Maximum number of nodes visited. The patterns of hazards are small, but models may be huge.
MOST = 64


def _all_inputs(node: Node) -> Sequence[Value | None]:
    return node.inputs


def sources(
    nodes: Iterable[Node],
    followed: Callable[[Node], Iterable[Value | None]] = _all_inputs,
) -> Iterator[Node]:
    """Yield `nodes` and the nodes that they are computed from, each once, the nearest first.

    `followed` selects the inputs of a node to follow. At most `MOST` + 1 nodes are visited: a
    caller that gets more than `MOST` nodes does not know all of them.
    """
    pending = list(nodes)
    seen = set(pending)
    for visited, node in enumerate(pending):
        if visited > MOST:
            return
        yield node
        for value in followed(node):
            if value is not None and value.producer not in seen:
                seen.add(value.producer)
                pending.append(value.producer)
