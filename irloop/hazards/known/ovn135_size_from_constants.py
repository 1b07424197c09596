"""OVN135: an operation of unknown size that depends on constants only."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import NOT_FOLDED, is_sized_by_constants

__all__ = ["SizeFromConstants"]


class SizeFromConstants(
    Hazard,
    code="OVN135",
    engine="openvino",
    versions=("2026.4.1",),
    title="An operation of unknown size that depends on constants only",
    effect=Effect.REFUSAL,
    case="openvino_size_from_constants",
    fix="irloop transform --pass constant_folding",
):
    """An operation of unknown size that depends on constants only.

    What happens:
        The model does not compile: "the memory desc is undefined". The plugin computes the
        operation during compilation, and has no memory for a result of unknown size.
    Where:
        A TensorIterator, a recurrent sequence, a Convolution, a GRN or a Unique depends on
        constants only; OpenVINO does not fold these. (A captured value that the body does
        not read is disregarded here.) The size of the result, or of a value that is
        computed from the result, depends on the values of elements, like the size of the
        result of a Loop, an If, NonZero or Range.
    What irloop does:
        Conversion to IR folds loops that depend on constants only, and so does `transform` if a
        pass made such a loop.
    """

    beside = NOT_FOLDED

    def find(self, node: Node) -> Iterator[str]:
        if is_sized_by_constants(node):
            yield f"the size of {node.op.type} {node.name!r} depends on constants only"
