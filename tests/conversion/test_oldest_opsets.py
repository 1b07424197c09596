"""IR in ONNX opsets 8 to 10: Scan with a batch axis, Loops with a state, older operations.

Everything is checked by onnx.checker with full_check and run by ONNX Runtime.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.conversion.pipelines import to_onnx
from irloop.dialects.openvino import (
    comparison,
    generate,
    matmul,
    padding,
    pooling,
    search,
    shape,
    slicing,
)
from irloop.dialects.openvino.control_flow import If, TensorIterator
from irloop.dialects.openvino.elementwise import Add, Maximum
from irloop.errors import UnsupportedError, UsageError
from irloop.formats.onnx import writer
from irloop.graph.builder import Builder
from irloop.graph.loops import Concatenated, LastValue, PortMap, Sliced
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.types import ElementType, Shape, TensorType, element_type_of

onnxruntime = pytest.importorskip("onnxruntime")

from benchmarks.engines import Engines, check_onnx  # noqa: E402
from tests.conversion.nests import NAMES, arrays, expected, same  # noqa: E402
from tests.conversion.test_nests_to_onnx import KINDS, model  # noqa: E402

F32, I64, BOOL = ElementType.F32, ElementType.I64, ElementType.BOOLEAN
Array = np.ndarray[Any, np.dtype[Any]]
LOOPS = [kind for kind in KINDS if kind != "branch"]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("opset", [8, 9])
@pytest.mark.parametrize("inner", LOOPS)
@pytest.mark.parametrize("outer", LOOPS)
def test_nested_loops(outer: str, inner: str, opset: int, engines: Engines, tmp_path: Path) -> None:
    built, names = model(outer, inner)
    names = tuple(name for name in NAMES if name in names)
    converted, _ = to_onnx(built, opset=opset)
    assert converted.opsets == {"": opset}
    path = tmp_path / "model.onnx"
    irloop.save_model(converted, path)
    check_onnx(path)
    found = engines.run_all("onnxruntime", path, arrays(names), tmp_path, names)
    assert same(found, expected(outer, inner))


def session_of(built: Model, opset: int) -> Any:
    """An ONNX Runtime session of the export of `built`."""
    proto = writer.to_proto_model(to_onnx(built, opset=opset)[0])
    onnx.checker.check_model(proto, full_check=True)
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def run(opset: int, rule: Callable[..., Value], *inputs: Array) -> Array:
    """The outputs of one operation in ONNX Runtime."""
    graph = Graph("model")
    build = Builder(graph)
    values = []
    for at, array in enumerate(inputs):
        type = TensorType(element_type_of(array.dtype), Shape.of(*array.shape))
        values.append(build.parameter(f"in{at}", type))
    build.result(rule(build, *values), "out")
    session = session_of(Model(graph, "openvino", 11), opset)
    given = {item.name: array for item, array in zip(session.get_inputs(), inputs, strict=True)}
    (found,) = session.run(None, given)
    return np.asarray(found)


RANGES = [
    (0, -1, 1, [[0], [1], [2], [3], [4], [5]]),
    (-1, 0, -1, [[5], [4], [3], [2], [1], [0]]),
    (1, -1, 1, [[1], [2], [3], [4], [5]]),
    (1, 4, 1, [[1], [2], [3]]),
    (-3, -1, 1, [[4], [5]]),
    (-1, 2, -1, [[5], [4], [3], [2]]),
    (0, -1, 2, [[0, 1], [2, 3], [4, 5]]),
    (-1, 0, -2, [[4, 5], [2, 3], [0, 1]]),
    (2, -1, 2, [[2, 3], [4, 5]]),
]


@pytest.mark.parametrize("opset", [8, 9])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("start", "end", "stride", "rows"), RANGES)
def test_ranges_of_slices(
    start: int, end: int, stride: int, rows: list[list[int]], axis: int, opset: int
) -> None:
    """The parts are concatenated forwards and backwards, on both axes."""
    part = abs(stride)
    dims = [6, 2] if axis == 0 else [2, 6]
    seen = [part, 2] if axis == 0 else [2, part]
    inner = Builder(Graph("body"))
    piece = inner.parameter("piece", TensorType(F32, Shape.of(*seen)))
    inner.result(inner(Add(), piece, piece), "sum")
    ports = PortMap(
        (Sliced(0, 0, axis, start, end, stride, part),),
        (
            Concatenated(0, 0, axis, part_size=part, stride=part),
            Concatenated(0, 1, axis, -1, 0, -part, part),
            LastValue(0, 2),
        ),
    )
    b = Builder(Graph("model"))
    x = b.parameter("x", TensorType(F32, Shape.of(*dims)))
    node = b.emit(TensorIterator(), x, n_outputs=3, bodies=(Body("body", inner.graph, ports),))
    for index, value in enumerate(node.outputs):
        b.result(value, f"out{index}")
    data = np.arange(12, dtype=np.float32).reshape(dims)
    forwards, backwards, last = session_of(Model(b.graph, "openvino", 11), opset).run(
        None, {"x": data}
    )
    pieces = [2 * np.take(data, row, axis=axis) for row in rows]
    np.testing.assert_array_equal(forwards, np.concatenate(pieces, axis))
    np.testing.assert_array_equal(backwards, np.concatenate(pieces[::-1], axis))
    np.testing.assert_array_equal(last, pieces[-1])


def test_branches_of_different_shapes_need_opset_11() -> None:
    """If-1 requires branches of the same shape, If-11 does not."""
    b = Builder(Graph("model"))
    condition = b.parameter("c", TensorType(BOOL, Shape.of()))
    bodies = []
    for label, size in (("then", 1), ("else", 2)):
        inner = Builder(Graph(label))
        inner.result(inner.constant(np.ones(size), F32), "ones")
        bodies.append(Body(label, inner.graph, PortMap((), (LastValue(0, 0),))))
    b.result(b.emit(If(), condition, n_outputs=1, bodies=tuple(bodies)).output, "y")
    built = Model(b.graph, "openvino", 11)
    with pytest.raises(UnsupportedError) as caught:
        to_onnx(built, opset=10)
    assert "one shape" in caught.value.diagnostics[0].message
    assert "opset 11" in caught.value.diagnostics[0].fix
    (found,) = session_of(built, 11).run(None, {"c": np.array(False)})
    np.testing.assert_array_equal(found, [1, 1])


def test_a_missing_operation_names_the_opset_that_has_it() -> None:
    graph = Graph("model")
    b = Builder(graph)
    x = b.parameter("x", TensorType(F32, Shape.of(3)))
    b.result(b(search.CumSum(), x, b.i64(0)), "y")
    with pytest.raises(UnsupportedError) as caught:
        to_onnx(Model(graph, "openvino", 11), opset=10)
    assert "needs CumSum of opset 11" in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].fix == "write opset 11 or newer"


@pytest.mark.parametrize("opset", [3, 6, 99])
def test_opsets_that_cannot_be_written_are_named(opset: int) -> None:
    b = Builder(Graph("model"))
    x = b.parameter("x", TensorType(F32, Shape.of(3)))
    b.result(b(Add(), x, x), "y")
    built = Model(b.graph, "openvino", 11)
    with pytest.raises(UsageError) as caught:
        to_onnx(built, opset=opset)
    newest = onnx.defs.onnx_opset_version()
    assert f"opset {opset} cannot be written" in str(caught.value)
    assert "the oldest is 7" in str(caught.value)
    assert f"knows is {newest}" in str(caught.value)
    (found,) = session_of(built, 7).run(None, {"x": np.ones(3, np.float32)})
    np.testing.assert_array_equal(found, [2, 2, 2])


ODD = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan], np.float32)
BIG = np.array([0, -1, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), -(2**53) - 1], np.int64)


@pytest.mark.parametrize("opset", [8, 9, 10])
@pytest.mark.parametrize("values", [ODD, BIG], ids=["floats", "integers"])
@pytest.mark.parametrize(
    ("op", "rule"),
    [
        (comparison.Equal, np.equal),
        (comparison.NotEqual, np.not_equal),
        (comparison.Less, np.less),
        (comparison.LessEqual, np.less_equal),
        (comparison.Greater, np.greater),
        (comparison.GreaterEqual, np.greater_equal),
    ],
)
def test_comparisons(op: Any, rule: Any, values: Array, opset: int) -> None:
    found = run(opset, lambda b, x, y: b(op(), x, y), values[:, None], values)
    np.testing.assert_array_equal(found, rule(values[:, None], values))


@pytest.mark.parametrize("opset", [8, 9])
@pytest.mark.parametrize("type", [np.float32, np.int64, np.bool_])
def test_select(type: Any, opset: int) -> None:
    """Infinite numbers and NaN do not affect other elements."""
    condition = np.array([[True], [False]])
    then, otherwise = ODD[None], np.array([[np.nan, 1, 2, np.inf, 3, 4, 5]], np.float32)
    if type is not np.float32:
        then, otherwise = (
            np.nan_to_num(item, posinf=3, neginf=4).astype(type) for item in (then, otherwise)
        )
    found = run(opset, lambda b, *v: b(comparison.Select(), *v), condition, then, otherwise)
    assert found.dtype == type
    np.testing.assert_array_equal(found, np.where(condition, then, otherwise))


@pytest.mark.parametrize("opset", [8, 9])
@pytest.mark.parametrize(
    ("bounds", "cut"),
    [
        (([1], [3], [1], [1]), np.s_[:, 1:3]),
        (([-1, 0], [-5, 2], [-2, 1], [1, 0]), np.s_[0:2, ::-2]),
        (([0], [2**31 - 1], [2], [0]), np.s_[::2]),
        (([-3], [-1], [1], [1]), np.s_[:, -3:-1]),
    ],
)
def test_slices(bounds: tuple[list[int], ...], cut: Any, opset: int) -> None:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    start, stop, step, axes = bounds

    def rule(b: Builder, x: Value) -> Value:
        return b(slicing.Slice(), x, b.i64(start), b.i64(stop), b.i64(step), b.i64(axes))

    np.testing.assert_array_equal(run(opset, rule, data), data[cut])


@pytest.mark.parametrize("opset", [8, 9, 10])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_numbers_counted_at_run_time(count: int, opset: int) -> None:
    rule = lambda b, n: b(generate.Range4(I64), b.i64(2), n, b.i64(1))  # noqa: E731
    np.testing.assert_array_equal(run(opset, rule, np.array(count)), np.arange(2, count))


@pytest.mark.parametrize("opset", [8, 10])
def test_products_pads_and_further_operations(opset: int) -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    product = run(opset, lambda b, x, y: b(matmul.MatMul(transpose_b=True), x, y), data, data)
    np.testing.assert_array_equal(product, data @ data.T)
    padded = run(
        opset,
        lambda b, x: b(
            padding.Pad("constant"), x, b.i64([1, 0]), b.i64([0, 2]), b.constant(7, F32)
        ),
        data,
    )
    np.testing.assert_array_equal(padded, np.pad(data, ((1, 0), (0, 2)), constant_values=7))
    wide = run(opset, lambda b, x: b(shape.Broadcast3(), x, b.i64([2, 3])), data[0])
    np.testing.assert_array_equal(wide, np.broadcast_to(data[0], (2, 3)))
    most = run(opset, lambda b, x: b(Maximum(), x, b.i64(3)), np.array([1, 5]))
    np.testing.assert_array_equal(most, [3, 5])


def test_dilations_of_a_maximum_name_their_opset() -> None:
    graph = Graph("model")
    b = Builder(graph)
    x = b.parameter("x", TensorType(F32, Shape.of(1, 1, 5)))
    op = pooling.MaxPool14(
        strides=(1,), pads_begin=(0,), pads_end=(0,), kernel_size=(2,), dilations=(2,)
    )
    b.result(b.emit(op, x, n_outputs=2).outputs[0], "y")
    built = Model(graph, "openvino", 11)
    with pytest.raises(UnsupportedError) as caught:
        to_onnx(built, opset=9)
    assert caught.value.diagnostics[0].fix == "write opset 10 or newer"
    data = np.array([[[5, 1, 4, 2, 3]]], np.float32)
    (found,) = session_of(built, 10).run(None, {"x": data})
    np.testing.assert_array_equal(found, [[[5, 2, 4]]])


@pytest.mark.parametrize("opset", [8, 9, 10])
def test_axes_that_count_from_the_end(opset: int) -> None:
    """Opset 11 introduced them."""
    data = np.arange(3, dtype=np.float32).reshape(1, 3, 1)
    less = run(opset, lambda b, x: b(shape.Squeeze(), x, b.i64([-1])), data)
    np.testing.assert_array_equal(less, data[..., 0])
    more = run(opset, lambda b, x: b(shape.Unsqueeze(), x, b.i64([-1, -3])), data)
    np.testing.assert_array_equal(more, data.reshape(1, 3, 1, 1, 1))
    sorted_numbers = np.array([1, 3, 3, 7], np.float32)
    values = np.array([[0, 3], [7, 8]], np.float32)
    for right in (False, True):
        op = search.SearchSorted(right)
        places = run(opset, lambda b, x, y, op=op: b(op, x, y), sorted_numbers, values)
        wanted = np.searchsorted(sorted_numbers, values, "right" if right else "left")
        np.testing.assert_array_equal(places, wanted)
    buckets = run(opset, lambda b, x, y: b(search.Bucketize(), x, y), values, sorted_numbers)
    np.testing.assert_array_equal(buckets, np.searchsorted(sorted_numbers, values, "left"))


@pytest.mark.parametrize("opset", [8, 9])
def test_shifts_of_negative_numbers(opset: int) -> None:
    numbers, amounts = (np.array(items, np.int32) for items in ([-9, 9, -1, 64], [1, 2, 5, 3]))
    rule = lambda b, x, y: b(comparison.BitwiseRightShift(), x, y)  # noqa: E731
    np.testing.assert_array_equal(run(opset, rule, numbers, amounts), numbers >> amounts)


@pytest.mark.parametrize("opset", [8, 9, 11, 13])
@pytest.mark.parametrize(
    ("dims", "wanted"),
    [((0, 3), (5, 0)), ((2, 0), (0, 4)), ((0, 3), (0, -1)), ((4, 3), (-1, 6)), ((4, 3), (3, 4))],
)
def test_a_computed_shape_may_have_a_zero(
    dims: tuple[int, ...], wanted: tuple[int, ...], opset: int
) -> None:
    data = np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
    graph = Graph("model")
    build = Builder(graph)
    x = build.parameter("x", TensorType(F32, Shape.of(None, None)))
    pattern = build.parameter("p", TensorType(I64, Shape.of(2)))
    build.result(build(shape.Reshape(special_zero=False), x, pattern), "y")
    session = session_of(Model(graph, "openvino", 11), opset)
    (found,) = session.run(None, {"x": data, "p": np.array(wanted)})
    # -1 stands for the remaining elements: 0 if there are none.
    exact = wanted if data.size else tuple(max(size, 0) for size in wanted)
    np.testing.assert_array_equal(found, data.reshape(exact))
