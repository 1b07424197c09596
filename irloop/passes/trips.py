"""Computes the trip count of a loop, if it is known before the run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from irloop.dialects.loops import joined_count, normal_axis, sets_the_count, sliced_count
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import condition_result, inward
from irloop.graph.inference import Inference
from irloop.graph.loops import InputPort, OutputPort, ScanInput, Sliced
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import TensorType

__all__ = ["condition_after", "kept_for_count", "one_element", "trip_count"]


def one_element(parameter: Value) -> tuple[int, ...]:
    """The shape of a condition or iteration number: [1] if `parameter` has rank 1, else []."""
    rank = parameter.type.shape.rank if isinstance(parameter.type, TensorType) else None
    return (1,) if rank == 1 else ()


def _number(inference: Inference, value: Value | None) -> int | None:
    known = None if value is None else inference.constant(value)
    return None if known is None or known.size != 1 else int(known.reshape(-1)[0])


def condition_after(node: Node, inference: Inference) -> bool | None:
    """Return the constant condition that the body of a Loop returns after each iteration.

    Returns None if the condition is not known to be constant. Returns True if the body has no
    condition output, or if it passes on the condition of this iteration, which was true because the
    iteration ran.
    """
    body = node.body()
    result = condition_result(body)
    value = None if result is None else result.inputs[0]
    if value is None:
        return True
    known = _number(inference, value)
    if known is not None:
        return bool(known)
    if isinstance(node.op, onnx.Loop):
        return True if onnx.keeps_condition(body) else None
    # If the body returns its own condition, that was true, because the iteration ran.
    own = [item.parameter for item in inward(node, body) if item.result is result]
    return True if value in own else None


def trip_count(node: Node, inference: Inference) -> int | None:
    """The trip count of a loop node; None if it is known only at run time."""
    if isinstance(node.op, ov.Loop | onnx.Loop):
        return _loop_count(node, inference)
    if isinstance(node.op, onnx.Scan):
        return _scan_count(node, node.body())
    if isinstance(node.op, ov.TensorIterator):
        return _slice_count(node, node.body())
    return None


def _loop_count(node: Node, inference: Inference) -> int | None:
    is_onnx = isinstance(node.op, onnx.Loop)
    limit = _number(inference, node.inputs[0])
    unlimited = node.inputs[0] is None or (is_onnx and limit == onnx.NO_LIMIT)
    unlimited = unlimited or (not is_onnx and limit is not None and limit < 0)
    omitted = len(node.inputs) < 2 or node.inputs[1] is None
    starts = 1 if omitted else _number(inference, node.inputs[1])
    if starts == 0 or (limit is not None and limit <= 0 and not unlimited):
        return 0
    if starts is None:
        return None
    goes_on = condition_after(node, inference)
    if goes_on is False and (limit is not None or unlimited):
        return 1
    if goes_on is None or unlimited:
        return None
    return limit


def _size(value: Value | None, port: Sliced | ScanInput) -> int | None:
    if value is None or not isinstance(value.type, TensorType):
        return None
    dims = value.type.shape.dims
    if dims is None:
        return None
    axis = normal_axis(port.axis, len(dims))
    if not 0 <= axis < len(dims):
        # The port map names an axis that the tensor does not have.
        return None
    dim = dims[axis]
    return dim if isinstance(dim, int) else None


def _scan_count(node: Node, body: Body) -> int | None:
    for item in inward(node, body):
        size = _size(item.outer, item.port) if isinstance(item.port, ScanInput) else None
        if size is not None:
            return size
    return None


def _slice_count(node: Node, body: Body) -> int | None:
    is_sliced = False
    for wire in inward(node, body):
        if isinstance(wire.port, Sliced):
            is_sliced, size = True, _size(wire.outer, wire.port)
            if size is not None:
                return sliced_count(wire.port, size)
    return None if is_sliced else joined_count(body.ports)


def kept_for_count(
    op: Op, ports: Sequence[InputPort | OutputPort], removed: Collection[int]
) -> int | None:
    """Return which port must stay so that a loop runs as often as before; None if none must.

    Every pass that removes ports asks this function. `op` is the operation of the loop, `ports` are
    all its inputs and outputs, and `removed` are the positions in `ports` of those that would be
    removed. A Scan and a TensorIterator count their slices, and a TensorIterator without slices the
    range of a concatenated output. A Loop has its trip count.
    """
    if not isinstance(op, ov.TensorIterator | onnx.Scan | onnx.Scan8):
        return None
    counting = [at for at, port in enumerate(ports) if isinstance(port, Sliced | ScanInput)]
    counting = counting or [at for at, port in enumerate(ports) if sets_the_count(port)]
    return counting[0] if counting and all(at in removed for at in counting) else None
