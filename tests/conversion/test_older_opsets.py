"""Operations of OpenVINO in ONNX opsets that lack their counterpart, in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irloop
from irloop.conversion import pipelines
from irloop.dialects.openvino import (
    comparison,
    gather,
    matmul,
    padding,
    pooling,
    reduction,
    sampling,
    search,
    shape,
    signal,
    slicing,
)
from irloop.errors import UnsupportedError
from irloop.formats.onnx import writer
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Value
from irloop.graph.types import ElementType, Shape, TensorType, element_type_of

onnxruntime = pytest.importorskip("onnxruntime")
checker = pytest.importorskip("onnx").checker

Array = np.ndarray[Any, np.dtype[Any]]
Rule = Callable[..., Value | Sequence[Value]]

F32 = ElementType.F32


def model_of(rule: Rule, arrays: Sequence[Array]) -> Model:
    """A model of the OpenVINO dialect: `rule` builds it from a builder and one input for each
    array.
    """
    graph = Graph("model")
    build = Builder(graph)
    inputs = [
        build.parameter(f"in{at}", TensorType(element_type_of(array.dtype), Shape.of(*array.shape)))
        for at, array in enumerate(arrays)
    ]
    made = rule(build, *inputs)
    for at, value in enumerate([made] if isinstance(made, Value) else made):
        build.result(value, f"out{at}")
    return Model(graph, "openvino", 10, {}, {}, None)


def run(rule: Rule, opset: int, *arrays: Array) -> list[Any]:
    """The outputs of the exported model in ONNX Runtime."""
    model = model_of(rule, arrays)
    proto = writer.to_proto_model(pipelines.to_onnx(model, opset=opset)[0])
    checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = {item.name: array for item, array in zip(session.get_inputs(), arrays, strict=True)}
    return list(session.run(None, given))


DATA = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7.5

REDUCTIONS: dict[str, tuple[type[Any], Callable[..., Any]]] = {
    "sum": (reduction.ReduceSum, np.sum),
    "mean": (reduction.ReduceMean, np.mean),
    "prod": (reduction.ReduceProd, np.prod),
    "max": (reduction.ReduceMax, np.max),
    "l2": (
        reduction.ReduceL2,
        lambda x, axis, keepdims: np.sqrt((x * x).sum(axis, keepdims=keepdims)),
    ),
}


@pytest.mark.parametrize("opset", [11, 13, 17, 18])
@pytest.mark.parametrize("axes", [[1], [0, -1], []])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions_over_computed_axes(kind: str, keep: bool, axes: list[int], opset: int) -> None:
    op, numpy_function = REDUCTIONS[kind]
    listed = np.array(axes, np.int64)
    (found,) = run(lambda b, x, a: b(op(keep_dims=keep), x, a), opset, DATA, listed)
    expected = numpy_function(DATA, axis=tuple(axes), keepdims=keep)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("opset", [11, 13])
def test_the_sum_over_an_empty_axis_is_zero(opset: int) -> None:
    empty = np.zeros((2, 0, 4), np.float32)
    rule = lambda b, x, a: b(reduction.ReduceSum(keep_dims=True), x, a)  # noqa: E731
    (found,) = run(rule, opset, empty, np.array([1]))
    np.testing.assert_array_equal(found, np.zeros((2, 1, 4)))


@pytest.mark.parametrize("opset", [11, 12])
def test_computed_axes_of_size_one(opset: int) -> None:
    axes = np.array([-1, 1])
    (found,) = run(lambda b, x, a: b(shape.Unsqueeze(), x, a), opset, DATA, axes)
    assert found.shape == (2, 1, 3, 4, 1)
    (back,) = run(lambda b, x, a: b(shape.Squeeze(), x, a), opset, found, axes)
    np.testing.assert_array_equal(back, DATA)


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("lengths", [[1, 2, 1], [2, -1, 1]])
def test_variadic_split_with_computed_lengths(lengths: list[int], opset: int) -> None:
    def rule(b: Builder, x: Value, sizes: Value) -> Sequence[Value]:
        return b.emit(slicing.VariadicSplit(), x, b.i64(2), sizes, n_outputs=3).outputs

    found = run(rule, opset, DATA, np.array(lengths))
    at = np.cumsum([lengths[0], 4 - lengths[0] - lengths[2]])
    for part, expected in zip(found, np.split(DATA, at, axis=2), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("opset", [11, 12])
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,bjk", [(5, 2, 3), (5, 3, 4)]),
        ("...ij,...kj->...ik", [(5, 2, 3), (5, 4, 3)]),
        ("bii->bi", [(2, 3, 3)]),
        ("ii->", [(3, 3)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("ij->j", [(2, 3)]),
    ],
)
def test_einstein_sums(equation: str, shapes: list[tuple[int, ...]], opset: int) -> None:
    random = np.random.default_rng(7)
    arrays = [random.normal(size=dims).astype(np.float32) for dims in shapes]
    (found,) = run(lambda b, *x: b(matmul.Einsum(equation), *x), opset, *arrays)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("size", [None, 3, 7])
def test_fourier_transforms(size: int | None, opset: int) -> None:
    random = np.random.default_rng(3)
    data = random.normal(size=(2, 5, 4, 2)).astype(np.float32)

    def rule(b: Builder, x: Value) -> Sequence[Value]:
        sizes = [] if size is None else [b.i64([size])]
        forward = b(signal.DFT(), x, b.i64([1]), *sizes)
        back = b(signal.IDFT(), x, b.i64([1]), *sizes)
        real = b(gather.Gather8(), x, b.i64(0), b.i64(3))
        return forward, back, b(signal.RDFT(), real, b.i64([1]), *sizes)

    found = [item[..., 0] + 1j * item[..., 1] for item in run(rule, opset, data)]
    numbers = data[..., 0] + 1j * data[..., 1]
    expected = [
        np.fft.fft(numbers, size, axis=1),
        np.fft.ifft(numbers, size, axis=1),
        np.fft.rfft(data[..., 0], size, axis=1),
    ]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_grid_sample_before_opset_16(mode: str, padding_mode: str) -> None:
    """The expected values are those of ONNX Runtime's GridSample of opset 16."""
    random = np.random.default_rng(5)
    data = random.normal(size=(2, 3, 4, 5)).astype(np.float32)
    grid = random.uniform(-1.3, 1.3, (2, 3, 2, 2)).astype(np.float32)
    op = sampling.GridSample(True, mode, padding_mode)
    old, new = (run(lambda b, *x: b(op, *x), opset, data, grid)[0] for opset in (11, 16))
    np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("exclude", [True, False])
@pytest.mark.parametrize("rounding", ["floor", "ceil"])
def test_average_pool_with_dilations_before_opset_19(exclude: bool, rounding: str) -> None:
    """The expected values are those of ONNX Runtime's AveragePool of opset 19."""
    data = np.random.default_rng(1).normal(size=(2, 3, 9, 8)).astype(np.float32)
    op = pooling.AvgPool16(
        kernel_size=(2, 3),
        strides=(2, 2),
        dilations=(2, 2),
        pads_begin=(1, 2),
        pads_end=(1, 1),
        exclude_pad=exclude,
        rounding_type=rounding,
    )
    old, new = (run(lambda b, x: b(op, x), opset, data)[0] for opset in (11, 19))
    np.testing.assert_allclose(old, new, rtol=1e-5, atol=1e-6)


def test_topk_of_u64_values_beyond_i64() -> None:
    data = np.array([[1, 2**63 + 5, 2**64 - 1, 2**62]], np.uint64)

    def rule(b: Builder, x: Value) -> Sequence[Value]:
        op = search.TopK11(axis=1, mode="max", sort="value", index_element_type=ElementType.I64)
        return b.emit(op, x, b.i64(3), n_outputs=2).outputs

    values, places = run(rule, 17, data)
    np.testing.assert_array_equal(values, [[2**64 - 1, 2**63 + 5, 2**62]])
    np.testing.assert_array_equal(places, [[2, 1, 3]])
    (joined,) = run(
        lambda b, x, y: b(comparison.BitwiseAnd(), x, y), 17, data, data[:, ::-1].copy()
    )
    np.testing.assert_array_equal(joined, data & data[:, ::-1])


def test_4_bit_integers_are_cast_around_moves() -> None:
    """ONNX's Gather, Concat and Tile take no 4-bit integers."""
    numbers = np.array([-8, -1, 0, 7], np.int8)

    def rule(b: Builder, x: Value) -> Value:
        small = b(conversions_to(ElementType.I4), x)
        read = b(gather.Gather8(), small, b.i64([3, 0]), b.i64(0))
        joined = b(slicing.Concat(0), read, small)
        return b(conversions_to(F32), b(shape.Tile(), joined, b.i64([2])))

    (found,) = run(rule, 21, numbers)
    np.testing.assert_array_equal(found, np.tile([7, -8, -8, -1, 0, 7], 2))


def test_bf16_is_padded_in_another_type() -> None:
    """ONNX Runtime has no Pad of bf16."""
    data = np.array([1.0, -2.5], np.float32)

    def rule(b: Builder, x: Value) -> Value:
        small = b(conversions_to(ElementType.BF16), x)
        fill = b.constant(0.5, ElementType.BF16)
        return b(
            conversions_to(F32), b(padding.Pad("constant"), small, b.i64([1]), b.i64([0]), fill)
        )

    (found,) = run(rule, 17, data)
    np.testing.assert_array_equal(found, [0.5, 1.0, -2.5])


def test_an_input_of_a_type_that_the_opset_lacks_is_refused() -> None:
    model = model_of(
        lambda b, x: b(shape.Reshape(), x, b.i64([4])), [np.zeros(4, ml_dtypes.bfloat16)]
    )
    with pytest.raises(UnsupportedError) as caught:
        pipelines.to_onnx(model, opset=11)
    assert "is of type bf16, which ONNX has since 13" in str(caught.value.diagnostics[0].message)


def test_swish_has_no_kernel_in_onnx_runtime() -> None:
    from irloop.dialects.openvino import activation

    (found,) = run(lambda b, x: b(activation.Swish(), x), 24, DATA)
    np.testing.assert_allclose(found, DATA / (1 + np.exp(-DATA)), rtol=1e-5)


def conversions_to(element: ElementType) -> Any:
    """Returns a rule that converts to an element type."""
    from irloop.dialects.openvino.convert import Convert

    return Convert(element)


@pytest.mark.parametrize("type", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (comparison.BitwiseAnd, np.bitwise_and),
        (comparison.BitwiseOr, np.bitwise_or),
        (comparison.BitwiseXor, np.bitwise_xor),
    ],
)
def test_bits_of_large_and_negative_integers(
    op: type[Any], expected: Callable[..., Array], type: type[Any], tmp_path: Path
) -> None:
    """Both engines compute what opset 17 expresses by arithmetic; OpenVINO gets the ONNX model.

    OpenVINO computes i64 in 32 bits, which the numbers do not exceed.
    """
    limits = np.iinfo(np.int32 if type is np.int64 else type)
    bounds = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 100, 2**15 - 1, 2**16]
    if limits.min < 0:
        bounds += [-1, -2, -100, -(2**15), -(2**16) - 1]
    fitting = [number for number in bounds if limits.min <= number <= limits.max]
    left, right = np.array([*product(fitting, fitting)], type).T.copy()
    wanted = expected(left, right)
    (found,) = run(lambda b, x, y: b(op(), x, y), 17, left, right)
    np.testing.assert_array_equal(found, wanted)

    openvino = pytest.importorskip("openvino")
    old, _ = pipelines.to_onnx(model_of(lambda b, x, y: b(op(), x, y), [left, right]), opset=17)
    irloop.save_model(irloop.convert(old)[0], tmp_path / "model.xml")
    compiled = openvino.Core().compile_model(tmp_path / "model.xml", "CPU")
    np.testing.assert_array_equal(compiled([left, right])[0], wanted)
