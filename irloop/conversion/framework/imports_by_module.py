"""The ONNX operations that each module converts to OpenVINO.

Written by `docs/generate/indexes.py`.
"""

from __future__ import annotations

__all__ = ["IMPORTS_BY_MODULE"]

IMPORTS_BY_MODULE: dict[str, str] = {
    "classical_ml.features": """
        ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer
        LabelEncoder1 LabelEncoder2 LabelEncoder4 Normalizer OneHotEncoder Scaler ZipMap
    """,
    "classical_ml.linear_models": "LinearClassifier LinearRegressor SVMClassifier SVMRegressor",
    "classical_ml.trees": """
        TreeEnsemble TreeEnsembleClassifier1 TreeEnsembleClassifier3
        TreeEnsembleRegressor1 TreeEnsembleRegressor3
    """,
    "detection.nms": "NonMaxSuppression",
    "detection.roi": "MaxRoiPool RoiAlign RoiAlign10",
    "elements.activation": """
        Celu Clip11 Clip6 Elu Gelu HardSigmoid HardSwish Hardmax1 Hardmax13 LeakyRelu
        LogSoftmax1 LogSoftmax13 Mish PRelu Relu Selu Shrink Sigmoid Softmax1 Softmax13
        Softplus Softsign SwiGLU Swish ThresholdedRelu
    """,
    "elements.bit_cast": "BitCast",
    "elements.bits": "BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor IsInf IsNaN",
    "elements.comparison": "And Equal Greater GreaterOrEqual Less LessOrEqual Not Or Where Xor",
    "elements.convert": "Cast1 Cast6 CastLike Identity",
    "elements.elementwise": """
        Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Erf Exp Floor Log Max
        Mean Min Mod Mul Neg Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Sum Tan Tanh
    """,
    "elements.generate": """
        BlackmanWindow ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix
        OneHot Range Range27
    """,
    "elements.legacy": """
        Add1 And1 BatchNormalization1 Clip1 Div1 Dropout1 Equal1 Greater1 Less1 Mul1 Or1
        PRelu1 Pow1 Selu1 Sub1 Xor1
    """,
    "elements.losses": "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss",
    "elements.quantised_products": "ConvInteger MatMulInteger QLinearConv QLinearMatMul",
    "elements.quantize": """
        DequantizeLinear10 DequantizeLinear13 DynamicQuantizeLinear QuantizeLinear10
        QuantizeLinear13
    """,
    "elements.random": """
        Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform
        RandomUniformLike
    """,
    "elements.text": """
        ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit
        TfIdfVectorizer
    """,
    "loops.branch": "If",
    "loops.loop": "Loop",
    "loops.scan": "Scan",
    "loops.sequence": """
        ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt
        SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
        SplitToSequence
    """,
    "neural.attention": "Attention Attention23 Attention24 RotaryEmbedding",
    "neural.convolution": "Conv",
    "neural.convolution_transposed": "ConvTranspose",
    "neural.deformable": "CausalConvWithState DeformConv",
    "neural.normalization_import": """
        BatchNormalization14 BatchNormalization7 BatchNormalization9 Dropout10 Dropout12
        Dropout7 GroupNormalization18 GroupNormalization21 InstanceNormalization LRN
        LayerNormalization LpNormalization MeanVarianceNormalization RMSNormalization
    """,
    "neural.pooling_import": """
        AveragePool AveragePool1 GlobalAveragePool GlobalLpPool GlobalLpPool1
        GlobalMaxPool LpPool LpPool1 LpPool2 MaxPool MaxPool1 MaxUnpool
    """,
    "neural.resize_import": "Resize Resize10 Resize11 Resize13 Upsample Upsample1 Upsample9",
    "neural.sampling": "AffineGrid GridSample GridSample16",
    "neural.signal_import": "DFT DFT17 STFT",
    "recurrent.recurrent_import": "GRU GRU1 LSTM LSTM1 RNN RNN1",
    "tensors.gather": "Compress Gather GatherElements GatherND GatherND12",
    "tensors.matmul": "Det Einsum Gemm Gemm1 MatMul",
    "tensors.padding": "CenterCropPad Pad1 Pad11 Pad18 Pad19 Pad2",
    "tensors.rearrange": "Col2Im DepthToSpace DepthToSpace11 SpaceToDepth SpaceToDepth28",
    "tensors.reduction": """
        ReduceL11 ReduceL118 ReduceL21 ReduceL218 ReduceLogSum1 ReduceLogSum18
        ReduceLogSumExp1 ReduceLogSumExp18 ReduceMax1 ReduceMax18 ReduceMean1 ReduceMean18
        ReduceMin1 ReduceMin18 ReduceProd1 ReduceProd18 ReduceSum1 ReduceSum13
        ReduceSumSquare1 ReduceSumSquare18
    """,
    "tensors.reorder": "ReverseSequence Trilu",
    "tensors.scatter": "Scatter ScatterElements ScatterElements16 ScatterND ScatterND16",
    "tensors.search": "ArgMax ArgMax12 ArgMin ArgMin12 CumProd CumSum NonZero TopK1 TopK10 TopK11",
    "tensors.shape": """
        Expand Flatten Reshape Reshape1 Reshape14 Shape1 Shape15 Size Squeeze Squeeze13
        Tile Tile1 Transpose Unsqueeze Unsqueeze13
    """,
    "tensors.slicing": "Concat Concat1 Slice Slice10 Split Split1 Split13 Split18 TensorScatter",
    "tensors.unique": "Unique",
}
