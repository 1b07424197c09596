"""OVN130: a body parameter that two outputs return unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, returned_twice

__all__ = ["UnchangedStateReturnedTwice"]


class UnchangedStateReturnedTwice(
    Hazard,
    code="OVN130",
    engine="openvino",
    versions=("2026.4.1",),
    title="A body parameter that two outputs return unchanged",
    effect=Effect.CRASH,
    case="openvino_loop_unchanged_twice",
    fix="Let the body return Maximum(s, s) instead of the parameter s.",
):
    """A body parameter that two outputs return unchanged.

    What happens:
        The plugin removes the output that returns the last value, and the process dies.
    Where:
        The body of a Loop or TensorIterator returns a parameter unchanged: a state that it does not
        change, or a captured value. Two outputs of the loop return this parameter: both as its last
        value, or one as its last value and one as its values concatenated over all iterations.
    What irloop does:
        `transform` lets the body return a copy. Conversion to IR copies such a value, too.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for result, count in returned_twice(node).items() if is_loop(node) else ():
            yield f"{count} outputs return result {result}, an unchanged body parameter"
