"""Finds inputs that the body of an ONNX Loop slices by gathering at the iteration number.

ONNX Loop has no sliced inputs. Its body gathers the slice of an iteration itself, whereas the port
map of an IR describes the same slice by attributes.
"""

from __future__ import annotations

from typing import NamedTuple

from irloop.dialects.classes import classes_of
from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.gather import Gather
from irloop.graph.builder import shape_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.record import Record

__all__ = ["Gathered", "gathered_slices"]

#: Maximum number of elements of a slice along its axis.
MOST = 1024

#: Maximum number of operations between the iteration number and an index, along one path.
DEPTH = 8

_ADD, _SUB, _MUL = classes_of("Add"), classes_of("Sub"), classes_of("Mul")
_SAME_NUMBERS = classes_of("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")


class Gathered(Record):
    """An input that the body of an ONNX Loop slices by gathering.

    Slice i begins at index `first + i * stride` of the non-negative `axis` and has `part_size`
    indices. `external` is the position of the input, and `parameter` that of the body parameter.
    `value` is the slice inside the body. `first` is None if it is known only at run time.
    """

    external: int
    parameter: int
    axis: int
    stride: int
    part_size: int
    first: int | None
    value: Value


class _Affine(NamedTuple):
    """Indices that depend on the iteration number: ``iteration * factor + offsets``.

    There is one index for each offset. `offsets` is None if the offsets are known only at run time.
    """

    factor: int
    offsets: tuple[int, ...] | None


def gathered_slices(node: Node, body: Body) -> dict[int, Gathered]:
    """Find the invariant inputs of an ONNX Loop from which each iteration gathers a slice.

    The index must be an affine function of the iteration number. The result is keyed by the
    position of the body parameter from which the slice is gathered.
    """
    number = body.ports.iteration
    if not isinstance(node.op, onnx.Loop) or number is None:
        return {}
    iteration = body.graph.input(number)
    gathered: dict[int, Gathered] = {}
    for port in body.ports.inputs:
        value = body.graph.input(port.parameter)
        readers = value.uses
        if not isinstance(port, Invariant) or len(readers) != 1 or readers[0][1] != 0:
            continue
        reader = readers[0][0]
        index = reader.inputs[1] if isinstance(reader.op, Gather) else None
        moved = None if index is None else _affine(index, iteration)
        if moved is None or not moved.factor:
            continue
        assert isinstance(reader.op, Gather)
        axis = normal_axis(reader.op.axis, shape_of(value).rank)
        if axis < 0:
            continue
        offsets = moved.offsets
        size = abs(moved.factor) if offsets is None else len(offsets)
        first = None if not offsets else min(offsets)
        gathered[port.parameter] = Gathered(
            port.external, port.parameter, axis, moved.factor, size, first, reader.outputs[0]
        )
    return gathered


def _affine(value: Value, iteration: Value, depth: int = DEPTH) -> _Affine | None:
    """Express `value` as an affine function of the iteration number; None if that is impossible.

    At most `depth` operations are followed back from `value`.
    """
    op, inputs = value.producer.op, value.producer.inputs
    if value is iteration:
        return _Affine(1, (0,))
    if isinstance(op, Parameter):
        return _Affine(0, None)
    if isinstance(op, Constant):
        if (
            not op.tensor.count
            or op.tensor.count > MOST
            or op.tensor.numpy().dtype.kind not in "iu"
        ):
            return None
        return _Affine(0, tuple(int(item) for item in op.tensor.numpy().reshape(-1)))
    if isinstance(op, _SAME_NUMBERS):
        return None if inputs[0] is None or not depth else _affine(inputs[0], iteration, depth - 1)
    if not isinstance(op, (*_ADD, *_SUB, *_MUL)) or not depth:
        return None
    left, right = (
        None if item is None else _affine(item, iteration, depth - 1) for item in inputs[:2]
    )
    if left is None or right is None:
        return None
    if isinstance(op, _MUL):
        return _product(left, right)
    sign = -1 if isinstance(op, _SUB) else 1
    factor = left.factor + sign * right.factor
    if left.offsets is None or right.offsets is None:
        return _Affine(factor, None)
    first, second = left.offsets, right.offsets
    if len(first) != len(second) and 1 not in (len(first), len(second)):
        return None
    size = max(len(first), len(second))
    first, second = first * (size // len(first)), second * (size // len(second))
    return _Affine(factor, tuple(a + sign * b for a, b in zip(first, second, strict=True)))


def _product(left: _Affine, right: _Affine) -> _Affine | None:
    """Return the product of two affine functions, or None if it is not known to be affine.

    One of the two must be a single constant, and the offsets of both must be known.
    """
    if left.factor:
        left, right = right, left
    if left.factor or left.offsets is None or len(left.offsets) != 1 or right.offsets is None:
        return None
    (times,) = left.offsets
    return _Affine(right.factor * times, tuple(item * times for item in right.offsets))
