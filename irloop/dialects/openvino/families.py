"""The types of the operations that each module of the openvino dialect defines.

Written by `docs/generate/indexes.py`.
"""

from __future__ import annotations

__all__ = ["FAMILIES"]

FAMILIES: dict[str, str] = {
    "activation": """
        Clamp Elu GRN Gelu HSigmoid HSwish HardSigmoid LogSoftmax Mish PReLU ReLU Selu
        Sigmoid SoftMax SoftPlus SoftSign Swish
    """,
    "color": "I420toBGR I420toRGB NV12toBGR NV12toRGB",
    "comparison": """
        BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor
        Equal Greater GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd
        LogicalNot LogicalOr LogicalXor NotEqual Select Xor
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
        Abs Acos Acosh Add Asin Asinh Atan Atanh Ceiling Cos Cosh Divide Erf ErfInv Exp
        Floor FloorMod Log Maximum Minimum Mod Multiply Negative Power Round Sign Sin Sinh
        Sqrt SquaredDifference Subtract Tan Tanh
    """,
    "embedding": """
        EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked
        EmbeddingBagPackedSum EmbeddingSegmentsSum SegmentMax SparseFillEmptyRows
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
    "proposals": "ExperimentalDetectronGenerateProposalsSingleImage GenerateProposals Proposal",
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
