"""OVN130: a state that the body does not change and that two outputs return."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Carried, LastValue
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop

__all__ = ["UnchangedStateReturnedTwice"]


class UnchangedStateReturnedTwice(
    Hazard,
    code="OVN130",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state that the body does not change and that two outputs return",
    effect=Effect.CRASH,
    case="openvino_loop_unchanged_twice",
    fix="Let the body return Maximum(s, s) instead of the state s.",
):
    """A state that the body does not change and that two outputs return.

    What happens:
        The plugin removes the state from the loop, and the process dies.
    Where:
        The body of a Loop or TensorIterator returns a state as it is, and two outputs return this
        result.
    What irloop does:
        `transform` lets the body return a copy. Conversion to IR copies such a state, too.
    """

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        unchanged = {
            port.result
            for port in body.ports.inputs
            if isinstance(port, Carried)
            and body.graph.outputs[port.result] is body.graph.inputs[port.parameter]
        }
        shown = [port.result for port in body.ports.outputs if isinstance(port, LastValue)]
        for result in sorted(unchanged):
            if shown.count(result) > 1:
                yield f"{shown.count(result)} outputs return result {result}, an unchanged state"
