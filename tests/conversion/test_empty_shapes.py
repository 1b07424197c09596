"""Dimensions that are 0 at run time, in opsets whose Reshape cannot express them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino.comparison import LessEqual
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.shape import Reshape
from irloop.engines.openvino_runner import OpenVinoRunner
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Concatenated, Invariant, LastValue, PortMap
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("openvino")

Array = np.ndarray[Any, np.dtype[Any]]
I64 = ElementType.I64


def _runs(model: Model, opset: int, path: Path, feeds: list[list[Array]]) -> list[Array]:
    """The only output of ONNX Runtime for each set of inputs, in one session."""
    converted, _ = irloop.convert(model, "onnx", opset=opset)
    irloop.save_model(converted, path)
    session = onnxruntime.InferenceSession(path)
    names = [item.name for item in session.get_inputs()]
    return [session.run(None, dict(zip(names, feed, strict=True)))[0] for feed in feeds]


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize(("element", "axis"), [("f32", 0), ("f16", 1), ("boolean", 0), ("i64", 1)])
def test_loops_join_parts_without_elements(
    element: str, axis: int, opset: int, tmp_path: Path
) -> None:
    """A Loop concatenates zero or more parts [2, b, c] (axis 0) or [a, 2, c] (axis 1)."""
    dims = [UNKNOWN_DIM] * 3
    part = TensorType(ElementType(element), Shape.of(*dims[:axis], 2, *dims[axis + 1 :]))
    b = Builder(Graph("joined"))
    count = b.parameter("n", TensorType(I64, Shape.of()))
    x = b.parameter("x", part)
    inner = b.nested("body")
    inner.result(inner.constant(True, ElementType.BOOLEAN), "goes_on")
    inner.result(inner.parameter("x", part), "part")
    outputs = (Concatenated(1, 0, axis, 0, -1, 2, 2),)
    ports = PortMap((Invariant(2, 0),), outputs, None, 0)
    on = b.constant(True, ElementType.BOOLEAN)
    body = Body("body", inner.graph, ports)
    node = b.emit(Loop(), count, on, x, n_outputs=1, bodies=(body,), name="loop")
    b.result(node.output, "out")
    feeds, wanted = [], []
    for trips, one, two in ((3, 2, 3), (0, 2, 3), (2, 0, 3), (2, 2, 0), (0, 0, 0), (1, 4, 2)):
        shape = [2, one, two] if axis == 0 else [one, 2, two]
        data = (np.arange(2 * one * two) % 3).reshape(shape).astype(part.element.numpy())
        feeds.append([np.array(trips), data])
        nothing = data[:0] if axis == 0 else data[:, :0]
        wanted.append(np.concatenate([nothing, *[data] * trips], axis))
    found = _runs(Model(b.graph, "openvino", 11), opset, tmp_path / "model.onnx", feeds)
    for got, want, feed in zip(found, wanted, feeds, strict=True):
        # If a Loop does not run, the other dimensions are unknown.
        assert got.shape == want.shape if feed[0] else got.shape[axis] == 0
        np.testing.assert_array_equal(got.reshape(want.shape), want)


@pytest.mark.parametrize("opset", [11, 13, 17])
def test_an_empty_tensor_in_a_computed_shape(opset: int, tmp_path: Path) -> None:
    b = Builder(Graph("reshaped"))
    data = b.parameter("x", TensorType(ElementType.F32, Shape.of(0, UNKNOWN_DIM)))
    pattern = b.parameter("shape", TensorType(I64, Shape.of(3)))
    b.result(b(Reshape(special_zero=False), data, pattern), "out")
    patterns = ([2, 0, 5], [0, 3, 1], [4, 7, 0])
    feeds: list[list[Array]] = [[np.zeros((0, 6), np.float32), np.array(item)] for item in patterns]
    found = _runs(Model(b.graph, "openvino", 11), opset, tmp_path / "model.onnx", feeds)
    assert [list(item.shape) for item in found] == list(patterns)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize(
    ("pattern", "expected"), [((0, -1), (12,)), ((0, 2, -1), (2, 6)), ((0, -1, 4), (3, 4))]
)
def test_an_inferred_size_beside_a_copied_one(
    pattern: tuple[int, ...], expected: tuple[int, ...], opset: int, tmp_path: Path
) -> None:
    """The number of rows of x [n,3,4] is copied and may be 0; ONNX cannot infer -1 then."""
    b = Builder(Graph("rows"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(UNKNOWN_DIM, 3, 4)))
    b.result(b(Reshape(special_zero=True), x, b.constant(list(pattern), I64)), "y")
    rows = [np.arange(count * 12, dtype=np.float32).reshape(count, 3, 4) for count in (2, 0, 1)]
    found = _runs(Model(b.graph, "openvino", 11), opset, tmp_path / "m.onnx", [[x] for x in rows])
    for data, result in zip(rows, found, strict=True):
        np.testing.assert_array_equal(result, data.reshape(len(data), *expected))


#: Shapes of x, of which only the number of channels is declared, patterns, and the results that
#: OpenVINO documents: -1 is inferred from the dimensions that are not copied.
EMPTY_COPIES = [
    ((None, None, 4), (0, -1), (lambda n, m: (n, 4 * m))),
    ((None, None, 4), (0, -1, 2), (lambda n, m: (n, 2 * m, 2))),
    ((None, None, 4), (0, -1, 2, 2), (lambda n, m: (n, m, 2, 2))),
    ((None, None, 4), (0, 0, -1, 1), (lambda n, m: (n, m, 4, 1))),
    ((None, None, 0), (0, -1), (lambda n, m: (n, 0 * m))),
    ((None, None, None), (0, -1), (lambda n, m: (n, 4 * m))),
    ((None, None, None), (-1, 0), (lambda n, m: (4 * n, m))),
    ((None, None, 4), (0, 2, -1), (lambda n, m: (n, 2, 2 * m))),
    ((None, None, 4), (0, -1, 2, 1), (lambda n, m: (n, 2 * m, 2, 1))),
]


@pytest.mark.parametrize("opset", [11, 13, 17, 18])
@pytest.mark.parametrize(("declared", "pattern", "result"), EMPTY_COPIES)
def test_a_computed_size_beside_a_copied_one(
    declared: tuple[int | None, ...],
    pattern: tuple[int, ...],
    result: Callable[[int, int], tuple[int, ...]],
    opset: int,
    tmp_path: Path,
) -> None:
    b = Builder(Graph("rows"))
    shape = Shape(tuple(UNKNOWN_DIM if dim is None else dim for dim in declared))
    x = b.parameter("x", TensorType(ElementType.F32, shape))
    b.result(b(Reshape(special_zero=True), x, b.constant(list(pattern), I64)), "y")
    model = Model(b.graph, "openvino", 11)
    sizes = [(2, 3), (0, 3), (2, 0), (0, 0), (3, 1)]
    channels = 4 if declared[-1] is None else declared[-1]
    feeds: list[list[Array]] = [
        [np.arange(n * m * channels, dtype=np.float32).reshape(n, m, channels)] for n, m in sizes
    ]
    found = _runs(model, opset, tmp_path / "m.onnx", feeds)
    source = tmp_path / "m.xml"
    irloop.save_model(model, source)
    openvino = OpenVinoRunner(str(source))
    for (n, m), feed, got in zip(sizes, feeds, found, strict=True):
        want = feed[0].reshape(result(n, m))
        np.testing.assert_array_equal(got, want, strict=True)
        np.testing.assert_array_equal(openvino(feed)[0], want, strict=True)


def test_a_group_of_channels_takes_few_operations() -> None:
    """The channels cancel out, so that only the sizes of the image are multiplied."""
    b = Builder(Graph("groups"))
    image = Shape.of(UNKNOWN_DIM, 32, UNKNOWN_DIM, UNKNOWN_DIM)
    x = b.parameter("x", TensorType(ElementType.F32, image))
    b.result(b(Reshape(special_zero=True), x, b.constant([0, 32, -1], I64)), "y")
    model, _ = irloop.convert(Model(b.graph, "openvino", 11))
    types = [node.op.type for node in model.graph.nodes if node.op.type != "Const"]
    assert sorted(types) == ["Concat", "ReduceProd", "Reshape", "Shape", "Shape"]


def _flattening_loop(b: Builder, count: Value, limit: Value, state: Value, depth: int) -> Value:
    """A Loop, nested in `depth` others, that ends after `limit` iterations.

    Its body flattens the state [n,m,4] to [n,4*m] and adds 1.
    """
    wide = state.type
    inner = b.nested("body")
    number = inner.parameter("number", TensorType(I64, Shape.of()))
    before = inner.parameter("before", wide)
    trips, most = (inner.parameter(name, TensorType(I64, Shape.of())) for name in ("n", "most"))
    flat = inner(Reshape(special_zero=True), before, inner.constant([0, -1], I64))
    after = inner(Reshape(special_zero=True), flat, inner.constant([0, -1, 4], I64))
    after = inner(Add(), after, inner.constant(1.0, ElementType.F32))
    if depth:
        after = _flattening_loop(inner, trips, most, after, depth - 1)
    inner.result(inner(LessEqual(), number, most), "goes_on")
    inner.result(after, "after")
    inputs = (Carried(2, 1, 1), Invariant(3, 2), Invariant(4, 3))
    ports = PortMap(inputs, (LastValue(1, 0),), 0, 0)
    operands = (count, b.constant(True, ElementType.BOOLEAN), state, count, limit)
    bodies = (Body("body", inner.graph, ports),)
    return b.emit(Loop(), *operands, n_outputs=1, bodies=bodies).output


@pytest.mark.parametrize("opset", [11, 17])
def test_a_loop_flattens_a_state_that_may_be_empty(opset: int, tmp_path: Path) -> None:
    b = Builder(Graph("nest"))
    count, most = (b.parameter(name, TensorType(I64, Shape.of())) for name in ("n", "most"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(UNKNOWN_DIM, UNKNOWN_DIM, 4)))
    b.result(_flattening_loop(b, count, most, x, 1), "y")
    model = Model(b.graph, "openvino", 11)
    feeds, wanted = [], []
    for trips, last, n, m in ((3, 9, 2, 3), (3, 9, 0, 3), (0, 9, 2, 0), (4, 1, 1, 2), (2, 9, 0, 0)):
        data = np.arange(n * m * 4, dtype=np.float32).reshape(n, m, 4)
        feeds.append([np.array(trips), np.array(last), data])
        rounds = min(trips, last + 2)
        wanted.append(data + rounds * (1 + rounds))
    found = _runs(model, opset, tmp_path / "m.onnx", feeds)
    source = tmp_path / "m.xml"
    irloop.save_model(model, source)
    openvino = OpenVinoRunner(str(source))
    for feed, got, want in zip(feeds, found, wanted, strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
        np.testing.assert_array_equal(openvino(feed)[0], want, strict=True)
