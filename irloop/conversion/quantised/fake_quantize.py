"""Converts FakeQuantize to ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.quantised.reading import BYTES
from irloop.diagnostics import Severity
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.quantize import DequantizeLinear13, QuantizeLinear13
from irloop.dialects.openvino import quantize as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.convert_options import WORDS_SINCE
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType
from irloop.graph.walk import node_path
from irloop.passes.quantisation_grid import (
    BYTE,
    WORD,
    Grid,
    axis_of,
    grid_of,
    is_same_range,
    may_be_quantised,
    rounding_of,
)

Array = np.ndarray[Any, np.dtype[Any]]

__all__: list[str] = []

#: Bytes of memory for each weight while its code is computed.
BYTES_A_WEIGHT = 32


@exports(ov.FakeQuantize)
def export_fake_quantize(
    c: Export,
    op: ov.FakeQuantize,
    x: Value,
    low: Value,
    high: Value,
    out_low: Value,
    out_high: Value,
) -> Value:
    """Write FakeQuantize as a quantisation with a dequantisation, or by its formula.

    `conversion.quantised` then makes QuantizeLinear and DequantizeLinear of the first form. It
    needs constant ranges that have a step at 0 (see `Grid`). The formula is shorter if the input
    limits are constant and the low limit is always below the high limit.
    """

    def build(x: Value, *limits: Value) -> Value:
        known = [c.constant_of(limit) for limit in limits]
        low, high, new_low, new_high = known
        grid, result = grid_of(low, high, op.levels), grid_of(new_low, new_high, op.levels)
        quantised = None
        is_weight = _weights_in(x) is not None
        if grid is not None and result is not None and element_of(x) is ElementType.F32:
            if _rounds(c) and not is_weight:
                quantised = quantised_channels(c, grid, result, x)
            if quantised is not None:
                return quantised
            quantised = _on_grid(c, grid, result, x)
        if not is_weight or (_rounds(c) and quantised is None):
            _tell(c, op.levels, known, (grid, result), x)
        if quantised is not None:
            return quantised
        if low is not None and high is not None and (low < high).all():
            return _stepped(c, op.levels, x, *limits)
        return _guarded(c, op.levels, x, *limits)

    values = (x, low, high, out_low, out_high)
    element = element_of(x)
    narrow = element in (ElementType.F16, ElementType.BF16)
    return c.computed_in(ElementType.F32 if narrow else element, build, *values)


def _rounds(c: Export) -> bool:
    """Return whether the zero points of the source were rounded where that makes a grid."""
    return bool(c.converter.options["quantization"] == "qdq")


def _stepped(
    c: Export, levels: int, x: Value, low: Value, high: Value, out_low: Value, out_high: Value
) -> Value:
    """Clip x to [low, high], then map it to one of `levels` steps from out_low to out_high.

    The range [low, high] must not be empty.
    """
    limited = c.minimum(c.maximum(x, low), high)
    steps = c.scalar(levels - 1, x)
    ratio = c.divide(c.subtract(limited, low), _difference(c, high, low))
    whole = c(onnx_math.Round(), c.multiply(ratio, steps))
    span = _difference(c, out_high, out_low)
    return c.add(c.multiply(c.divide(whole, steps), span), out_low)


def _difference(c: Export, left: Value, right: Value) -> Value:
    """left - right, folded if both are constant."""
    known = [c.constant_of(item) for item in (left, right)]
    if known[0] is None or known[1] is None:
        return c.subtract(left, right)
    return c.constant(known[0] - known[1], element_of(left))


def _guarded(
    c: Export, levels: int, x: Value, low: Value, high: Value, out_low: Value, out_high: Value
) -> Value:
    """Map x to one of `levels` steps from out_low to out_high, even if `low` is not below `high`.

    Values up to the smaller limit become `out_low`, and values above the larger limit `out_high`.
    These comparisons also hide the results of a division by 0. `_stepped` emits fewer operations,
    but needs a `low` below `high`.
    """
    least, most = c.minimum(low, high), c.maximum(low, high)
    steps = c.scalar(levels - 1, x)
    ratio = c.divide(c.subtract(x, low), c.subtract(high, low))
    whole = c(onnx_math.Round(), c.multiply(ratio, steps))
    span = c.subtract(out_high, out_low)
    inner = c.add(c.multiply(c.divide(whole, steps), span), out_low)
    above = c.select(c.greater(x, most), out_high, inner)
    return c.select(c.greater(x, least), above, out_low)


def _on_grid(c: Export, grid: Grid, result: Grid, x: Value) -> Value | None:
    """Emit the codes of `x` on `grid`, and the numbers that they are on the grid `result`.

    The codes are without the zero point, as in ``round(x / scale)``. Returns None if the zero
    points of several channels differ.
    """
    weights = _weights_in(x)
    if weights is not None and grid.levels <= BYTE:
        return _weights_on_grid(c, grid, result, weights)
    zeros = np.unique(grid.zero), np.unique(result.zero)
    # One scale is written as a scalar, which does not add axes as limits of a higher rank do.
    rank = max(grid.scale.ndim, result.scale.ndim)
    if max(map(len, zeros)) > 1 or rank > (shape_of(x).rank or 0):
        return None
    zero, new_zero = (int(found[0]) for found in zeros)
    ratio = c.divide(x, c.constant(_smallest(grid.scale), ElementType.F32))
    codes = c.clip(c(onnx_math.Round(), ratio), -zero, grid.levels - 1 - zero)
    if zero != new_zero:
        codes = c.add(codes, c.scalar(zero - new_zero, codes))
    return c.multiply(codes, c.constant(_smallest(result.scale), ElementType.F32))


def _tell(
    c: Export,
    levels: int,
    limits: Sequence[Array | None],
    grids: tuple[Grid | None, Grid | None],
    x: Value,
) -> None:
    """Note why a FakeQuantize stays arithmetic on floats, if it does."""
    known = [grid for grid in grids if grid is not None]
    if any(item is None for item in limits):
        why = "its limits are not constant"
    elif len(known) < len(grids):
        why = f"0 is not one of its {levels} numbers"
        if _rounds(c):
            why += _unrounded(limits, levels, c.opset)
    elif levels != BYTE:
        why = f"it has {levels} levels, and QuantizeLinear has {BYTE}"
    elif element_of(x) is not ElementType.F32:
        why = f"its data are {element_of(x)}"
    elif any(np.unique(part).size > 1 for grid in known for part in (grid.scale, grid.zero)):
        why = "its channels have several zero points or scales"
    elif max(grid.scale.ndim for grid in known) > (shape_of(x).rank or 0):
        why = "its limits have more axes than its data, or the rank of these is not known"
    else:
        return
    text = f"FakeQuantize {node_path(c.node)!r} is written as arithmetic: {why}"
    c.warn("CNV114", text, severity=Severity.INFO)


def _unrounded(limits: Sequence[Array | None], levels: int, opset: int) -> str:
    """Return why the zero point of a FakeQuantize with constant limits was not rounded."""
    low, high, new_low, new_high = (limit for limit in limits if limit is not None)
    if rounding_of(low, high, levels) is None and grid_of(low, high, levels) is None:
        return ", nor between them"
    if not is_same_range((low, high, new_low, new_high)):
        return ", and its ranges of input and output differ"
    if levels not in (BYTE, WORD):
        return f", of which QuantizeLinear has {BYTE} or {WORD}"
    if levels == WORD and opset < WORDS_SINCE:
        return f"; opset {WORDS_SINCE} has a QuantizeLinear for it"
    if max(low.size, high.size) > 1:
        return ", and ONNX Runtime fails on what reads numbers of several scales"
    return ", and its limits are not f32, or have more axes than its data"


def _smallest(array: Array) -> Any:
    """A scalar in place of an array of equal numbers."""
    return array.reshape(-1)[0] if (array == array.reshape(-1)[0]).all() else array


def _weights_in(value: Value) -> Tensor | None:
    """The numbers of a constant, which may be stored in f16 or in 8 bits; None for other values."""
    producer = value.producer
    if isinstance(producer.op, Cast6) and producer.inputs[0] is not None:
        producer = producer.inputs[0].producer
    tensor = producer.op.tensor if isinstance(producer.op, Constant) else None
    known = tensor is not None and (tensor.element.is_float or tensor.element in BYTES)
    return tensor if known else None


def _weights_on_grid(c: Export, grid: Grid, result: Grid, weights: Tensor) -> Value:
    """Store the codes of constant weights in 8 bits, and emit what computes the weights of them."""
    codes, middle = _codes_on(grid, weights)
    wide = c(Cast6(ElementType.F32), c.tensor(codes, f"{c.node.name}/codes"))
    if (result.zero != middle).any():
        zero = _smallest((result.zero - middle).astype(np.float32))
        wide = c.subtract(wide, c.constant(zero, ElementType.F32))
    return c.multiply(wide, c.constant(_smallest(result.scale), ElementType.F32))


def _codes_on(grid: Grid, weights: Tensor) -> tuple[Tensor, int]:
    """Return the codes of weights on a grid, and the number that was subtracted from the codes."""
    low, high = BYTES.get(weights.element, (0.0, 0.0))
    if grid.levels == BYTE and (grid.scale == 1).all() and (grid.zero == -low).all() and high:
        # The weights are the codes.
        return weights, int(-low)
    budget.reserve(weights.count * BYTES_A_WEIGHT, "quantising weights")
    least = -grid.zero * grid.scale
    codes = np.rint((weights.numpy().astype(np.float32) - least) / grid.scale)
    middle = grid.levels // 2
    narrow = (np.clip(codes, 0, grid.levels - 1) - middle).astype(np.int8)
    return ArrayTensor(narrow, ElementType.I8), middle


def quantised_channels(c: Export, grid: Grid, result: Grid, x: Value) -> Value | None:
    """Quantise `x` on `grid` and dequantise it on `result`, or return None.

    None for what `conversion.quantised` finds in the arithmetic (one scale and 8 bits), and for
    what ONNX does not have: other levels, or scales for more than one axis.
    """
    element = {BYTE: ElementType.U8, WORD: ElementType.U16}.get(grid.levels)
    if element is None or (element is ElementType.U16 and c.opset < WORDS_SINCE):
        return None
    parts = [part for each in (grid, result) for part in (each.scale, each.zero)]
    several = any(np.unique(part).size > 1 for part in parts)
    arrays = np.broadcast_arrays(*parts)
    axis = axis_of(arrays[0], x) if several else 1
    if axis is None or not (several or element is ElementType.U16):
        return None
    if not may_be_quantised(c.node, *arrays):
        return None
    scale, zero, new_scale, new_zero = (
        c.constant(array.reshape(-1) if several else array.reshape(-1)[0], kind)
        for array, kind in zip(arrays, (ElementType.F32, element) * 2, strict=True)
    )
    codes = c(QuantizeLinear13(axis=axis), x, scale, zero)
    return c(DequantizeLinear13(axis=axis), codes, new_scale, new_zero)
