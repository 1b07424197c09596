"""OpenVINO operations by family; a family is imported when one of its types is first looked up.

A small model needs few families, and importing all of them takes longer than the rest of reading or
validating such a model.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from irloop.dialects.openvino.base import OPENVINO, OpenVinoOp

__all__ = ["FAMILIES", "OPENVINO", "OpenVinoOp"]

#: The types that each module describes. A type missing here is still found, by importing every
#: family; a test keeps the table complete.
FAMILIES: dict[str, str] = {
    "activation": """
        Clamp Elu GRN Gelu HSigmoid HSwish HardSigmoid LogSoftmax Mish PReLU ReLU Selu Sigmoid
        SoftMax SoftPlus SoftSign Swish
    """,
    "color": "I420toBGR I420toRGB NV12toBGR NV12toRGB",
    "comparison": """
        BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Equal
        Greater GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd LogicalNot LogicalOr
        LogicalXor NotEqual Select Xor
    """,
    "control_flow": "If Loop TensorIterator",
    "convert": "Convert ConvertLike ConvertPromoteTypes FakeConvert Identity",
    "convolution": """
        BinaryConvolution Convolution ConvolutionBackpropData DeformableConvolution
        GroupConvolution GroupConvolutionBackpropData
    """,
    "ctc": "CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss",
    "detection": "DetectionOutput",
    "detectron": """
        ExperimentalDetectronDetectionOutput ExperimentalDetectronPriorGridGenerator
        ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs
    """,
    "elementwise": """
        Abs Acos Acosh Add Asin Asinh Atan Atanh Ceiling Cos Cosh Divide Erf ErfInv Exp Floor
        FloorMod Log Maximum Minimum Mod Multiply Negative Power Round Sign Sin Sinh Sqrt
        SquaredDifference Subtract Tan Tanh
    """,
    "embedding": """
        EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum
        EmbeddingSegmentsSum SegmentMax SparseFillEmptyRows
    """,
    "gather": "Gather GatherElements GatherND GatherTree",
    "generate": "Eye OneHot Range",
    "matmul": "Einsum Inverse MatMul ScaledDotProductAttention",
    "multiclass_nms": "MatrixNms MulticlassNms",
    "nms": "NMSRotated NonMaxSuppression",
    "normalization": "BatchNormInference GroupNormalization LRN MVN NormalizeL2",
    "padding": "Pad",
    "pooling": "AdaptiveAvgPool AdaptiveMaxPool AvgPool MaxPool",
    "prior_box": "PriorBox PriorBoxClustered",
    "proposals": """
        ExperimentalDetectronGenerateProposalsSingleImage GenerateProposals Proposal
    """,
    "quantize": "FakeQuantize",
    "random": "Multinomial RandomUniform",
    "rearrange": """
        BatchToSpace Col2Im DepthToSpace ExtractImagePatches ReorgYolo ShuffleChannels
        SpaceToBatch SpaceToDepth
    """,
    "recurrent": "GRUCell GRUSequence LSTMCell LSTMSequence RNNCell RNNSequence",
    "reduction": """
        ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin
        ReduceProd ReduceSum
    """,
    "region": "RegionYolo",
    "reorder": "Reverse ReverseSequence Roll",
    "resize": "Interpolate",
    "roi": "DeformablePSROIPooling PSROIPooling ROIAlign ROIAlignRotated ROIPooling",
    "sampling": "GridSample",
    "scatter": "ScatterElementsUpdate ScatterNDUpdate ScatterUpdate",
    "search": "Bucketize CumSum NonZero SearchSorted TopK Unique",
    "shape": "Broadcast Reshape ShapeOf Squeeze Tile Transpose Unsqueeze",
    "signal": "DFT IDFT IRDFT ISTFT RDFT STFT",
    "slicing": "Concat Slice SliceScatter Split StridedSlice VariadicSplit",
    "state": "Assign ReadValue",
    "text": "StringTensorPack StringTensorUnpack",
}


@cache
def _family_of() -> dict[str, str]:
    return {name.lower(): family for family, names in FAMILIES.items() for name in names.split()}


@cache
def _load(type_name: str | None, domain: str) -> None:
    family = None if type_name is None else _family_of().get(type_name.lower())
    for name in FAMILIES if family is None else (family,):
        import_module(f"{__name__}.{name}")


def __getattr__(name: str) -> Any:
    """Return a family by its module's name, or an operation by its class's: ``Add``."""
    if name in FAMILIES:
        return import_module(f"{__name__}.{name}")
    if not name.startswith("_"):
        for type_name in (name, name.rstrip("0123456789")):
            for cls in OPENVINO.versions(type_name) if type_name.lower() in _family_of() else ():
                if cls.__name__ == name:
                    return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


OPENVINO.load_by(_load)
