"""Work of a body that depends on slices alone, done once over the whole axis.

In an iteration such a step sees one slice; here it sees all of them, [n, ...]. Only operations
are taken for which that makes no difference: those that work element by element, those that
only give a slice another shape, and products with a matrix that does not change (the same
products, added up by one larger call).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.graph.model import Node
from irloop.graph.op import Kernel

__all__ = ["over_whole_axis"]

Array = np.ndarray[Any, np.dtype[Any]]

_UNARY = frozenset(
    [
        "Abs",
        "Acos",
        "Acosh",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Cast",
        "Ceil",
        "Ceiling",
        "Celu",
        "Clamp",
        "Convert",
        "Cos",
        "Cosh",
        "Elu",
        "Erf",
        "Exp",
        "Floor",
        "Gelu",
        "HSigmoid",
        "HSwish",
        "HardSigmoid",
        "HardSwish",
        "IsFinite",
        "IsInf",
        "IsNaN",
        "LeakyRelu",
        "Log",
        "LogicalNot",
        "Mish",
        "Neg",
        "Negative",
        "Not",
        "ReLU",
        "Reciprocal",
        "Relu",
        "Round",
        "Selu",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "SoftPlus",
        "SoftSign",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Tan",
        "Tanh",
        "ThresholdedRelu",
    ]
)

_BINARY = frozenset(
    [
        "Add",
        "And",
        "Div",
        "Divide",
        "Equal",
        "FloorMod",
        "Greater",
        "GreaterEqual",
        "GreaterOrEqual",
        "Less",
        "LessEqual",
        "LessOrEqual",
        "LogicalAnd",
        "LogicalOr",
        "LogicalXor",
        "Max",
        "Maximum",
        "Min",
        "Minimum",
        "Mod",
        "Mul",
        "Multiply",
        "NotEqual",
        "Or",
        "Pow",
        "Power",
        "SquaredDifference",
        "Sub",
        "Subtract",
        "Xor",
    ]
)

_RESHAPING = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})


def over_whole_axis(node: Node, kernel: Kernel, whole: Sequence[bool]) -> Kernel | None:
    """The kernel of a step whose inputs marked in `whole` hold all slices; None if it has none."""
    name = node.op.type
    if len(node.outputs) != 1:
        return None
    if name in _UNARY and len(whole) == 1:
        return kernel
    if name in _BINARY and len(whole) == 2 and _broadcasts_as_numpy(node):
        return _binary(kernel, whole)
    if name in _RESHAPING and whole[0] and not any(whole[1:]):
        return _reshaping(kernel)
    if name == "MatMul" and tuple(whole) == (True, False):
        turned = getattr(node.op, "transpose_a", False)
        return None if turned else _product(kernel)
    return None


def _broadcasts_as_numpy(node: Node) -> bool:
    # ONNX before opset 7 has `broadcast` and `axis`.
    mode = str(getattr(node.op, "auto_broadcast", "numpy")).lower()
    return mode in ("numpy", "none") and not getattr(node.op, "broadcast", 0)


def _binary(kernel: Kernel, whole: Sequence[bool]) -> Kernel:
    def apply(*operands: Array) -> Any:
        rank = max(item.ndim - known for item, known in zip(operands, whole, strict=True))
        return kernel(*map(_aligned, operands, whole, (rank, rank)))

    return apply


def _aligned(operand: Array, whole: bool, rank: int) -> Array:
    """Slices with ones in front, so that they broadcast as each of them would."""
    if not whole:
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
