"""Finds the nodes that values are computed from, up to a limit.

Faults search these nodes for their patterns. The limit keeps the search short in large models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.walk import all_inputs, upstream

__all__ = ["MOST", "is_computed_from_inputs", "sources"]

#: Maximum number of nodes visited. The patterns of faults are small, but models may be huge.
MOST = 64


def sources(
    nodes: Iterable[Node],
    followed: Callable[[Node], Iterable[Value | None]] = all_inputs,
) -> Iterator[Node]:
    """Return `nodes` and the nodes that they are computed from, each once, the nearest first.

    `followed` selects the inputs of a node to follow. At most `MOST` + 1 nodes are visited: a
    caller that gets more than `MOST` nodes does not know all of them.
    """
    return islice(upstream(nodes, followed), MOST + 1)


def is_computed_from_inputs(
    node: Node,
    followed: Callable[[Node], Iterable[Value | None]] = all_inputs,
) -> bool | None:
    """True if a node depends on an input of its graph, a variable or a random number.

    The result is None if more than `MOST` nodes would have to be visited to decide this. `followed`
    selects the inputs of a node to follow.
    """
    for visited, found in enumerate(sources([node], followed)):
        if not found.op.pure or not (found.inputs or isinstance(found.op, Constant)):
            return True
        if visited == MOST:
            return None
    return False
