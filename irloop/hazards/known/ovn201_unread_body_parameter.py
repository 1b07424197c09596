"""OVN201: a mapped body parameter that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop

__all__ = ["UnreadBodyParameter"]


class UnreadBodyParameter(
    Hazard,
    code="OVN201",
    engine="openvino",
    versions=("2021.4.2",),
    title="A mapped body parameter that nothing reads",
    effect=Effect.REFUSAL,
    case="iterator_unread_parameter",
    rule="IRL513",
    passes=("canonical_ports",),
):
    """A mapped body parameter that nothing reads.

    What happens:
        OpenVINO 2021.4 does not read the file.
    Where:
        The port map names a Parameter whose output no layer of the body reads.
    What irloop does:
        Conversion to IR removes such a parameter.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        for port in body.ports.inputs:
            parameter = body.graph.input(port.parameter)
            if not parameter.is_used:
                yield f"nothing in the body reads {parameter.name!r}"
