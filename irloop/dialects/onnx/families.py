"""The types of the operations that each module of the onnx dialect defines.

Written by `docs/generate/indexes.py`.
"""

from __future__ import annotations

__all__ = ["FAMILIES"]

FAMILIES: dict[str, str] = {
    "activation": """
        Celu Clip Elu Gelu HardSigmoid HardSwish Hardmax LeakyRelu LogSoftmax Mish PRelu
        Relu Selu Shrink Sigmoid Softmax Softplus Softsign SwiGLU Swish ThresholdedRelu
    """,
    "attention": "Attention LinearAttention RotaryEmbedding",
    "comparison": """
        And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater
        GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Where Xor
    """,
    "control_flow": "If Loop Scan",
    "convert": "BitCast Cast CastLike Identity",
    "convolution": "CausalConvWithState Conv ConvTranspose DeformConv",
    "elementwise": """
        Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Erf Exp Floor Log Max
        Mean Min Mod Mul Neg Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Sum Tan Tanh
    """,
    "features": """
        ArrayFeatureExtractor Binarizer FeatureVectorizer Imputer Normalizer OneHotEncoder
        Scaler ZipMap
    """,
    "gather": "Compress Gather GatherElements GatherND",
    "generate": """
        BlackmanWindow ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix
        OneHot Range
    """,
    "images": "ImageDecoder",
    "labels": "CategoryMapper LabelEncoder",
    "legacy": """
        Add And BatchNormalization Clip Div Dropout Equal Greater Less Mul Or PRelu Pow
        Selu Sub Xor
    """,
    "linear_models": "LinearClassifier LinearRegressor SVMClassifier SVMRegressor",
    "losses": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
    "matmul": "Det Einsum Gemm MatMul",
    "nms": "NonMaxSuppression",
    "normalization": """
        BatchNormalization Dropout GroupNormalization InstanceNormalization LRN
        LayerNormalization LpNormalization MeanVarianceNormalization RMSNormalization
    """,
    "padding": "CenterCropPad Pad",
    "pooling": "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool MaxUnpool",
    "quantize": """
        ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv
        QLinearMatMul QuantizeLinear
    """,
    "random": "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike",
    "rearrange": "Col2Im DepthToSpace SpaceToDepth",
    "recurrent": "GRU LSTM RNN",
    "reduction": """
        ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
        ReduceProd ReduceSum ReduceSumSquare
    """,
    "reorder": "ReverseSequence Trilu",
    "resize": "Resize Upsample",
    "roi": "MaxRoiPool RoiAlign",
    "sampling": "AffineGrid GridSample",
    "scatter": "Scatter ScatterElements ScatterND",
    "search": "ArgMax ArgMin CumProd CumSum NonZero TopK Unique",
    "sequence": """
        ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt
        SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
        SplitToSequence
    """,
    "shape": "Expand Flatten Reshape Shape Size Squeeze Tile Transpose Unsqueeze",
    "signal": "DFT STFT",
    "slicing": "Concat Slice Split TensorScatter",
    "text": "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
    "trees": "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
}
