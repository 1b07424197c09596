"""OVN135: an operation of unknown size that depends on constants only."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import (
    read_inputs,
)
from irloop.analysis.sources import is_computed_from_inputs, sources
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import activation, convolution, recurrent, search
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import (
    Add,
    Negative,
)
from irloop.dialects.openvino.search import NonZero
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["SizeFromConstants"]

#: Operations that OpenVINO does not fold before the plugin gets the model.
NOT_FOLDED = (
    ov.TensorIterator,
    *recurrent.SEQUENCES,
    recurrent.LSTMSequence1,
    convolution.Convolution,
    activation.GRN,
    search.Unique,
)


class SizeFromConstants(
    Fault,
    code="OVN135",
    engine="openvino",
    title="An operation of unknown size that depends on constants only",
    effect=Effect.REFUSAL,
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


def is_sized_by_constants(node: Node) -> bool:
    """Return whether `node` has outputs of unknown size although it depends on constants only.

    OpenVINO does not fold such a node before the plugin runs, because the node or one that it
    depends on has a type that OpenVINO does not fold.
    """
    if not node.outputs or all(shape_of(value).is_static for value in node.outputs):
        return False
    if is_computed_from_inputs(node, read_inputs) is not False:
        return False
    return any(isinstance(item.op, NOT_FOLDED) for item in sources([node], read_inputs))


@SizeFromConstants.case(
    "openvino_size_from_constants",
    "IR: rare forms",
    "OpenVINO NonZero-3",
    "The indices of the elements that are not zero, whatever computes them.",
    run([[5]], [[[0, 2]], [-5]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.tensor_iterator()
    part = loop.slice(m.constant([1, 0, 2]), 0)
    loop.joined(loop(Add(), part, part), 0)
    (doubled,) = loop.done()
    return m.done(m(NonZero(ElementType.I64), doubled), m(Negative(), m.input("x", 1)))
