"""OVN169: a MaxPool with indices and automatic padding over unknown sizes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.pooling import MaxPool, MaxPool14
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node

__all__ = ["IndicesOfAutomaticPadding"]


class IndicesOfAutomaticPadding(
    Fault,
    code="OVN169",
    engine="openvino",
    title="A MaxPool with indices and automatic padding over unknown sizes",
    effect=Effect.WRONG,
    fix="Write the padding as pads_begin and pads_end, or give the input static sizes.",
):
    """A MaxPool with indices and automatic padding over unknown sizes.

    What happens:
        The CPU plugin puts no padding in front of the data, so that the maxima and their indices
        are wrong.
    Where:
        A MaxPool of opset8 or later with auto_pad same_upper or same_lower, whose indices are used,
        and a spatial size of the data is not known.
    What irloop does:
        Conversion to IR writes the padding as numbers if the strides are 1. With other strides the
        padding depends on the sizes, and the MaxPool is left as it is.
    """

    operations = (MaxPool, MaxPool14)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, self.operations) or not node.outputs[1].is_used:
            return
        data = node.inputs[0]
        dims = None if data is None else shape_of(data).dims
        is_known = dims is not None and all(isinstance(dim, int) for dim in dims[2:])
        if not is_known and node.op.auto_pad.lower().startswith("same"):
            yield f"the padding of {node.name!r} depends on sizes that are not known"


@IndicesOfAutomaticPadding.case(
    "indices_of_automatic_padding",
    "IR: rare forms",
    "OpenVINO MaxPool-8",
    "same_upper: the input is padded so that the output has its size divided by the strides.",
    run([[[[[3, 1, 2]]]]], [[[[[3, 3, 2]]]], [[[[0, 0, 2]]]]]),
    run([[[[[1, 4]]]]], [[[[[4, 4]]]], [[[[1, 1]]]]]),
)
def smallest() -> Model:
    m = IrModel()
    op = MaxPool(
        kernel_size=(1, 3), strides=(1, 1), dilations=(1, 1), auto_pad="same_upper", axis=2
    )
    node = m.builder.emit(op, m.input("x", 1, 1, 1, None), n_outputs=2)
    return m.done(*node.outputs)
