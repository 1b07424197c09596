"""The grid of a quantisation: evenly spaced numbers, one of which is 0 or near it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from irloop.graph.builder import shape_of
from irloop.graph.op import Constant
from irloop.graph.record import Record

if TYPE_CHECKING:
    from irloop.graph.model import Node, Value

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "BYTE",
    "WORD",
    "Grid",
    "Rounding",
    "axis_of",
    "grid_of",
    "is_same_range",
    "may_be_quantised",
    "rounding_of",
]

#: The levels of QuantizeLinear, with 8 and with 16 bits.
BYTE, WORD = 2**8, 2**16

#: The largest distance of 0 from a step of the grid, in steps, and that for each level. Limits that
#: are rounded to f32 make 0.0001 at most with 8 bits, and half of `APART_A_LEVEL` with 16 bits.
APART, APART_A_LEVEL = 1e-3, 2.0**-22

#: The operations that ONNX Runtime runs after a DequantizeLinear with several scales (measured). It
#: does not load or run a Conv of such weights, AveragePool, GlobalAveragePool and Sigmoid.
_READERS = frozenset(
    {"Add", "Convolution", "GroupConvolution", "MaxPool", "Multiply", "ReLU", "Result"}
)


class Grid(Record):
    """The numbers (code - `zero`) * `scale` for the codes from 0 to `levels` - 1.

    `scale` and `zero` are arrays that broadcast to the data, f32 and whole numbers.
    """

    levels: int
    scale: Any
    zero: Any


class Rounding(Record):
    """The limits of a quantisation whose zero point is rounded to a whole number.

    The largest shift of its numbers is `shift`, in the units of the data, and `steps` of its steps.
    """

    low: Any
    high: Any
    shift: float
    steps: float


def grid_of(low: Array | None, high: Array | None, levels: int) -> Grid | None:
    """Return the grid of `levels` numbers from `low` to `high`, or None.

    None if a limit is not constant, if a range is empty, or if 0 is not one of the numbers.
    """
    steps = _steps(low, high, levels)
    if steps is None or (_apart(steps[1]) > _allowed(levels)).any():
        return None
    scale, zero = steps
    return Grid(levels, scale.astype(np.float32), np.rint(zero))


def rounding_of(low: Array | None, high: Array | None, levels: int) -> Rounding | None:
    """Return the nearest limits whose grid has 0 and the same steps.

    None if there is no grid, if 0 is outside of it, or if 0 is one of its numbers already.
    """
    steps = _steps(low, high, levels)
    if steps is None or (_apart(steps[1]) <= _allowed(levels)).all():
        return None
    scale, zero = steps
    whole, shift = np.rint(zero), _apart(zero)
    low, high = ((code * scale).astype(np.float32) for code in (-whole, levels - 1 - whole))
    return Rounding(low, high, float((shift * scale).max()), float(shift.max()))


def _steps(low: Array | None, high: Array | None, levels: int) -> tuple[Array, Array] | None:
    """Return the distance of the numbers, and the position of 0 among them, in steps.

    None if there is no grid, or if 0 is not between its numbers, up to half a step.
    """
    if low is None or high is None:
        return None
    low, high = np.broadcast_arrays(low.astype(np.float64), high.astype(np.float64))
    if not low.size or not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        return None
    scale = (high - low) / (levels - 1)
    zero = -low / scale
    if (np.rint(zero) < 0).any() or (np.rint(zero) >= levels).any():
        return None
    is_normal = (scale.astype(np.float32) >= np.finfo(np.float32).tiny).all()
    return (scale, zero) if is_normal else None


def _apart(zero: Array) -> Array:
    distance: Array = np.abs(zero - np.rint(zero))
    return distance


def _allowed(levels: int) -> float:
    return max(APART, APART_A_LEVEL * levels)


def is_same_range(limits: Sequence[Array]) -> bool:
    """Return whether the limits of the input and of the output are the same."""
    low, high, new_low, new_high = limits
    return np.array_equal(low, new_low) and np.array_equal(high, new_high)


def axis_of(limits: Array, data: Value) -> int | None:
    """Return the axis of `data` along which there are several limits, one for each position.

    None if there is no such axis, or several, or if its size is not known.
    """
    dims = shape_of(data).dims
    if dims is None or limits.ndim > len(dims):
        return None
    sizes = enumerate(limits.shape, len(dims) - limits.ndim)
    wide = [(axis, size) for axis, size in sizes if size > 1]
    return wide[0][0] if len(wide) == 1 and dims[wide[0][0]] == wide[0][1] else None


def may_be_quantised(node: Node, *limits: Array) -> bool:
    """Return whether ONNX can quantise the data of a FakeQuantize `node` by these numbers.

    With several of them, ONNX Runtime has to run all readers. Weights are stored as codes, whoever
    reads them.
    """
    data = node.inputs[0]
    assert data is not None
    if data.producer.op.type == "Convert" and data.producer.inputs[0] is not None:
        data = data.producer.inputs[0]
    if isinstance(data.producer.op, Constant):
        return True
    if max(limit.ndim for limit in limits) > (shape_of(data).rank or 0):
        return False
    if all(np.unique(limit).size == 1 for limit in limits):
        return True
    users = [user for value in node.outputs for user, _ in value.uses]
    return axis_of(limits[0], data) is not None and all(user.op.type in _READERS for user in users)
