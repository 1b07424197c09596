"""Operations over inputs of unknown sizes, as ONNX text.

Engines often know nothing but the rank of an input, and compute such operations differently from
those over known sizes.
"""

from __future__ import annotations

__all__ = ["OPERATIONS"]

#: For each operation its inputs and its text, which computes Z. An input is described by its
#: kind and its dimensions (see `drawn_inputs`), as in "index k,2"; without a kind it is f32.
OPERATIONS: dict[str, tuple[dict[str, str], str]] = {
    "conv_same_u": (
        {"x": "1,2,a,b", "W": "2,2,2,2"},
        'Z = Conv <auto_pad="SAME_UPPER", strides=[2,2]> (x, W)',
    ),
    "conv_same_l": ({"x": "1,2,a,b", "W": "2,2,2,2"}, 'Z = Conv <auto_pad="SAME_LOWER"> (x, W)'),
    "conv_pads": ({"x": "1,2,a,b", "W": "2,2,2,2"}, "Z = Conv <pads=[1,0,0,1]> (x, W)"),
    "convt": (
        {"x": "1,2,a,b", "W": "2,2,2,2"},
        "Z = ConvTranspose <strides=[2,1], pads=[0,1,1,0]> (x, W)",
    ),
    "convt_same": (
        {"x": "1,2,a,b", "W": "2,2,2,2"},
        'Z = ConvTranspose <strides=[2,2], auto_pad="SAME_LOWER"> (x, W)',
    ),
    "conv_group": ({"x": "n,4,a,b", "w": "4,2,1,2"}, "Z = Conv <group=2> (x, w)"),
    "conv1d": (
        {"x": "n,3,a", "w": "5,3,3", "bb": "5"},
        'Z = Conv <auto_pad="SAME_UPPER", strides=[2]> (x, w, bb)',
    ),
    "MaxPool_same": (
        {"x": "1,2,a,b"},
        'Z = MaxPool <auto_pad="SAME_UPPER", strides=[2,2], kernel_shape=[2,2]> (x)',
    ),
    "MaxPool_pads": ({"x": "1,2,a,b"}, "Z = MaxPool <pads=[1,1,0,0], kernel_shape=[2,2]> (x)"),
    "MaxPool_ceil": (
        {"x": "1,2,a,b"},
        "Z = MaxPool <ceil_mode=1, strides=[2,2], kernel_shape=[2,2]> (x)",
    ),
    "AveragePool_same": (
        {"x": "1,2,a,b"},
        'Z = AveragePool <auto_pad="SAME_UPPER", strides=[2,2], kernel_shape=[2,2]> (x)',
    ),
    "AveragePool_pads": (
        {"x": "1,2,a,b"},
        "Z = AveragePool <pads=[1,1,0,0], kernel_shape=[2,2]> (x)",
    ),
    "avgpool_count": (
        {"x": "1,2,a,b"},
        "Z = AveragePool <count_include_pad=1, pads=[1,1,1,1], kernel_shape=[2,2]> (x)",
    ),
    "maxpool_idx": (
        {"x": "1,2,a,b"},
        "Y, Zi = MaxPool <kernel_shape=[2,2]> (x) Z = Cast <to=1> (Zi)",
    ),
    "lppool": ({"x": "1,2,a,b"}, "Z = LpPool <kernel_shape=[2,2], p=2> (x)"),
    "gap": ({"x": "1,2,a,b"}, "Z = GlobalAveragePool (x)"),
    "gmp": ({"x": "1,2,a,b"}, "Z = GlobalMaxPool (x)"),
    "glp": ({"x": "1,2,a,b"}, "Z = GlobalLpPool (x)"),
    "resize_scales": (
        {"x": "1,2,a,b"},
        (
            "none = Constant <value = float[0] {}> () sc = Constant "
            '<value_floats=[1.0,1.0,2.0,1.5]> () Z = Resize <mode="linear"> (x, none, sc)'
        ),
    ),
    "resize_down": (
        {"x": "1,2,a,b"},
        (
            "none = Constant <value = float[0] {}> () sc = Constant "
            '<value_floats=[1.0,1.0,0.6,0.5]> () Z = Resize <mode="nearest", '
            'nearest_mode="floor", coordinate_transformation_mode="asymmetric"> (x, none, '
            "sc)"
        ),
    ),
    "resize_cubic": (
        {"x": "1,2,a,b"},
        (
            "none = Constant <value = float[0] {}> () sc = Constant "
            '<value_floats=[1.0,1.0,2.0,2.0]> () Z = Resize <mode="cubic"> (x, none, sc)'
        ),
    ),
    "upsample_dyn": (
        {"x": "1,2,a,b", "hw": "scale 2"},
        (
            "none = Constant <value = float[0] {}> () on = Constant "
            "<value_floats=[1.0,1.0]> () full = Concat <axis=0> (on, hw) Z = Resize "
            '<mode="nearest", coordinate_transformation_mode="asymmetric", '
            'nearest_mode="floor"> (x, none, full)'
        ),
    ),
    "inorm": (
        {"x": "1,2,a,b"},
        "sc = Constant <value_floats=[1.0,2.0]> () Z = InstanceNormalization (x, sc, sc)",
    ),
    "bn": (
        {"x": "1,2,a,b"},
        "sc = Constant <value_floats=[1.0,2.0]> () Z = BatchNormalization (x, sc, sc, sc, sc)",
    ),
    "lrn": ({"x": "1,2,a,b"}, "Z = LRN <size=3> (x)"),
    "d2s": (
        {"x": "1,2,a,b"},
        'aa = Concat <axis=1> (x, x) Z = DepthToSpace <blocksize=2, mode="CRD"> (aa)',
    ),
    "s2d": ({"xx": "1,2,4,e"}, "Z = SpaceToDepth <blocksize=2> (xx)"),
    "gridsample": (
        {"x": "1,2,a,b"},
        "g = Transpose <perm=[0,2,3,1]> (x) gg = Tanh (g) Z = GridSample (x, gg)",
    ),
    "gridsample_n": (
        {"x": "1,2,a,b"},
        (
            "g = Transpose <perm=[0,2,3,1]> (x) gg = Tanh (g) Z = GridSample "
            '<mode="nearest", padding_mode="border", align_corners=1> (x, gg)'
        ),
    ),
    "roialign": (
        {"x": "1,2,a,b"},
        (
            "bx = Constant <value=float[2,4] {0,0,1,1,0.2,0.3,1.5,2}> () bi = Constant "
            "<value_ints=[0,0]> () Z = RoiAlign <output_height=2, output_width=2, "
            "sampling_ratio=2> (x, bx, bi)"
        ),
    ),
    "Softmax_0": ({"x": "a,b,c"}, "Z = Softmax <axis=0> (x)"),
    "Softmax_1": ({"x": "a,b,c"}, "Z = Softmax <axis=1> (x)"),
    "Softmax_-1": ({"x": "a,b,c"}, "Z = Softmax <axis=-1> (x)"),
    "LogSoftmax_0": ({"x": "a,b,c"}, "Z = LogSoftmax <axis=0> (x)"),
    "LogSoftmax_1": ({"x": "a,b,c"}, "Z = LogSoftmax <axis=1> (x)"),
    "LogSoftmax_-1": ({"x": "a,b,c"}, "Z = LogSoftmax <axis=-1> (x)"),
    "Hardmax_0": ({"x": "a,b,c"}, "Z = Hardmax <axis=0> (x)"),
    "Hardmax_1": ({"x": "a,b,c"}, "Z = Hardmax <axis=1> (x)"),
    "Hardmax_-1": ({"x": "a,b,c"}, "Z = Hardmax <axis=-1> (x)"),
    "ReduceSum_0": ({"x": "a,b,c"}, "ax = Constant <value_ints=[0]> () Z = ReduceSum (x, ax)"),
    "ReduceSum_12": (
        {"x": "a,b,c"},
        "ax = Constant <value_ints=[1,2]> () Z = ReduceSum <keepdims=0> (x, ax)",
    ),
    "ReduceSum_all": ({"x": "a,b,c"}, "Z = ReduceSum (x)"),
    "ReduceSum_noop": (
        {"x": "a,b,c"},
        "ax = Constant <value=int64[0] {}> () Z = ReduceSum <noop_with_empty_axes=1> (x, ax)",
    ),
    "ReduceSum_dyn": ({"x": "a,b,c", "ax": "few 1"}, "Z = ReduceSum (x, ax)"),
    "ReduceMean_0": ({"x": "a,b,c"}, "Z = ReduceMean <axes=[0]> (x)"),
    "ReduceMean_12": ({"x": "a,b,c"}, "Z = ReduceMean <axes=[1,2], keepdims=0> (x)"),
    "ReduceMean_all": ({"x": "a,b,c"}, "Z = ReduceMean (x)"),
    "ReduceMax_0": ({"x": "a,b,c"}, "Z = ReduceMax <axes=[0]> (x)"),
    "ReduceMax_12": ({"x": "a,b,c"}, "Z = ReduceMax <axes=[1,2], keepdims=0> (x)"),
    "ReduceMax_all": ({"x": "a,b,c"}, "Z = ReduceMax (x)"),
    "ReduceMin_0": ({"x": "a,b,c"}, "Z = ReduceMin <axes=[0]> (x)"),
    "ReduceMin_12": ({"x": "a,b,c"}, "Z = ReduceMin <axes=[1,2], keepdims=0> (x)"),
    "ReduceMin_all": ({"x": "a,b,c"}, "Z = ReduceMin (x)"),
    "ReduceProd_0": ({"x": "a,b,c"}, "Z = ReduceProd <axes=[0]> (x)"),
    "ReduceProd_12": ({"x": "a,b,c"}, "Z = ReduceProd <axes=[1,2], keepdims=0> (x)"),
    "ReduceProd_all": ({"x": "a,b,c"}, "Z = ReduceProd (x)"),
    "ReduceL1_0": ({"x": "a,b,c"}, "Z = ReduceL1 <axes=[0]> (x)"),
    "ReduceL1_12": ({"x": "a,b,c"}, "Z = ReduceL1 <axes=[1,2], keepdims=0> (x)"),
    "ReduceL1_all": ({"x": "a,b,c"}, "Z = ReduceL1 (x)"),
    "ReduceL2_0": ({"x": "a,b,c"}, "Z = ReduceL2 <axes=[0]> (x)"),
    "ReduceL2_12": ({"x": "a,b,c"}, "Z = ReduceL2 <axes=[1,2], keepdims=0> (x)"),
    "ReduceL2_all": ({"x": "a,b,c"}, "Z = ReduceL2 (x)"),
    "ReduceLogSumExp_0": ({"x": "a,b,c"}, "Z = ReduceLogSumExp <axes=[0]> (x)"),
    "ReduceLogSumExp_12": ({"x": "a,b,c"}, "Z = ReduceLogSumExp <axes=[1,2], keepdims=0> (x)"),
    "ReduceLogSumExp_all": ({"x": "a,b,c"}, "Z = ReduceLogSumExp (x)"),
    "ReduceSumSquare_0": ({"x": "a,b,c"}, "Z = ReduceSumSquare <axes=[0]> (x)"),
    "ReduceSumSquare_12": ({"x": "a,b,c"}, "Z = ReduceSumSquare <axes=[1,2], keepdims=0> (x)"),
    "ReduceSumSquare_all": ({"x": "a,b,c"}, "Z = ReduceSumSquare (x)"),
    "ReduceLogSum_0": (
        {"x": "a,b,c"},
        (
            "oo = Constant <value_float=1.0> () x2 = Abs (x) x3 = Add (x2, oo) Z = "
            "ReduceLogSum <axes=[0]> (x3)"
        ),
    ),
    "ReduceLogSum_12": (
        {"x": "a,b,c"},
        (
            "oo = Constant <value_float=1.0> () x2 = Abs (x) x3 = Add (x2, oo) Z = "
            "ReduceLogSum <axes=[1,2], keepdims=0> (x3)"
        ),
    ),
    "ReduceLogSum_all": (
        {"x": "a,b,c"},
        "oo = Constant <value_float=1.0> () x2 = Abs (x) x3 = Add (x2, oo) Z = ReduceLogSum (x3)",
    ),
    "ArgMax_1": ({"x": "a,b,c"}, "Z = ArgMax <axis=1> (x)"),
    "ArgMax_k0": ({"x": "a,b,c"}, "Z = ArgMax <axis=-1, keepdims=0, select_last_index=1> (x)"),
    "ArgMin_1": ({"x": "a,b,c"}, "Z = ArgMin <axis=1> (x)"),
    "ArgMin_k0": ({"x": "a,b,c"}, "Z = ArgMin <axis=-1, keepdims=0, select_last_index=1> (x)"),
    "topk": ({"x": "a,b,c"}, "k = Constant <value_ints=[1]> () Z, i = TopK <axis=1> (x, k)"),
    "topk_i": (
        {"x": "a,b,c"},
        "k = Constant <value_ints=[1]> () v, Z = TopK <axis=0, largest=0> (x, k)",
    ),
    "topk_all": ({"x": "a,b,c"}, "k = Shape <start=2> (x) Z, i = TopK (x, k)"),
    "topk_dyn": ({"x": "a,4,c", "k": "count 1"}, "Z, i = TopK <axis=1> (x, k)"),
    "cumsum_00": (
        {"x": "a,b,c"},
        "ax = Constant <value_int=1> () Z = CumSum <exclusive=0, reverse=0> (x, ax)",
    ),
    "cumsum_01": (
        {"x": "a,b,c"},
        "ax = Constant <value_int=1> () Z = CumSum <exclusive=0, reverse=1> (x, ax)",
    ),
    "cumsum_10": (
        {"x": "a,b,c"},
        "ax = Constant <value_int=1> () Z = CumSum <exclusive=1, reverse=0> (x, ax)",
    ),
    "cumsum_11": (
        {"x": "a,b,c"},
        "ax = Constant <value_int=1> () Z = CumSum <exclusive=1, reverse=1> (x, ax)",
    ),
    "cumsum_neg": ({"x": "a,b"}, "ax = Constant <value_int=-1> () Z = CumSum (x, ax)"),
    "transpose": ({"x": "a,b,c"}, "Z = Transpose (x)"),
    "transpose2": ({"x": "a,b,c"}, "Z = Transpose <perm=[1,0,2]> (x)"),
    "flatten": ({"x": "a,b,c"}, "Z = Flatten <axis=2> (x)"),
    "flattenneg": ({"x": "a,b,c"}, "Z = Flatten <axis=-1> (x)"),
    "reshape0": ({"x": "a,b,c"}, "s = Constant <value_ints=[0,-1]> () Z = Reshape (x, s)"),
    "reshape_m": ({"x": "a,b,c"}, "s = Constant <value_ints=[-1]> () Z = Reshape (x, s)"),
    "squeeze": (
        {"x": "a,b,c"},
        "ax = Constant <value_ints=[1,-1]> () u = Unsqueeze (x, ax) Z = Squeeze (u, ax)",
    ),
    "expand": (
        {"x": "a,b,c"},
        (
            "s = Shape (x) on = Constant <value_ints=[2]> () t = Concat <axis=0> (on, s) Z "
            "= Expand (x, t)"
        ),
    ),
    "tile": ({"x": "a,b,c"}, "r = Constant <value_ints=[2,1,3]> () Z = Tile (x, r)"),
    "tile_dyn": ({"x": "a,b", "r": "count 2"}, "Z = Tile (x, r)"),
    "slice": (
        {"x": "a,b,c"},
        (
            "s = Constant <value_ints=[1]> () e = Constant <value_ints=[-1]> () ax = "
            "Constant <value_ints=[1]> () Z = Slice (x, s, e, ax)"
        ),
    ),
    "slice_neg": (
        {"x": "a,b,c"},
        (
            "s = Constant <value_ints=[-1,-2]> () e = Constant <value_ints=[-100,100]> () "
            "ax = Constant <value_ints=[2,0]> () st = Constant <value_ints=[-1,1]> () Z = "
            "Slice (x, s, e, ax, st)"
        ),
    ),
    "slice_step": (
        {"x": "a,b,c"},
        (
            "s = Constant <value_ints=[0]> () e = Constant "
            "<value_ints=[9223372036854775807]> () ax = Constant <value_ints=[-1]> () st = "
            "Constant <value_ints=[2]> () Z = Slice (x, s, e, ax, st)"
        ),
    ),
    "slice_dyn": ({"x": "a,b", "s": "index 2", "e": "end 2"}, "Z = Slice (x, s, e)"),
    "concat": ({"x": "a,b,c"}, "y = Neg (x) Z = Concat <axis=-2> (x, y, x)"),
    "pad": ({"x": "a,b,c"}, "p = Constant <value_ints=[0,1,2,1,0,0]> () Z = Pad (x, p)"),
    "pad_edge": (
        {"x": "a,b,c"},
        'p = Constant <value_ints=[0,1,2,1,0,0]> () Z = Pad <mode="edge"> (x, p)',
    ),
    "pad_neg": (
        {"x": "a,b,c"},
        (
            "p = Constant <value_ints=[0,-1,1,0,0,0]> () v = Constant <value_float=3.0> () "
            "Z = Pad (x, p, v)"
        ),
    ),
    "pad_dyn": ({"x": "a,b", "p": "few 4"}, "Z = Pad (x, p)"),
    "pad_reflect": (
        {"x": "a,3"},
        'p = Constant <value_ints=[0,1,0,1]> () Z = Pad <mode="reflect"> (x, p)',
    ),
    "gather": (
        {"x": "a,b,c"},
        "i = Constant <value=int64[2,2] {0,-1,1,0}> () Z = Gather <axis=1> (x, i)",
    ),
    "gather_dyn": ({"x": "a,b", "i": "index k,2"}, "Z = Gather <axis=0> (x, i)"),
    "gather_scalar": ({"x": "a,b", "i": "index"}, "Z = Gather <axis=1> (x, i)"),
    "gatherel": (
        {"x": "a,b,c"},
        (
            "s = Shape (x) z = ConstantOfShape <value=int64[1]{-1}> (s) Z = GatherElements "
            "<axis=2> (x, z)"
        ),
    ),
    "gathernd": ({"x": "a,b,c", "i": "index k,2"}, "Z = GatherND (x, i)"),
    "gathernd_b": ({"x": "2,b,c", "i": "index 2,k,1"}, "Z = GatherND <batch_dims=1> (x, i)"),
    "scatternd": ({"x": "a,b", "i": "index 1,1", "u": "1,b"}, "Z = ScatterND (x, i, u)"),
    "scatterel": (
        {"x": "a,b", "i": "index a,1", "u": "a,1"},
        "Z = ScatterElements <axis=1> (x, i, u)",
    ),
    "scatterel_neg": (
        {"x": "a,b", "i": "index a,1", "u": "a,1"},
        "two = Constant <value_int=2> () i2 = Sub (i, two) Z = ScatterElements <axis=1> (x, i2, u)",
    ),
    "nonzero": ({"x": "a,b,c"}, "Z = NonZero (x)"),
    "where": (
        {"x": "a,b"},
        "z = Constant <value_float=0.0> () g = Greater (x, z) n = Neg (x) Z = Where (g, x, n)",
    ),
    "where_b": ({"x": "a,1", "y": "b"}, "g = Greater (x, y) Z = Where (g, x, y)"),
    "onehot": (
        {"i": "index k,2", "d": "size"},
        "v = Constant <value_floats=[0.5,2.0]> () Z = OneHot <axis=1> (i, d, v)",
    ),
    "eyelike": ({"x": "a,b"}, "Z = EyeLike <k=1> (x)"),
    "trilu": ({"x": "a,b"}, "Z = Trilu (x)"),
    "tril": ({"x": "a,b"}, "k = Constant <value_int=-1> () Z = Trilu <upper=0> (x, k)"),
    "trilu_dyn": ({"x": "a,b", "k": "diagonal"}, "Z = Trilu (x, k)"),
    "range": (
        {"n": "size"},
        "z = Constant <value_int=0> () st = Constant <value_int=2> () Z = Range (z, n, st)",
    ),
    "matmul": ({"x": "n,a,b", "y": "b,c"}, "Z = MatMul (x, y)"),
    "matmul_v": ({"x": "n,a,b", "y": "b"}, "Z = MatMul (x, y)"),
    "matmul_vv": ({"x": "b", "y": "b"}, "Z = MatMul (x, y)"),
    "matmul_vm": ({"x": "b", "y": "n,b,c"}, "Z = MatMul (x, y)"),
    "matmul_bc": ({"x": "n,1,a,b", "y": "m,b,c"}, "Z = MatMul (x, y)"),
    "gemm": (
        {"x": "b,a", "y": "b,c", "z": "c"},
        "Z = Gemm <alpha=0.5, beta=2.0, transA=1> (x, y, z)",
    ),
    "gemm_t": ({"x": "a,b", "y": "c,b"}, "Z = Gemm <transB=1> (x, y)"),
    "einsum": ({"x": "n,a,b", "y": "n,b,c"}, 'Z = Einsum <equation="bij, bjk->bik"> (x, y)'),
    "einsum2": ({"x": "a,b", "y": "c,b"}, 'Z = Einsum <equation="ij, kj->ik"> (x, y)'),
    "einsum3": ({"x": "n,a,b"}, 'Z = Einsum <equation="...ij->...ji"> (x)'),
    "einsum_tr": ({"x": "a,a"}, 'Z = Einsum <equation="ii->i"> (x)'),
    "lstm": (
        {"x": "a,n,3", "w": "1,8,3", "r": "1,8,2"},
        "Z, h, c = LSTM <hidden_size=2> (x, w, r)",
    ),
    "lstm_bi": (
        {"x": "a,n,3", "w": "2,8,3", "r": "2,8,2"},
        'Z, h, c = LSTM <hidden_size=2, direction="bidirectional"> (x, w, r)',
    ),
    "lstm_lens": (
        {"x": "4,2,3", "w": "1,8,3", "r": "1,8,2", "l": "length 2"},
        "Z, h, c = LSTM <hidden_size=2> (x, w, r,, l)",
    ),
    "lstm_h": (
        {"x": "a,n,3", "w": "1,8,3", "r": "1,8,2", "bb": "1,16", "h0": "1,n,2", "c0": "1,n,2"},
        'y, Z, c = LSTM <hidden_size=2, direction="reverse"> (x, w, r, bb,, h0, c0)',
    ),
    "gru": ({"x": "a,n,3", "w": "1,6,3", "r": "1,6,2"}, "Z, h = GRU <hidden_size=2> (x, w, r)"),
    "gru_lbr": (
        {"x": "a,n,3", "w": "2,6,3", "r": "2,6,2", "bb": "2,12"},
        (
            'Z, h = GRU <hidden_size=2, linear_before_reset=1, direction="bidirectional"> '
            "(x, w, r, bb)"
        ),
    ),
    "rnn": ({"x": "a,n,3", "w": "1,2,3", "r": "1,2,2"}, "y, Z = RNN <hidden_size=2> (x, w, r)"),
    "layernorm": ({"x": "a,b,4", "s": "4"}, "Z = LayerNormalization <axis=-1> (x, s)"),
    "layernorm2": (
        {"x": "a,3,4", "s": "3,4", "bb": "3,4"},
        "Z = LayerNormalization <axis=1> (x, s, bb)",
    ),
    "lpnorm": ({"x": "a,b,c"}, "Z = LpNormalization <axis=1, p=1> (x)"),
    "unique": ({"x": "few a"}, "u, q, q2, q3 = Unique (x) Z = Neg (u)"),
    "unique_cnt": ({"x": "few a"}, "u, q, q2, Z = Unique (x)"),
    "unique_ax": ({"x": "few a,2"}, "Z, q, q2, q3 = Unique <axis=0> (x)"),
    "compress": (
        {"x": "a,b"},
        (
            "z = Constant <value_float=0.0> () f = ReduceMax <axes=[1], keepdims=0> (x) g = "
            "Greater (f, z) Z = Compress <axis=0> (x, g)"
        ),
    ),
    "bitshift": ({"x": "uint8 a,b", "y": "shift b"}, 'Z = BitShift <direction="LEFT"> (x, y)'),
    "mod": ({"x": "int64 a,b", "y": "divisor b"}, "Z = Mod (x, y)"),
    "fmod": ({"x": "int64 a,b", "y": "divisor b"}, "Z = Mod <fmod=1> (x, y)"),
    "fmodf": ({"x": "a,b", "y": "float divisor b"}, "Z = Mod <fmod=1> (x, y)"),
    "divi": ({"x": "int64 a,b", "y": "divisor b"}, "Z = Div (x, y)"),
    "divi32": (
        {"x": "int64 a,b", "y": "divisor b"},
        "xx = Cast <to=6> (x) yy = Cast <to=6> (y) Z = Div (xx, yy)",
    ),
    "powi": ({"x": "int64 a,b"}, "two = Constant <value_int=2> () Z = Pow (x, two)"),
    "maxmin": ({"x": "a,b", "y": "b"}, "m = Max (x, y, x) n = Min (x, y) Z = Sub (m, n)"),
    "clip_dyn": ({"x": "a,b", "lo": "low", "hi": "high"}, "Z = Clip (x, lo, hi)"),
    "cast_i": ({"x": "a,b"}, "Z = Cast <to=6> (x)"),
    "cast_b": ({"x": "a,b"}, "Z = Cast <to=9> (x)"),
    "cast_u8": ({"x": "a,b"}, "y = Abs (x) Z = Cast <to=2> (y)"),
    "cast_f64": ({"x": "a,b"}, "y = Cast <to=11> (x) Z = Exp (y)"),
    "Exp": ({"x": "a,b"}, "Z = Exp (x)"),
    "Tanh": ({"x": "a,b"}, "Z = Tanh (x)"),
    "Sigmoid": ({"x": "a,b"}, "Z = Sigmoid (x)"),
    "Relu": ({"x": "a,b"}, "Z = Relu (x)"),
    "Erf": ({"x": "a,b"}, "Z = Erf (x)"),
    "Floor": ({"x": "a,b"}, "Z = Floor (x)"),
    "Ceil": ({"x": "a,b"}, "Z = Ceil (x)"),
    "Round": ({"x": "a,b"}, "Z = Round (x)"),
    "Sign": ({"x": "a,b"}, "Z = Sign (x)"),
    "Sin": ({"x": "a,b"}, "Z = Sin (x)"),
    "Cos": ({"x": "a,b"}, "Z = Cos (x)"),
    "Tan": ({"x": "a,b"}, "Z = Tan (x)"),
    "Atan": ({"x": "a,b"}, "Z = Atan (x)"),
    "Sinh": ({"x": "a,b"}, "Z = Sinh (x)"),
    "Cosh": ({"x": "a,b"}, "Z = Cosh (x)"),
    "Asinh": ({"x": "a,b"}, "Z = Asinh (x)"),
    "Softplus": ({"x": "a,b"}, "Z = Softplus (x)"),
    "Softsign": ({"x": "a,b"}, "Z = Softsign (x)"),
    "Elu": ({"x": "a,b"}, "Z = Elu (x)"),
    "Selu": ({"x": "a,b"}, "Z = Selu (x)"),
    "Celu": ({"x": "a,b"}, "Z = Celu (x)"),
    "LeakyRelu": ({"x": "a,b"}, "Z = LeakyRelu (x)"),
    "HardSigmoid": ({"x": "a,b"}, "Z = HardSigmoid (x)"),
    "HardSwish": ({"x": "a,b"}, "Z = HardSwish (x)"),
    "ThresholdedRelu": ({"x": "a,b"}, "Z = ThresholdedRelu (x)"),
    "Reciprocal": ({"x": "a,b"}, "Z = Reciprocal (x)"),
    "IsNaN": ({"x": "a,b"}, "Z = IsNaN (x)"),
    "prelu": ({"x": "a,b,c", "s": "b,1"}, "Z = PRelu (x, s)"),
    "and": (
        {"x": "a,b", "y": "b"},
        (
            "g = Greater (x, y) h = Less (x, y) Z1 = Or (g, h) Z2 = Xor(Z1, g) Z3 = Not(Z2) "
            "Z = And(Z3, Z1)"
        ),
    ),
    "equal": (
        {"x": "a,b", "y": "b"},
        "xi = Cast <to=7> (x) yi = Cast <to=7> (y) Z = Equal (xi, yi)",
    ),
    "dft": ({"x": "n,a,2"}, "Z = DFT <axis=1> (x)"),
    "nms": (
        {"b0": "boxes a,4", "sc": "scores 1,1,a"},
        (
            "zz = Constant <value_ints=[0]> () bx = Unsqueeze (b0, zz) mo = Constant "
            "<value_ints=[3]> () io = Constant <value_floats=[0.5]> () st = Constant "
            "<value_floats=[0.0]> () Z = NonMaxSuppression (bx, sc, mo, io, st)"
        ),
    ),
    "dql": ({"x": "int8 a,3", "s": "step 3"}, "Z = DequantizeLinear <axis=1> (x, s)"),
    "ql": ({"x": "a,3", "s": "step"}, "Z = QuantizeLinear (x, s)"),
    "dynql": ({"x": "a,b"}, "Z, s, zp = DynamicQuantizeLinear (x)"),
    "matmulint": (
        {"x0": "uint8 a,b", "y": "int8 b,c"},
        "xx = Cast <to=2> (x0) Z = MatMulInteger (xx, y)",
    ),
    "seq": (
        {"x": "a,b"},
        "s = SequenceConstruct (x, x) z1 = ConcatFromSequence <axis=0> (s) Z = Neg (z1)",
    ),
    "splitseq": (
        {"x": "2,b"},
        (
            "s = SplitToSequence <axis=0, keepdims=1> (x) z = Constant <value_int=0> () Z = "
            "SequenceAt (s, z)"
        ),
    ),
    "lastaxis_split": ({"x": "a,5", "sp": "parts 2"}, "Z, q = Split <axis=-1> (x, sp)"),
    "split_var": (
        {"x": "4,b"},
        "sp = Constant <value_ints=[1,3]> () q, Z = Split <axis=0> (x, sp)",
    ),
    "softmax_ce": ({"x": "n,3", "t": "few n"}, "Z = SoftmaxCrossEntropyLoss (x, t)"),
    "nll": (
        {"x": "n,3", "t": "few n"},
        'lx = LogSoftmax (x) Z = NegativeLogLikelihoodLoss <reduction="none"> (lx, t)',
    ),
    "lrn_bias": ({"x": "1,2,a,b"}, "Z = LRN <size=3, alpha=0.5, bias=1.5> (x)"),
    "unsorted_unique": ({"x": "few a,b"}, "u, f, g, h = Unique <sorted=0> (x) Z = Neg (u)"),
    "unsorted_counts": ({"x": "few a,b"}, "u, f, g, Z = Unique <sorted=0> (x)"),
    # The updates are equal, because the order of updates of one element is not defined.
    "scatter_one_index": (
        {"x": "a", "y": "b"},
        (
            "s = Shape (y) i = ConstantOfShape <value = int64[1] {1}> (s) "
            "u = ConstantOfShape <value = float[1] {9}> (s) "
            "Z = ScatterElements <axis=0> (x, i, u)"
        ),
    ),
    "maxpool_same_idx": (
        {"x": "1,2,a,b"},
        'Y, Zi = MaxPool <auto_pad="SAME_UPPER", kernel_shape=[3,2]> (x) Z = Cast <to=1> (Zi)',
    ),
}
