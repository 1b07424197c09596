"""The types of the layers that each module of `legacy` defines."""

from __future__ import annotations

__all__ = ["FAMILIES"]

FAMILIES: dict[str, str] = {
    "activation": """
        Abs Acos Acosh Activation Asin Asinh Atan Atanh Ceil Ceiling Clamp Cos Cosh ELU Erf Exp
        Floor GELU HSwish HardSigmoid Log LogSoftmax Logistic Mish Neg Not PReLU ReLU ReLU6
        Reciprocal Selu Sigmoid Sign Sin Sinh SoftMax Softplus Softsign Sqrt Swish Tan TanH
    """,
    "convolution": """
        BinaryConvolution Convolution Deconvolution DeformableConvolution FullyConnected
        InnerProduct
    """,
    "detection": "DetectionOutput NonMaxSuppression PriorBox PriorBoxClustered Proposal",
    "elementwise": "BatchNormalization Eltwise Gemm Power ScaleShift",
    "gather": """
        ArgMax Bucketize CumSum Gather GatherTree OneHot Range ReverseSequence ScatterUpdate Select
        TopK Unique
    """,
    "normalization": "GRN LRN MVN Norm Normalize",
    "pooling": "Pooling",
    "quantize": "Convert FakeQuantize Quantize",
    "recurrent": "GRUCell GRUSequence LSTMCell LSTMSequence RNNCell RNNSequence",
    "reduction": """
        ReduceAnd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
        ReduceOr ReduceProd ReduceSum ReduceSumSquare
    """,
    "refused": "SimplerNMS Unpooling",
    "regions": "CTCGreedyDecoder PSROIPooling ROIPooling RegionYolo",
    "resize": "Interp Resample",
    "shape": """
        Broadcast Copy DepthToSpace Dropout Expand Fill Flatten Permute ReorgYolo Reshape ShapeOf
        ShuffleChannels SpaceToDepth Squeeze Tile Unsqueeze
    """,
    "slicing": "Concat Crop Pad Slice Split StridedSlice VariadicSplit",
    "state": "Memory",
}
