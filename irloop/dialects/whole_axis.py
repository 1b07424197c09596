"""Operations that can process all slices at once, instead of slice by slice.

The executor runs them so, and a pass rewrites loops so. All slices together are one tensor [n,
...]; its first axis numbers the slices, and the other axes are those of a slice.
"""

from __future__ import annotations

from irloop.graph.model import Node

__all__ = ["BINARY", "RESHAPING", "UNARY", "broadcasts_as_numpy"]

#: Elementwise operations with one operand.
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

#: Elementwise operations with several operands.
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

#: Operations that return the elements of operand 0, in their order, in another shape.
RESHAPING = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})


def broadcasts_as_numpy(node: Node) -> bool:
    """True when operands are aligned at their last dimensions."""
    mode = str(getattr(node.op, "auto_broadcast", "numpy")).lower()
    # ONNX before opset 7 has the attributes `broadcast` and `axis`.
    return mode in ("numpy", "none") and getattr(node.op, "broadcast", False) is not True
