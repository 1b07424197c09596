"""Operations that do to all slices at once what they do to each of them.

The executor runs them so, and a pass writes them so. A slice has some shape; all slices together
are one tensor [n, ...] with the same shape behind the axis that counts them.
"""

from __future__ import annotations

from irloop.graph.model import Node

__all__ = ["BINARY", "RESHAPING", "UNARY", "broadcasts_as_numpy"]

#: One operand, element by element.
UNARY = frozenset(
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
        "Identity",
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

#: Several operands, element by element.
BINARY = frozenset(
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

#: The elements of operand 0 in their order, in another shape.
RESHAPING = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})


def broadcasts_as_numpy(node: Node) -> bool:
    """True when operands are aligned at their last dimensions."""
    mode = str(getattr(node.op, "auto_broadcast", "numpy")).lower()
    # ONNX before opset 7 has the attributes `broadcast` and `axis`.
    return mode in ("numpy", "none") and getattr(node.op, "broadcast", False) is not True
