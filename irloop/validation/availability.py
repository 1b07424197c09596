"""Which operation exists in which opset, as OpenVINO 2026.4 and 2021.4 read them.

2026.4 accepts every opset in version 10 and 11 files alike, 2021.4 opset1 to opset7.
"""

from __future__ import annotations

from functools import cache

from irloop.formats.openvino.opsets import NEWEST, opset_of

__all__ = [
    "EXACT",
    "LAST_OF_2021",
    "NEWEST",
    "Span",
    "is_newer_than_2021",
    "opset_of",
    "opsets",
]

#: The newest opset of the 2021.4 runtime.
LAST_OF_2021 = 7
#: First and last opset.
Span = tuple[int, int]
#: These three must be spelled exactly; all other types match in any letter case.
EXACT = frozenset({"Parameter", "Result", "Const"})

_SINCE = {
    1: """
        Abs Acos Add Asin Atan AvgPool BatchNormInference BinaryConvolution Broadcast
        CTCGreedyDecoder Ceiling Clamp Concat Const Convert ConvertLike Convolution
        ConvolutionBackpropData Cos Cosh DeformableConvolution DeformablePSROIPooling DepthToSpace
        DetectionOutput Divide Elu Equal Erf Exp FakeQuantize Floor FloorMod GRN Gather GatherTree
        Greater GreaterEqual GroupConvolution GroupConvolutionBackpropData HardSigmoid Interpolate
        LRN LSTMCell Less LessEqual Log LogicalAnd LogicalNot LogicalOr LogicalXor MVN MatMul
        MaxPool Maximum Minimum Mod Multiply Negative NonMaxSuppression NormalizeL2 NotEqual OneHot
        PReLU PSROIPooling Pad Parameter Power PriorBox PriorBoxClustered Proposal ROIPooling Range
        ReLU ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
        RegionYolo ReorgYolo Reshape Result ReverseSequence Select Selu ShapeOf Sigmoid Sign Sin
        Sinh SoftMax SpaceToDepth Split Sqrt SquaredDifference Squeeze StridedSlice Subtract Tan
        Tanh TensorIterator Tile TopK Transpose Unsqueeze VariadicSplit RNNCell ShuffleChannels
    """,
    2: "BatchToSpace Gelu SpaceToBatch",
    3: """
        Assign Bucketize CumSum EmbeddingBagOffsetsSum EmbeddingBagPackedSum EmbeddingSegmentsSum
        ExtractImagePatches GRUCell NonZero ROIAlign ReadValue ScatterElementsUpdate ScatterUpdate
    """,
    4: """
        Acosh Asinh Atanh CTCLoss HSwish Mish ReduceL1 ReduceL2 ScatterNDUpdate SoftPlus Swish
    """,
    5: """
        GRUSequence GatherND HSigmoid LSTMSequence LogSoftmax Loop RNNSequence Round
    """,
    6: """
        CTCGreedyDecoderSeqLen ExperimentalDetectronDetectionOutput
        ExperimentalDetectronGenerateProposalsSingleImage ExperimentalDetectronPriorGridGenerator
        ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs GatherElements
    """,
    7: "DFT Einsum IDFT Roll",
    8: """
        AdaptiveAvgPool AdaptiveMaxPool I420toBGR I420toRGB If MatrixNms MulticlassNms NV12toBGR
        NV12toRGB RandomUniform Slice
    """,
    9: "Eye GenerateProposals GridSample IRDFT RDFT SoftSign",
    10: "IsFinite IsInf IsNaN Unique",
    12: "GroupNormalization",
    13: """
        BitwiseAnd BitwiseOr BitwiseXor BitwiseNot FakeConvert Multinomial NMSRotated
        ScaledDotProductAttention
    """,
    14: "ConvertPromoteTypes Inverse",
    15: """
        BitwiseLeftShift BitwiseRightShift Col2Im EmbeddingBagOffsets EmbeddingBagPacked
        ROIAlignRotated STFT SearchSorted SliceScatter StringTensorPack StringTensorUnpack
    """,
    16: "ISTFT Identity SegmentMax SparseFillEmptyRows",
    17: "BGRtoNV12 ErfInv GroupedMatMul RGBtoNV12",
}
#: Operations of opset1 that later opsets dropped, or that skip an opset.
_GAPS: dict[str, tuple[Span, ...]] = {
    "reverse": ((1, 1),),
    "xor": ((1, 1),),
    "rnncell": ((1, 1), (3, NEWEST)),
    "shufflechannels": ((1, 1), (3, NEWEST)),
}


@cache
def _table() -> dict[str, tuple[Span, ...]]:
    table: dict[str, tuple[Span, ...]] = {}
    for since, names in _SINCE.items():
        for name in names.split():
            table[name.lower()] = ((since, NEWEST),)
    table.update(_GAPS)
    return table


def opsets(type_name: str) -> tuple[Span, ...]:
    """The opsets that know a type; empty when none does."""
    return _table().get(type_name.lower(), ())


@cache
def is_newer_than_2021(version: str | None) -> bool:
    """True for an opset that OpenVINO 2021.4 does not know."""
    number = opset_of(version)
    return number is not None and number > LAST_OF_2021
