"""Finds convolutions that OpenVINO's CPU plugin computes wrongly.

Hazards use these functions to find their patterns, and conversion to avoid them.
"""

from __future__ import annotations

from irloop.dialects.openvino.convolution import Convolution
from irloop.dialects.openvino.padding import Pad, Pad12
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value

__all__ = ["pads_skipped_data"]

#: Maximum number of values that are visited between two convolutions.
_MOST = 64


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
    """True for a convolution whose filters have size 1 along each spatial axis."""
    filters = node.inputs[1] if len(node.inputs) > 1 else None
    dims = None if filters is None else shape_of(filters).dims
    return dims is not None and len(dims) > 2 and all(size == 1 for size in dims[2:])


def _is_skipped(value: Value) -> bool:
    """True if a convolution with strides skips elements of `value`.

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
