"""Converts FakeQuantize to ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.framework.translation import Conversion, exports
from irloop.conversion.quantised.grid import Grid, grid_of
from irloop.diagnostics import Severity
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.openvino import quantize as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType
from irloop.graph.walk import node_path

Array = np.ndarray[Any, np.dtype[Any]]

__all__: list[str] = []

#: The most levels of weights that fit into 8 bits.
BYTE = 256

#: Bytes of memory for each weight while its code is computed.
BYTES_A_WEIGHT = 32


@exports(ov.FakeQuantize)
def export_fake_quantize(
    c: Conversion,
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
        found = None
        if grid is not None and result is not None and element_of(x) is ElementType.F32:
            found = _on_grid(c, grid, result, x)
        if _weights_in(x) is None:
            _tell(c, op.levels, known, (grid, result), x)
        if found is not None:
            return found
        if low is not None and high is not None and (low < high).all():
            return _stepped(c, op.levels, x, *limits)
        return _guarded(c, op.levels, x, *limits)

    values = (x, low, high, out_low, out_high)
    element = element_of(x)
    narrow = element in (ElementType.F16, ElementType.BF16)
    return forms.computed_in(c, ElementType.F32 if narrow else element, build, *values)


def _stepped(
    c: Conversion, levels: int, x: Value, low: Value, high: Value, out_low: Value, out_high: Value
) -> Value:
    """Clip x to [low, high], then map it to one of `levels` steps from out_low to out_high.

    The range [low, high] must not be empty.
    """
    limited = forms.minimum(c, forms.maximum(c, x, low), high)
    steps = forms.scalar(c, levels - 1, x)
    ratio = forms.divide(c, forms.subtract(c, limited, low), _difference(c, high, low))
    whole = c(onnx_math.Round(), forms.multiply(c, ratio, steps))
    span = _difference(c, out_high, out_low)
    return forms.add(c, forms.multiply(c, forms.divide(c, whole, steps), span), out_low)


def _difference(c: Conversion, left: Value, right: Value) -> Value:
    """left - right, folded if both are constant."""
    known = [c.constant_of(item) for item in (left, right)]
    if known[0] is None or known[1] is None:
        return forms.subtract(c, left, right)
    return c.constant(known[0] - known[1], element_of(left))


def _guarded(
    c: Conversion, levels: int, x: Value, low: Value, high: Value, out_low: Value, out_high: Value
) -> Value:
    """Map x to one of `levels` steps from out_low to out_high, even if `low` is not below `high`.

    Values up to the smaller limit become `out_low`, and values above the larger limit `out_high`.
    These comparisons also hide the results of a division by 0. `_stepped` emits fewer operations,
    but needs a `low` below `high`.
    """
    least, most = forms.minimum(c, low, high), forms.maximum(c, low, high)
    steps = forms.scalar(c, levels - 1, x)
    ratio = forms.divide(c, forms.subtract(c, x, low), forms.subtract(c, high, low))
    whole = c(onnx_math.Round(), forms.multiply(c, ratio, steps))
    span = forms.subtract(c, out_high, out_low)
    inner = forms.add(c, forms.multiply(c, forms.divide(c, whole, steps), span), out_low)
    above = forms.select(c, forms.greater(c, x, most), out_high, inner)
    return forms.select(c, forms.greater(c, x, least), above, out_low)


def _on_grid(c: Conversion, grid: Grid, result: Grid, x: Value) -> Value | None:
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
    ratio = forms.divide(c, x, c.constant(_smallest(grid.scale), ElementType.F32))
    codes = forms.clip(c, c(onnx_math.Round(), ratio), -zero, grid.levels - 1 - zero)
    if zero != new_zero:
        codes = forms.add(c, codes, forms.scalar(c, zero - new_zero, codes))
    return forms.multiply(c, codes, c.constant(_smallest(result.scale), ElementType.F32))


def _tell(
    c: Conversion,
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


def _smallest(array: Array) -> Any:
    """A scalar in place of an array of equal numbers."""
    return array.reshape(-1)[0] if (array == array.reshape(-1)[0]).all() else array


def _weights_in(value: Value) -> Tensor | None:
    """The floats of a constant, which may be compressed to f16; None for other values."""
    producer = value.producer
    if isinstance(producer.op, Cast6) and producer.inputs[0] is not None:
        producer = producer.inputs[0].producer
    op = producer.op
    return op.tensor if isinstance(op, Constant) and op.tensor.element.is_float else None


def _weights_on_grid(c: Conversion, grid: Grid, result: Grid, weights: Tensor) -> Value:
    """Store the codes of constant weights in i8, and emit what computes the weights of them."""
    budget.reserve(weights.count * BYTES_A_WEIGHT, "quantising weights")
    low = -grid.zero * grid.scale
    codes = np.rint((weights.numpy().astype(np.float32) - low) / grid.scale)
    middle = grid.levels // 2
    narrow = (np.clip(codes, 0, grid.levels - 1) - middle).astype(np.int8)
    name = f"{c.node.name}/codes"
    wide = c(Cast6(ElementType.F32), c.tensor(ArrayTensor(narrow, ElementType.I8), name))
    if (result.zero != middle).any():
        zero = _smallest((result.zero - middle).astype(np.float32))
        wide = forms.subtract(c, wide, c.constant(zero, ElementType.F32))
    return forms.multiply(c, wide, c.constant(_smallest(result.scale), ElementType.F32))
