"""OVN136: an unread loop output that shares its body result with another output."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, unread_beside_shared

__all__ = ["UnreadOutputOfASharedResult"]


class UnreadOutputOfASharedResult(
    Hazard,
    code="OVN136",
    engine="openvino",
    versions=("2026.4.1",),
    title="An unread loop output that shares its body result with another output",
    effect=Effect.WRONG,
    case="openvino_loop_unread_beside_shared",
    fix="irloop transform --pass canonical_ports",
):
    """An unread loop output that shares its body result with another output.

    What happens:
        OpenVINO removes the unread output and with it the result of the body. The other output then
        has the values of the next result. If these differ in type or shape, OpenVINO refuses the
        model or the inference.
    Where:
        Two or more outputs of a Loop or TensorIterator have the same result of the body, as last
        value or concatenated, and nothing reads one of them.
    What irloop does:
        Conversion to IR writes no such outputs, and `transform` removes them.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for output in unread_beside_shared(node) if is_loop(node) else ():
            yield f"nothing reads output {output}, and another output has the same body result"
