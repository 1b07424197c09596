"""Replaces computed shape operands by constants where the output shape is known.

For example, an Expand to a computed shape becomes an Expand to the shape of its output. `OPERANDS`
maps each operation class to the function that emits the replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.dialects.onnx import (
    generate,
    padding,
    pooling,
    resize,
    sampling,
    search,
    shape,
    slicing,
)
from irloop.graph.builder import Builder, element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Op

__all__ = ["OPERANDS"]

Dims = tuple[int, ...]
Inputs = Sequence[Value | None]


def _with(
    b: Builder, op: Op, inputs: Inputs, position: int, numbers: object, n_outputs: int = 1
) -> list[Value]:
    """Emit `op` with the constant `numbers` as the input at `position`; return its outputs.

    The constant has the element type of the input that it replaces.
    """
    operands = list(inputs)
    operand = operands[position]
    assert operand is not None
    operands[position] = b.constant(numbers, element_of(operand))
    return list(b.emit(op, *operands, n_outputs=n_outputs).outputs)


def _dims_are_operand(b: Builder, op: Op, inputs: Inputs, dims: list[Dims]) -> list[Value]:
    """Emit `op` with the static output shape `dims[0]` as a constant in place of its last input.

    This is the rule for operations whose last input is an output shape, such as Expand.
    """
    return _with(b, op, inputs, len(inputs) - 1, dims[0])


def _reshaped(b: Builder, op: Op, inputs: Inputs, dims: list[Dims]) -> list[Value]:
    """Return a Reshape of the first input to the shape `dims[0]`.

    This is the rule for operations that only change the shape, such as Squeeze.
    """
    return [b(shape.Reshape14(), inputs[0], b.i64(dims[0]))]


def _tile(b: Builder, op: Op, inputs: Inputs, dims: list[Dims]) -> list[Value] | None:
    data = inputs[0]
    sizes = None if data is None else shape_of(data).static()
    if sizes is None or len(sizes) != len(dims[0]) or 0 in sizes:
        return None
    return _with(b, op, inputs, 1, [new // old for new, old in zip(dims[0], sizes, strict=True)])


def _top_k(b: Builder, op: search.TopK11, inputs: Inputs, dims: list[Dims]) -> list[Value]:
    return _with(b, op, inputs, 1, [dims[0][op.axis]], n_outputs=2)


def _split(b: Builder, op: slicing.Split13, inputs: Inputs, dims: list[Dims]) -> list[Value] | None:
    if len(inputs) < 2:
        return None
    return _with(b, op, inputs, 1, [each[op.axis] for each in dims], n_outputs=len(dims))


def _one_hot(
    b: Builder, op: generate.OneHot, inputs: Inputs, dims: list[Dims]
) -> list[Value] | None:
    depth = inputs[1]
    if depth is None or shape_of(depth).rank not in (0, 1):
        return None
    size = dims[0][op.axis]
    return _with(b, op, inputs, 1, [size] if shape_of(depth).rank else size)


def _center(b: Builder, op: padding.CenterCropPad, inputs: Inputs, dims: list[Dims]) -> list[Value]:
    axes = range(len(dims[0])) if op.axes is None else op.axes
    return _with(b, op, inputs, 1, [dims[0][axis] for axis in axes])


def _affine_grid(
    b: Builder, op: sampling.AffineGrid, inputs: Inputs, dims: list[Dims]
) -> list[Value]:
    # The number of channels in the operand has no effect.
    return _with(b, op, inputs, 1, [dims[0][0], 1, *dims[0][1:-1]])


def _window(b: Builder, op: Op, inputs: Inputs, dims: list[Dims]) -> list[Value]:
    size = inputs[0]
    assert size is not None
    return _with(b, op, inputs, 0, [dims[0][0]] if shape_of(size).rank else dims[0][0])


def _resize(
    b: Builder, op: resize.Resize11, inputs: Inputs, dims: list[Dims]
) -> list[Value] | None:
    # A scale of floating-point numbers does not follow from the sizes. A policy that keeps the
    # aspect ratio computes the scales from sizes that the output need not have.
    policy = getattr(op, "keep_aspect_ratio_policy", "stretch")
    if len(inputs) < 4 or inputs[3] is None or policy != "stretch":
        return None
    axes = getattr(op, "axes", ()) or range(len(dims[0]))
    return _with(b, op, inputs, 3, [dims[0][axis] for axis in axes])


def _max_unpool(
    b: Builder, op: pooling.MaxUnpool, inputs: Inputs, dims: list[Dims]
) -> list[Value] | None:
    return _with(b, op, inputs, 2, dims[0]) if len(inputs) == 3 else None


OPERANDS: dict[type[Op], Callable[..., list[Value] | None]] = {
    shape.Reshape: _reshaped,
    shape.Reshape14: _reshaped,
    shape.Squeeze13: _reshaped,
    shape.Unsqueeze13: _reshaped,
    shape.Expand: _dims_are_operand,
    shape.Tile: _tile,
    generate.ConstantOfShape: _dims_are_operand,
    generate.OneHot: _one_hot,
    generate.HannWindow: _window,
    generate.HammingWindow: _window,
    generate.BlackmanWindow: _window,
    search.TopK10: _top_k,
    search.TopK11: _top_k,
    slicing.Split13: _split,
    slicing.Split18: _split,
    padding.CenterCropPad: _center,
    sampling.AffineGrid: _affine_grid,
    resize.Resize11: _resize,
    resize.Resize13: _resize,
    resize.Resize: _resize,
    pooling.MaxUnpool: _max_unpool,
}
