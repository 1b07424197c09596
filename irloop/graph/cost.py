"""Estimates the cost of folding an operation before it is folded.

Constants are folded while a model is read, inferred and converted, where they decide about shapes.
A model of a hundred bytes can ask for terabytes there, or for a regular expression that never ends.
Only operations whose cost follows from sizes are folded, after this estimate.
"""

from __future__ import annotations

from collections.abc import Iterable

from irloop.graph.model import Node
from irloop.graph.types import TensorType, ValueType

__all__ = ["bytes_to_fold", "is_known"]

#: The most temporaries of a kernel, as arrays of the widest element.
_TEMPORARIES = 3
_WIDEST = 16

#: Operations whose time and memory follow the numbers of input and output elements.
_LINEAR = frozenset(
    [
        "Abs",
        "Acos",
        "Acosh",
        "Add",
        "And",
        "ArgMax",
        "ArgMin",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "BatchNormInference",
        "BatchNormalization",
        "Binarizer",
        "BitCast",
        "BitShift",
        "BitwiseAnd",
        "BitwiseLeftShift",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseRightShift",
        "BitwiseXor",
        "Broadcast",
        "Bucketize",
        "Cast",
        "CastLike",
        "Ceil",
        "Ceiling",
        "Celu",
        "CenterCropPad",
        "Clamp",
        "Clip",
        "Compress",
        "Concat",
        "ConstantOfShape",
        "Convert",
        "ConvertLike",
        "ConvertPromoteTypes",
        "Cos",
        "Cosh",
        "CumProd",
        "CumSum",
        "DepthToSpace",
        "DequantizeLinear",
        "Div",
        "Divide",
        "DynamicQuantizeLinear",
        "Elu",
        "Equal",
        "Erf",
        "ErfInv",
        "Exp",
        "Expand",
        "Eye",
        "EyeLike",
        "FakeConvert",
        "FakeQuantize",
        "Flatten",
        "Floor",
        "FloorMod",
        "Gather",
        "GatherElements",
        "GatherND",
        "GatherTree",
        "Gelu",
        "Greater",
        "GreaterEqual",
        "GreaterOrEqual",
        "HSigmoid",
        "HSwish",
        "HardSigmoid",
        "HardSwish",
        "Hardmax",
        "Identity",
        "IsFinite",
        "IsInf",
        "IsNaN",
        "LabelEncoder",
        "LayerNormalization",
        "LeakyRelu",
        "Less",
        "LessEqual",
        "LessOrEqual",
        "Log",
        "LogSoftmax",
        "LogicalAnd",
        "LogicalNot",
        "LogicalOr",
        "LogicalXor",
        "LpNormalization",
        "MVN",
        "Max",
        "Maximum",
        "Mean",
        "Min",
        "Minimum",
        "Mish",
        "Mod",
        "Mul",
        "Multiply",
        "Neg",
        "Negative",
        "NonZero",
        "NormalizeL2",
        "Not",
        "NotEqual",
        "OneHot",
        "Or",
        "PRelu",
        "PReLU",
        "Pow",
        "Power",
        "QuantizeLinear",
        "Range",
        "ReLU",
        "Reciprocal",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceLogicalAnd",
        "ReduceLogicalOr",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
        "Relu",
        "Reshape",
        "Reverse",
        "ReverseSequence",
        "Roll",
        "Round",
        "Scatter",
        "ScatterElements",
        "ScatterElementsUpdate",
        "ScatterND",
        "ScatterNDUpdate",
        "ScatterUpdate",
        "SearchSorted",
        "Select",
        "Selu",
        "Shape",
        "ShapeOf",
        "Shrink",
        "ShuffleChannels",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Size",
        "Slice",
        "SliceScatter",
        "SoftMax",
        "SoftPlus",
        "SoftSign",
        "Softmax",
        "Softplus",
        "Softsign",
        "SpaceToDepth",
        "Split",
        "Sqrt",
        "SquaredDifference",
        "Squeeze",
        "StridedSlice",
        "Sub",
        "Subtract",
        "Sum",
        "Swish",
        "Tan",
        "Tanh",
        "ThresholdedRelu",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unique",
        "Unsqueeze",
        "VariadicSplit",
        "Where",
        "Xor",
    ]
)

#: Of these a result depends on the elements that it is made of, however many there are besides.
_PARTS = frozenset(
    [
        "Gather",
        "GatherElements",
        "GatherND",
        "Reshape",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Shape",
        "ShapeOf",
        "Size",
        "Slice",
        "Split",
        "StridedSlice",
        "VariadicSplit",
        "Identity",
        "Transpose",
    ]
)

#: Sums of products: each output element takes as many steps as the last axis of input 0 has
#: elements.
_PRODUCTS = frozenset({"Gemm", "MatMul"})

#: Strings can have any length; these operations do not change it.
_MOVES_TEXT = _PARTS | frozenset(
    [
        "Broadcast",
        "Cast",
        "Compress",
        "Concat",
        "ConstantOfShape",
        "Equal",
        "Expand",
        "NotEqual",
        "Reverse",
        "Select",
        "Tile",
        "Where",
    ]
)

#: The most steps of a product: about a second.
_MOST_STEPS = 1 << 31


def is_known(node: Node) -> bool:
    """True when the cost of the operation follows from the sizes of its inputs and outputs."""
    return node.op.type in _LINEAR or node.op.type in _PRODUCTS


def bytes_to_fold(node: Node, inputs: Iterable[ValueType | None]) -> int | None:
    """The bytes that folding the node takes, temporaries included; None if that is unknown.

    `inputs` are the types of the inputs, all of known shape.
    """
    if not is_known(node):
        return None
    given = [item for item in inputs if item is not None]
    sizes = [_count(item) for item in given]
    made = [_count(value.type) for value in node.outputs]
    if None in sizes or None in made:
        return None
    read = sum(size for size in sizes if size is not None)
    total = sum(size for size in made if size is not None)
    if any(_is_text(item) for item in given) and node.op.type not in _MOVES_TEXT:
        return None
    if node.op.type in _PRODUCTS and total * _inner(given[0]) > _MOST_STEPS:
        return None
    return (total + (0 if node.op.type in _PARTS else read)) * _TEMPORARIES * _WIDEST


def _count(type: ValueType) -> int | None:
    return type.shape.count() if isinstance(type, TensorType) else None


def _inner(type: ValueType) -> int:
    dims = type.shape.dims if isinstance(type, TensorType) else None
    return max((dim for dim in dims or () if isinstance(dim, int)), default=1)


def _is_text(type: ValueType) -> bool:
    return isinstance(type, TensorType) and str(type.element) == "string"
