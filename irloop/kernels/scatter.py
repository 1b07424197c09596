"""Kernels that write elements by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.gather import coordinates
from irloop.kernels.work import spend_each

__all__ = [
    "scatter_elements",
    "scatter_elements_by_axis",
    "scatter_nd",
    "scatter_slices",
]

Array = np.ndarray[Any, np.dtype[Any]]
Index = tuple[Any, ...]

#: Names of reductions in either dialect.
_FUNCTIONS: dict[str, Any] = {
    "sum": np.add,
    "add": np.add,
    "sub": np.subtract,
    "prod": np.multiply,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
_LOGICAL: dict[str, Any] = {
    "sum": np.logical_or,
    "add": np.logical_or,
    "prod": np.logical_and,
    "mul": np.logical_and,
    "min": np.logical_and,
    "max": np.logical_or,
}


def _combine(result: Array, where: Index, updates: Array, reduction: str) -> None:
    """Write updates into `result`; updates with the same index take effect one after the other."""
    if reduction == "none":
        result[where] = updates
        return
    spend_each(updates.size, 60, "combining updates")
    functions = _LOGICAL if result.dtype == np.bool_ else _FUNCTIONS
    with np.errstate(over="ignore", invalid="ignore"):
        functions[reduction].at(result, where, updates)


def _neutral(dtype: np.dtype[Any], reduction: str) -> Any:
    if reduction in ("prod", "mul"):
        return 1
    if reduction in ("sum", "add", "mean"):
        return 0
    if dtype == np.bool_:
        return reduction == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if reduction == "min" else limits.min
    return np.inf if reduction == "min" else -np.inf


def _mean(result: Array, where: Index, updates: Array, with_initial: bool) -> None:
    """Replace each element to which updates are written by the mean of these updates.

    With `with_initial`, the old element takes part in the mean; without it, the old element must be
    0. The mean of integers is rounded down.
    """
    spend_each(updates.size, 60, "counting updates")
    budget.reserve(9 * result.size, "counting updates")
    counts = np.zeros(result.shape, dtype=np.int64)
    np.add.at(counts, where, 1)
    touched = counts > 0
    _combine(result, where, updates, "sum")
    divisor = counts[touched] + int(with_initial)
    if result.dtype.kind in "iu":
        result[touched] = result[touched] // divisor.astype(result.dtype)
    else:
        result[touched] = result[touched] / divisor.astype(result.dtype)


def scatter_elements(
    axis: int, reduction: str = "none", with_initial: bool = True
) -> Callable[[Array, Array, Array], Array]:
    """Make a kernel that writes each update into `data`, at its index along `axis`.

    On the other axes, an update keeps its own position. Updates at the same place are combined by
    `reduction`; if this is "none", the last one wins. Without `with_initial`, the original element
    does not take part in the reduction.
    """

    def run(data: Array, indices: Array, updates: Array) -> Array:
        index = coordinates(indices, axis)
        result = np.array(data)
        if reduction != "none" and not with_initial:
            result[index] = _neutral(result.dtype, reduction)
        if reduction == "mean":
            _mean(result, index, updates, with_initial)
        else:
            _combine(result, index, updates, reduction)
        return result

    return run


def scatter_elements_by_axis(
    reduction: str = "none", with_initial: bool = True
) -> Callable[[Array, Array, Array, Array], Array]:
    """Make a kernel that writes updates at indices along an axis, which is its last operand.

    The parameters are those of `scatter_elements`.
    """

    def run(data: Array, indices: Array, updates: Array, axis: Array) -> Array:
        at = int(axis.reshape(-1)[0])
        return scatter_elements(at, reduction, with_initial)(data, indices, updates)

    return run


def scatter_nd(reduction: str = "none") -> Callable[[Array, Array, Array], Array]:
    """Make a kernel that returns a copy of its data with updates written into it.

    The kernel takes the data, the indices and the updates. The last axis of the indices holds the
    coordinates of an update in the data. `reduction` combines an update with the old element:
    "none" replaces it, and "add", for example, adds to it.
    """

    def run(data: Array, indices: Array, updates: Array) -> Array:
        depth = indices.shape[-1]
        wanted = (*indices.shape[:-1], *data.shape[depth:])
        if updates.shape != wanted:
            # NumPy would repeat updates that are too few.
            raise ValueError(f"updates of shape {list(updates.shape)} instead of {list(wanted)}")
        result = np.array(data)
        if depth == 0:
            # Empty coordinates address the whole of the data, once for each row of indices.
            stacked = updates.reshape(-1, *data.shape)
            rows = (np.zeros(len(stacked), dtype=np.int64),)
            whole = result[None]
            _combine(whole, rows, stacked, reduction)
            found: Array = whole[0]
            return found
        where = tuple(indices[..., at] for at in range(depth))
        _combine(result, where, updates, reduction)
        return result

    return run


def scatter_slices(data: Array, indices: Array, updates: Array, axis: Array) -> Array:
    """Return a copy of `data` in which `updates` replace the slices at `indices` along `axis`."""
    at = int(axis.reshape(-1)[0]) % data.ndim
    result = np.array(data)
    result[(slice(None),) * at + (indices,)] = updates
    return result
