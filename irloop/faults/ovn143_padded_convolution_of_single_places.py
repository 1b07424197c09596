"""OVN143: a padded 1 x 1 convolution with strides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convolution import Convolution, GroupConvolution
from irloop.dialects.openvino.elementwise import (
    Abs,
)
from irloop.dialects.openvino.padding import Pad, Pad12
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["PaddedConvolutionOfSinglePlaces"]

#: Maximum number of values that are visited between two convolutions.
_MOST = 64


class PaddedConvolutionOfSinglePlaces(
    Fault,
    code="OVN143",
    engine="openvino",
    title="A padded 1 x 1 convolution with strides",
    effect=Effect.WRONG,
    fix="Write the convolution as a GroupConvolution of one group.",
):
    """A padded 1 x 1 convolution with strides.

    What happens:
        The transformation StridesOptimization moves the strides before the operation that computes
        the data, as if the convolution had no padding: with strides of 2 it pads every second
        element instead of reading every second element of the padded data. The output has another
        shape and wrong values.
    Where:
        A Convolution has filters of size 1 along each spatial axis, and padding of its own or a Pad
        before it. An elementwise operation or another Convolution computes its data. The first
        Convolution itself has strides, or a Convolution with strides reads its result.
    What irloop does:
        Conversion to IR writes the convolution as a GroupConvolution of one group, past which
        OpenVINO does not move strides.
    """

    operations = (Convolution,)

    def find(self, node: Node) -> Iterator[str]:
        if pads_skipped_data(node):
            yield f"{node.name!r} is a padded 1 x 1 convolution, and strides skip elements"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Write padded 1 x 1 convolutions with strides as group convolutions of one group.

        Given::

            y = Convolution(Relu(x), w [O, C, 1, 1], pads, strides)

        Result::

            y = GroupConvolution(Relu(x), Unsqueeze(w) [1, O, C, 1, 1], pads, strides)

        OpenVINO would move the strides before the padding, so y would have the wrong shape and
        wrong values."""
        data, filters = node.inputs
        if data is None or filters is None or not isinstance(node.op, Convolution):
            return
        op = node.op
        grouped = w(Unsqueeze(), filters, w.constant([0]))
        convolution = GroupConvolution(
            op.strides, op.pads_begin, op.pads_end, op.dilations, op.auto_pad
        )
        w.rewriter.replace_node(node, [w(convolution, data, grouped)])


def pads_skipped_data(node: Node) -> bool:
    """Return whether OpenVINO drops elements of a convolution's data before it pads the data.

    This is a fault, because the data must be padded first. OpenVINO makes it if `node` is a 1 x 1
    convolution and all of these are true:

    - `node` has padding, or a Pad before it.
    - `node`, or a later convolution, has strides above 1. Between the two there may be elementwise
      operations and other 1 x 1 convolutions.
    - An elementwise operation or another convolution computes the data that is padded.
    """
    op = node.op
    if not isinstance(op, Convolution) or not _is_pointwise(node):
        return False
    data = node.inputs[0]
    is_padded = any(op.pads_begin) or any(op.pads_end)
    if data is not None and isinstance(data.producer.op, Pad | Pad12):
        is_padded, data = True, data.producer.inputs[0]
    if not is_padded or data is None:
        return False
    source = data.producer.op
    if not (source.elementwise or isinstance(source, Convolution)):
        return False
    return any(step > 1 for step in op.strides) or _is_skipped(node.output)


def _is_pointwise(node: Node) -> bool:
    """Return whether `node` is a convolution whose filters have size 1 along each spatial axis."""
    filters = node.inputs[1] if len(node.inputs) > 1 else None
    dims = None if filters is None else shape_of(filters).dims
    return dims is not None and len(dims) > 2 and all(size == 1 for size in dims[2:])


def _is_skipped(value: Value) -> bool:
    """Return whether a convolution with strides skips elements of `value`.

    Convolutions of a value that is computed from `value` element by element are considered, too.
    """
    waiting, seen = [value], {value}
    while waiting and len(seen) < _MOST:
        for reader, position in waiting.pop().uses:
            op = reader.op
            if isinstance(op, Convolution) and position == 0:
                if any(step > 1 for step in op.strides):
                    return True
                follows = _is_pointwise(reader)
            else:
                follows = op.elementwise
            if follows and reader.output not in seen:
                seen.add(reader.output)
                waiting.append(reader.output)
    return False


@PaddedConvolutionOfSinglePlaces.case(
    "padded_convolution_of_single_places",
    "IR: rare forms",
    "OpenVINO Convolution-1",
    "Strides skip places of the padded data, whatever computes the data.",
    # The padded data are [0, 1, 2, 3, 0].
    run([[[[1, -2, -3]]]], [[[[0, 4, 0]]]]),
)
def smallest() -> Model:
    m = IrModel()
    op = Convolution(strides=(2,), pads_begin=(1,), pads_end=(1,), dilations=(1,))
    return m.done(m(op, m(Abs(), m.input("x", 1, 1, 3)), m.constant([[[2]]])))
