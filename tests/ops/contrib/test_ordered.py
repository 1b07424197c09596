"""Operations on matrices in the memory orders of cublasLt.

ONNX Runtime has no CPU kernels for them. The expected results are computed element by element from
the definitions: those of NVIDIA for the orders (cublasLtOrder_t), and those of ONNX Runtime, with
the formulas of its tests `qordered_*_test.cc`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from tests.ops.contrib.against_runtime import Case, agree, model_of

F32, F16, I8 = np.float32, np.float16, np.int8
COL, ROW, COL32, COL4_4R2_8C, COL32_2R_4R4 = ORDERS = range(5)

Array = np.ndarray[Any, np.dtype[Any]]


def offset(order: int, row: int, column: int, rows: int, columns: int) -> int:
    """The place of an element of a matrix in memory."""
    if order == ROW:
        return row * columns + column
    if order == COL:
        return column * rows + row
    if order == COL32:
        return column // 32 * 32 * rows + row * 32 + column % 32
    if order == COL4_4R2_8C:
        tile = column // 32 * (rows // 8) + row // 8
        inner = column % 32 // 4 * 16 + row % 8 // 2 * 4 + column % 4
        return tile * 256 + row % 2 * 128 + inner
    tile = column // 32 * (rows // 32) + row // 32
    within = row % 32
    inner = ((within % 8 // 2 * 4 + within // 8) * 2 + within % 2) * 32 + column % 32
    return tile * 1024 + inner


def stored(x: Array, order: int) -> Array:
    """Row-major matrices in another order; the shape stays."""
    rows, columns = (1, *x.shape)[-2:]
    found = np.empty((x.size // (rows * columns), rows * columns), x.dtype)
    for row in range(rows):
        for column in range(columns):
            place = offset(order, row, column, rows, columns)
            found[:, place] = x.reshape(-1, rows, columns)[:, row, column]
    return found.reshape(x.shape)


def stored_weights(x: Array, order: int) -> Array:
    """Weights: in tiles, they are transposed before they are stored."""
    if order == COL:
        return stored(x, COL)
    return stored(np.ascontiguousarray(x.swapaxes(-1, -2)), order).reshape(x.shape)


def coded(x: Array) -> Array:
    """Round to the nearest code."""
    found: Array = np.rint(np.clip(x, -128, 127)).astype(I8)
    return found


def codes(seed: int, *shape: int) -> Array:
    """Codes of all values."""
    return np.random.default_rng(seed).integers(-128, 128, shape, I8)


def converted(case: Case, folder: Path) -> None:
    """Convert the model of a case to IR."""
    file = folder / "model.onnx"
    file.write_bytes(model_of(case).SerializeToString())
    irloop.convert(irloop.read_model(file))


def scalar(number: float) -> Array:
    """A scale."""
    return np.array(number, F32)


#: Orders and shapes; a vector has one row, which is not a whole tile of the last two orders.
STORED = [
    *((order, shape) for order in ORDERS for shape in [(64, 96), (3, 32, 64), (2, 2, 32, 32)]),
    *((order, (64,)) for order in (COL, ROW, COL32)),
]


@pytest.mark.parametrize(("order", "shape"), STORED, ids=str)
@pytest.mark.parametrize("dtype", [F32, F16])
def test_quantize_with_order(
    dtype: Any, order: int, shape: tuple[int, ...], engines: Engines, tmp_path: Path
) -> None:
    x = (codes(1, *shape) * 1.5).astype(dtype)
    case = Case("QuantizeWithOrder", [x, scalar(2)], order_input=ROW, order_output=order)
    agree(case, engines, tmp_path, [stored(coded(x.astype(F32) / 2), order)])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("to", "dtype"), [(1, F32), (10, F16)])
def test_dequantize_with_order(
    to: int, dtype: Any, order: int, engines: Engines, tmp_path: Path
) -> None:
    x = codes(2, 3, 32, 64)
    inputs = [stored(x, order), scalar(0.25)]
    case = Case("DequantizeWithOrder", inputs, order_input=order, order_output=ROW, to=to)
    agree(case, engines, tmp_path, [(x * F32(0.25)).astype(dtype)])


@pytest.mark.parametrize("after", ORDERS)
@pytest.mark.parametrize("before", [COL, COL4_4R2_8C, COL32_2R_4R4])
def test_one_order_becomes_another(before: int, after: int, tmp_path: Path) -> None:
    x = codes(3, 2, 64, 64)
    inputs = [stored(x.astype(F32), before), scalar(1)]
    case = Case("QuantizeWithOrder", inputs, order_input=before, order_output=after)
    file = tmp_path / "model.onnx"
    file.write_bytes(model_of(case).SerializeToString())
    (found,) = Session(irloop.read_model(file)).run(inputs).values()
    np.testing.assert_array_equal(found, stored(x, after))


@pytest.mark.parametrize(
    ("order", "rows", "columns"),
    [(COL32, 4, 33), (COL4_4R2_8C, 12, 32), (COL32_2R_4R4, 40, 32), (COL4_4R2_8C, 8, 48)],
)
def test_matrices_of_parts_of_tiles_are_refused(
    order: int, rows: int, columns: int, tmp_path: Path
) -> None:
    inputs = [np.zeros((rows, columns), F32), scalar(1)]
    case = Case("QuantizeWithOrder", inputs, order_input=ROW, order_output=order)
    with pytest.raises(UnsupportedError, match=r"needs a multiple of (8|32)"):
        converted(case, tmp_path)


#: The orders of a and y, and of b.
PRODUCTS = [(ROW, COL), (COL32, COL4_4R2_8C), (COL32, COL32_2R_4R4)]

#: What is added to a product. A bias is defined for row-major matrices only.
ADDED = [
    *((orders, extra) for orders in PRODUCTS for extra in ["", "c"]),
    *((PRODUCTS[0], extra) for extra in ["bias", "bias, c"]),
]


@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize(("orders", "extra"), ADDED, ids=str)
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_products(
    batch: tuple[int, ...],
    orders: tuple[int, int],
    extra: str,
    by_column: bool,
    engines: Engines,
    tmp_path: Path,
) -> None:
    rows, inner, columns = 16, 64, 96
    a, b = codes(4, *batch, rows, inner), codes(5, inner, columns)
    scales = [1 / 32, 1 / 64, 2.0, 4.0]
    b_scale = scalar(scales[1])
    if by_column:
        b_scale = np.array([1 / 64, 1 / 32, 1 / 128] * (columns // 3), F32)
    bias = np.arange(columns, dtype=F32) / 4 - 12 if "bias" in extra else None
    c = codes(6, 1, rows, columns) if "c" in extra else None
    sums = a.astype(np.int32) @ b.astype(np.int32)
    expected = F32(scales[0]) * b_scale / F32(scales[2]) * sums.astype(F32)
    if bias is not None:
        expected = expected + bias / F32(scales[2])
    if c is not None:
        expected = expected + F32(scales[3] / scales[2]) * (c if batch else c[0]).astype(F32)
    inputs = [
        stored(a, orders[0]),
        scalar(scales[0]),
        stored_weights(b, orders[1]),
        b_scale,
        scalar(scales[2]),
        bias,
        None if c is None else stored(c, orders[0]),
        None if c is None else scalar(scales[3]),
    ]
    while inputs[-1] is None:
        inputs.pop()
    names = dict(zip(("order_A", "order_B", "order_Y"), (*orders, orders[0]), strict=True))
    case = Case("QOrderedMatMul", inputs, constants=(1, 2, 3, 4, 5), named=names)
    agree(case, engines, tmp_path, [stored(coded(expected), orders[0])])


@pytest.mark.parametrize("orders", [(ROW, ROW, ROW), (COL32, COL, COL32), (ROW, COL, COL32)])
def test_other_products_are_refused(orders: tuple[int, int, int], tmp_path: Path) -> None:
    names = dict(zip(("order_A", "order_B", "order_Y"), orders, strict=True))
    inputs = [codes(1, 32, 32), scalar(1), codes(2, 32, 32), scalar(1), scalar(1)]
    with pytest.raises(UnsupportedError, match=r"it multiplies|its result is in"):
        converted(Case("QOrderedMatMul", inputs, named=names), tmp_path)


def test_gelu(engines: Engines, tmp_path: Path) -> None:
    x = codes(7, 3, 11, 12)
    numbers = x.astype(F32) / 32
    erf = np.array([math.erf(number / math.sqrt(2)) for number in numbers.ravel()], F32)
    expected = coded(numbers * (0.5 * (1 + erf.reshape(x.shape))) * 128)
    inputs = [x, scalar(1 / 32), scalar(1 / 128)]
    case = Case("QOrderedGelu", inputs, order_X=COL32, order_Y=COL32)
    agree(case, engines, tmp_path, [expected])


#: The example of ONNX Runtime's test: codes, scales (f16 numbers), biases (f16 numbers), and the
#: result for the scales 1 and 1 / 64.
CODES = [
    *(-103, -24, -11, 125, 103, -117, 44, -109, 27, 122, 113, 0, -7, 26, 110, -34),
    *(28, -61, -107, -35, -54, 69, -3, -58, -119, 61, -19, -115, 35, 76, 16, 54),
]
GAMMA = [
    *(0.9536133, 0.9160156, 1.3310547, 1.0068359, 0.8095703, 1.0126953, 0.8876953, 1.4316406),
    *(1.0947266, 1.0498047, 0.7373047, 1.0615234, 1.015625, 1.0751953, 1.0068359, 1.0908203),
    *(1.2011719, 1.1962891, 0.91796875, 1.0947266, 1.3183594, 1.0185547, 1.0791016, 1.0273438),
    *(0.8364258, 0.94873047, 1.0292969, 1.09375, 1.0371094, 1.1240234, 1.4384766, 1.0068359),
]
BETA = [
    *(0.01411438, 0.18273926, -0.12414551, 0.09887695, -0.1114502, -0.08227539, -0.04598999),
    *(-0.11322021, 0.12731934, -0.06591797, -0.00662994, 0.04962158, -0.04281616, 0.07476807),
    *(0.23010254, 0.1036377, 0.10852051, 0.10919189, -0.02905273, -0.0512085, -0.1194458),
    *(0.02661133, 0.05789185, -0.05239868, 0.17907715, -0.01765442, -0.12255859, -0.09729004),
    *(0.06591797, 0.02258301, -0.01844788, -0.11999512),
]
NORMALIZED = [
    *(-84, -8, -22, 114, 64, -108, 30, -128, 33, 105, 71, 2, -10, 28, 109, -26),
    *(35, -57, -87, -37, -70, 61, 0, -56, -75, 48, -26, -115, 35, 74, 17, 38),
]


@pytest.mark.parametrize("order", [ROW, COL, COL32])
@pytest.mark.parametrize("dtype", [F32, F16])
@pytest.mark.parametrize("opset", [13, 17])
def test_layer_normalization(
    opset: int, dtype: Any, order: int, engines: Engines, tmp_path: Path
) -> None:
    x, expected = (np.tile(np.array(row, I8), (2, 4, 1)) for row in (CODES, NORMALIZED))
    gamma, beta = np.array(GAMMA, dtype), np.array(BETA, dtype)
    inputs = [stored(x, order), scalar(1), gamma, beta, scalar(1 / 64)]
    case = Case(
        "QOrderedLayerNormalization",
        inputs,
        constants=(1, 2, 3, 4),
        opset=opset,
        order_X=order,
        order_Y=order,
    )
    agree(case, engines, tmp_path, [stored(expected, order)])


def test_layer_normalization_without_bias(engines: Engines, tmp_path: Path) -> None:
    x = np.array([CODES], I8)
    numbers = x.astype(np.float64)
    expected = (numbers - numbers.mean()) / math.sqrt(numbers.var() + 1e-5) * np.array(GAMMA)
    inputs = [x[None], scalar(1), np.array(GAMMA, F32), None, scalar(1 / 64)]
    case = Case("QOrderedLayerNormalization", inputs)
    agree(case, engines, tmp_path, [coded(expected * 64)[None]])


def attention(heads: int, mask: Array | None, orders: tuple[int, int]) -> tuple[Case, Array]:
    """A case of QOrderedAttention, and its result by the formulas of ONNX Runtime's kernel."""
    batch, positions, size = 2, 16, 64
    hidden = heads * 32
    x = codes(8, batch, positions, size)
    gemm = [1 / 64, 1 / 32, 1 / 64]
    matrices = [codes(9 + at, size, hidden) for at in range(3)]
    steps = np.array([1 / 64, 1 / 128] * (hidden // 2), F32)
    factors = [steps, scalar(1 / 64), steps]
    biases = [np.arange(hidden, dtype=F32) / 512 - at / 8 for at in range(3)]
    parts = []
    for matrix, factor, bias, scale in zip(matrices, factors, biases, gemm, strict=True):
        sums = (x.astype(np.int32) @ matrix.astype(np.int32)).astype(F32)
        found = coded(sums * (factor * F32(1 / 1024 / scale)) + bias / F32(scale))
        parts.append(found.reshape(batch, positions, heads, 32).transpose(0, 2, 1, 3))
    query, key, value = (part.astype(np.int32) for part in parts)
    scores_scale, softmax_scale, y_scale = 1 / 16, 1 / 128, 1 / 64
    sums = (query @ key.swapaxes(2, 3)).astype(F32)
    scores = coded(sums * F32(gemm[0] * gemm[1] / scores_scale)).astype(np.int32)
    base = math.exp(scores_scale / math.sqrt(32))
    powers = (base ** (scores - scores.max(-1, keepdims=True)).astype(np.float64)).astype(F32)
    if mask is not None:
        powers = np.where(mask, powers, F32(0))
    shares = coded(powers / (powers.sum(-1, keepdims=True) * F32(softmax_scale)))
    sums = (shares.astype(np.int32) @ value).astype(F32)
    found = coded(sums * F32(softmax_scale * gemm[2] / y_scale))
    expected = found.transpose(0, 2, 1, 3).reshape(batch, positions, hidden)
    inputs: list[Array | None] = [
        stored(x, orders[0]),
        scalar(1 / 1024),
        *map(scalar, gemm),
        *(stored_weights(matrix, orders[1]) for matrix in matrices),
        *factors,
        *biases,
        *map(scalar, (scores_scale, softmax_scale, y_scale)),
    ]
    case = Case(
        "QOrderedAttention",
        inputs,
        constants=range(1, 17),
        num_heads=heads,
        qkv_hidden_sizes=[hidden] * 3,
        order_input=orders[0],
        order_weight=orders[1],
        order_output=orders[0],
    )
    return case, stored(expected, orders[0])


@pytest.mark.parametrize("orders", PRODUCTS, ids=str)
@pytest.mark.parametrize("mask", ["", "keys", "lengths", "starts", "queries"])
def test_attention(mask: str, orders: tuple[int, int], engines: Engines, tmp_path: Path) -> None:
    lengths, starts = np.array([11, 16], np.int32), np.array([0, 3], np.int32)
    places = np.arange(16)
    keys = places < lengths[:, None]
    given = {
        "keys": (keys, keys[:, None, None]),
        "lengths": (lengths, keys[:, None, None]),
        "starts": (
            np.concatenate([lengths, starts]),
            (keys & (places >= starts[:, None]))[:, None, None],
        ),
        "queries": (
            np.tile(places[:, None] >= places, (2, 1, 1)),
            (places[:, None] >= places)[None, None],
        ),
    }
    array, seen = given.get(mask, (None, None))
    case, expected = attention(2, seen, orders)
    assert len(np.unique(expected)) > 50
    if array is not None:
        case.inputs.append(array.astype(np.int32))
    agree(case, engines, tmp_path, [expected])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"unidirectional": 1}, "ignores its unidirectional"),
        ({"past": np.zeros((2, 2, 2, 3, 32), I8)}, "ignores its past"),
        ({"without": 14}, "no scale of the scores"),
    ],
    ids=["unidirectional", "past", "scale"],
)
def test_attention_that_the_kernel_computes_otherwise_is_refused(
    given: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    case, _ = attention(2, None, (ROW, COL))
    case.attributes = {**case.attributes, "unidirectional": given.get("unidirectional", 0)}
    if "without" in given:
        case.inputs[given["without"]] = None
    case.inputs += [None, given.get("past")] if "past" in given else []
    with pytest.raises(UnsupportedError, match=reason):
        converted(case, tmp_path)
