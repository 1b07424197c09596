"""Writes QuantizeLinear and DequantizeLinear with a scale for each channel, or with 16 bits."""

from __future__ import annotations

import numpy as np

from irloop.conversion.framework.directions import Export
from irloop.dialects.onnx.quantize import DequantizeLinear13, QuantizeLinear13
from irloop.graph.convert_options import WORDS_SINCE
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.passes.quantisation_grid import BYTE, WORD, Grid, axis_of, may_be_quantised

__all__ = ["quantised_channels"]


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
