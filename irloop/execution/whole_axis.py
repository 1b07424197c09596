"""Computes a step of a loop body once for all slices, instead of once in each iteration.

The step must depend only on slices: in an iteration it reads one slice, but here it reads all
of them, stacked as [n, ...]. This is done only for operations that give the same results in
both ways: elementwise operations, operations that only reshape a slice, and products with an
invariant matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.dialects.numpy_broadcast import broadcasts_as_numpy
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.openvino import matmul as openvino_matmul
from irloop.graph.model import Node
from irloop.graph.op import Kernel

__all__ = ["over_whole_axis"]

Array = np.ndarray[Any, np.dtype[Any]]

_PRODUCTS = (onnx_matmul.MatMul, openvino_matmul.MatMul)


def over_whole_axis(node: Node, kernel: Kernel, sliced: Sequence[bool]) -> Kernel | None:
    """Return a kernel that computes a node once for all slices of a loop, instead of one by one.

    `kernel` computes the node for one slice. An entry of `sliced` is true if that input holds all
    slices. The result is None if the node cannot be computed in this way.
    """
    op = node.op
    if len(node.outputs) != 1:
        return None
    if op.elementwise and len(sliced) == 1:
        return kernel
    if op.elementwise and len(sliced) == 2 and broadcasts_as_numpy(node):
        return _binary(kernel, sliced)
    if op.reshapes and sliced[0] and not any(sliced[1:]):
        return _reshaping(kernel)
    if isinstance(op, _PRODUCTS) and tuple(sliced) == (True, False):
        turned = getattr(op, "transpose_a", False)
        return None if turned else _product(kernel)
    return None


def _binary(kernel: Kernel, whole: Sequence[bool]) -> Kernel:
    def apply(*operands: Array) -> Any:
        rank = max(item.ndim - known for item, known in zip(operands, whole, strict=True))
        return kernel(*map(_aligned, operands, whole, (rank, rank)))

    return apply


def _aligned(operand: Array, stacked: bool, rank: int) -> Array:
    """Insert axes of size 1 after axis 0, so that all slices broadcast like a single slice.

    If `stacked` is true, `operand` holds all slices of a loop, one after another along axis 0. The
    result then has the rank `rank` + 1, where `rank` is the largest rank of a single slice or other
    operand. If `stacked` is false, `operand` is returned unchanged.
    """
    if not stacked:
        return operand
    count, *dims = operand.shape
    return operand.reshape(count, *(1,) * (rank - len(dims)), *dims)


def _reshaping(kernel: Kernel) -> Kernel:
    def apply(slices: Array, *others: Any) -> Array:
        shape = np.shape(kernel(slices[0, ...], *others))
        return slices.reshape(len(slices), *shape)

    return apply


def _product(kernel: Kernel) -> Kernel:
    def apply(slices: Array, matrix: Array) -> Any:
        if matrix.ndim != 2 or slices.ndim < 2:
            return np.stack([kernel(part, matrix) for part in slices])
        rows = slices.reshape(-1, slices.shape[-1])
        made = kernel(rows, matrix)
        return made.reshape(*slices.shape[:-1], made.shape[-1])

    return apply
