"""Dimensions that are 0 at run time, in opsets whose Reshape cannot express them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.shape import Reshape
from irloop.graph.builder import Builder
from irloop.graph.loops import Concatenated, Invariant, PortMap
from irloop.graph.model import Body, Graph, Model
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType

onnxruntime = pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, np.dtype[Any]]
I64 = ElementType.I64


def _runs(model: Model, opset: int, path: Path, feeds: list[list[Array]]) -> list[Array]:
    """The only output in ONNX Runtime for each set of inputs, in one session."""
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
    """A Loop concatenates parts [2, b, c] (axis 0) or [a, 2, c] (axis 1), zero or more of them."""
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
        # A Loop that does not run knows nothing of the other dimensions.
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
    """The number of rows of x [n,3,4] is copied and may be 0, with which ONNX infers no -1."""
    b = Builder(Graph("rows"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(UNKNOWN_DIM, 3, 4)))
    b.result(b(Reshape(special_zero=True), x, b.constant(list(pattern), I64)), "y")
    rows = [np.arange(count * 12, dtype=np.float32).reshape(count, 3, 4) for count in (2, 0, 1)]
    found = _runs(Model(b.graph, "openvino", 11), opset, tmp_path / "m.onnx", [[x] for x in rows])
    for data, result in zip(rows, found, strict=True):
        np.testing.assert_array_equal(result, data.reshape(len(data), *expected))
