"""The OpenVINO operations that each module converts to ONNX.

Written by `docs/generate/indexes.py`.
"""

from __future__ import annotations

__all__ = ["EXPORTS_BY_MODULE"]

EXPORTS_BY_MODULE: dict[str, str] = {
    "detection.detection_output": "DetectionOutput DetectionOutput1",
    "detection.detectron": """
        ExperimentalDetectronDetectionOutput ExperimentalDetectronPriorGridGenerator
        ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs
    """,
    "detection.matrix_nms": "MatrixNms",
    "detection.multiclass_nms": "MulticlassNms MulticlassNms8",
    "detection.nms": """
        NonMaxSuppression1 NonMaxSuppression3 NonMaxSuppression4 NonMaxSuppression5
        NonMaxSuppression9
    """,
    "detection.prior_box": "PriorBox PriorBox8 PriorBoxClustered",
    "detection.proposal": """
        ExperimentalDetectronGenerateProposalsSingleImage GenerateProposals Proposal
        Proposal1
    """,
    "detection.region": "RegionYolo",
    "detection.roi": "PSROIPooling ROIAlign ROIAlign9 ROIPooling",
    "detection.roi_turned": "DeformablePSROIPooling ROIAlignRotated",
    "detection.rotated_nms": "NMSRotated",
    "elements.activation": """
        Clamp Elu GRN Gelu2 Gelu7 HSigmoid HSwish HardSigmoid LogSoftmax Mish PReLU ReLU
        Selu Sigmoid SoftMax1 SoftMax8 SoftPlus SoftSign Swish
    """,
    "elements.bits": """
        BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor
        IsFinite IsInf IsNaN
    """,
    "elements.color": "I420toBGR I420toRGB NV12toBGR NV12toRGB",
    "elements.comparison": """
        Equal Greater GreaterEqual Less LessEqual LogicalAnd LogicalNot LogicalOr
        LogicalXor NotEqual Select Xor
    """,
    "elements.convert": "Convert ConvertLike ConvertPromoteTypes FakeConvert Identity",
    "elements.elementwise": """
        Abs Acos Acosh Add Asin Asinh Atan Atanh Ceiling Cos Cosh Divide Erf ErfInv Exp
        Floor FloorMod Log Maximum Minimum Mod Multiply Negative Power Round Sign Sin Sinh
        Sqrt SquaredDifference Subtract Tan Tanh
    """,
    "elements.generate": "Eye OneHot OneHot16 Range Range4",
    "elements.random": "Assign Assign6 Multinomial RandomUniform ReadValue ReadValue6",
    "elements.text": "StringTensorPack StringTensorUnpack",
    "loops.branch": "If",
    "loops.loop_export": "Loop TensorIterator",
    "neural.adaptive_pooling": "AdaptiveAvgPool AdaptiveMaxPool",
    "neural.convolution": "BinaryConvolution Convolution GroupConvolution",
    "neural.convolution_transposed": "ConvolutionBackpropData GroupConvolutionBackpropData",
    "neural.ctc": "CTCGreedyDecoder CTCGreedyDecoderSeqLen",
    "neural.ctc_loss": "CTCLoss",
    "neural.deformable": "DeformableConvolution DeformableConvolution1",
    "neural.normalization": """
        BatchNormInference1 BatchNormInference5 GroupNormalization LRN MVN1 MVN2 MVN6
        NormalizeL2
    """,
    "neural.pooling": "AvgPool AvgPool14 AvgPool16 MaxPool MaxPool1 MaxPool14",
    "neural.resize": "Interpolate Interpolate1 Interpolate11",
    "neural.sampling": "GridSample",
    "neural.signal": "DFT IDFT IRDFT ISTFT RDFT STFT",
    "quantised.fake_quantize": "FakeQuantize",
    "recurrent.recurrent_export": """
        GRUCell GRUSequence LSTMCell LSTMCell1 LSTMSequence LSTMSequence1 RNNCell
        RNNSequence
    """,
    "tensors.embedding": """
        EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked
        EmbeddingBagPackedSum EmbeddingSegmentsSum SegmentMax SparseFillEmptyRows
    """,
    "tensors.gather": "Gather Gather7 Gather8 GatherElements GatherND GatherND8 GatherTree",
    "tensors.matmul": "Einsum Inverse MatMul ScaledDotProductAttention",
    "tensors.padding": "Pad Pad12",
    "tensors.rearrange": """
        BatchToSpace Col2Im DepthToSpace ExtractImagePatches ReorgYolo ReorgYolo1
        ShuffleChannels SpaceToBatch SpaceToDepth
    """,
    "tensors.reduction": """
        ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin
        ReduceProd ReduceSum
    """,
    "tensors.reorder": "Reverse ReverseSequence Roll",
    "tensors.scatter": """
        ScatterElementsUpdate ScatterElementsUpdate12 ScatterNDUpdate ScatterNDUpdate15
        ScatterUpdate
    """,
    "tensors.search": "Bucketize CumSum NonZero SearchSorted TopK TopK11 TopK3",
    "tensors.shape": """
        Broadcast Broadcast3 Reshape ShapeOf ShapeOf3 Squeeze Squeeze15 Tile Transpose
        Unsqueeze
    """,
    "tensors.slicing": "Concat Slice SliceScatter Split VariadicSplit",
    "tensors.strided_slice": "StridedSlice",
    "tensors.unique": "Unique",
}
