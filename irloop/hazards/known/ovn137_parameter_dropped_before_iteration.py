"""OVN137: the iteration number comes after a body parameter that OpenVINO removes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import dropped_before_iteration, is_loop

__all__ = ["ParameterDroppedBeforeIteration"]


class ParameterDroppedBeforeIteration(
    Hazard,
    code="OVN137",
    engine="openvino",
    versions=("2026.4.1",),
    title="The iteration number comes after a body parameter that OpenVINO removes",
    effect=Effect.WRONG,
    case="openvino_loop_dropped_before_iteration",
    fix="irloop transform --pass canonical_ports",
):
    """The iteration number comes after a body parameter that OpenVINO removes.

    What happens:
        OpenVINO removes the parameter, but the loop keeps the old position of the iteration number.
        The next parameter then receives the number. If there is none, or if it has another type or
        shape, OpenVINO refuses the model or the inference.
    Where:
        In the body of a Loop, the iteration number comes after a parameter that goes only to nested
        loops and branches, none of which reads it. OpenVINO's optimisations may turn any parameter
        into such a parameter.
    What irloop does:
        Conversion to IR and `transform` let the iteration number be the first parameter.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for parameter in dropped_before_iteration(node) if is_loop(node) else ():
            yield f"parameter {parameter} goes only to nested bodies that do not read it"
