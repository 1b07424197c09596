"""OVN132: a loop output is concatenated along an axis that follows an axis of size 0."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, scanned_across

__all__ = ["JoinAfterAnEmptyAxis"]


class JoinAfterAnEmptyAxis(
    Hazard,
    code="OVN132",
    engine="openvino",
    versions=("2026.4.1",),
    title="A loop output concatenated along an axis that follows an axis of size 0",
    effect=Effect.CRASH,
    case="openvino_loop_joins_after_an_empty_axis",
    fix="Join along axis 0, and transpose after the loop.",
):
    """A loop output concatenated along an axis that follows an axis of size 0.

    What happens:
        The plugin divides by the number of elements of the axes before the joined one, and the
        process ends with SIGFPE. Slices have no such fault.
    Where:
        A Loop or TensorIterator concatenates values along an axis other than 0, and an earlier axis
        is 0 or not known before the model runs.
    What irloop does:
        Conversion to IR joins such values along axis 0, with a Transpose in the body and one after
        the loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in scanned_across(node) if is_loop(node) else ():
            name = f"output {port.external} of {node.name!r}"
            yield f"{name} is joined along axis {port.axis}, and an axis before it may be empty"
