"""Loops that concatenate 8-bit floats along an inner axis, in ONNX Runtime and OpenVINO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.engines.onnxruntime_runner import OnnxRuntimeRunner
from irloop.engines.openvino_runner import OpenVinoRunner
from irloop.graph.builder import Builder
from irloop.graph.loops import Concatenated, Invariant, LastValue, OutputPort, PortMap
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.types import ElementType, Shape, TensorType
from tests.conversion.both_engines import needs_engines

pytestmark = needs_engines

F32, I64 = ElementType.F32, ElementType.I64


def _joined(b: Builder, count: Value, x: Value, narrow: ElementType, depth: int) -> Value:
    """A Loop, nested in `depth` others, that concatenates x + 1, rounded to 8-bit floats, along
    axis 1.

    The outer Loops run once, add 1 to x, and return the concatenated output of the inner Loop.
    """
    inner = b.nested("body")
    inner.result(inner.constant(True, ElementType.BOOLEAN), "goes_on")
    row = inner.parameter("row", x.type)
    trips = inner.parameter("trips", TensorType(I64, Shape.of()))
    value = inner(Add(), row, inner.constant(1.0, F32))
    output: OutputPort
    if depth:
        result, output = _joined(inner, trips, value, narrow, depth - 1), LastValue(1, 0)
    else:
        result = inner(Unsqueeze(), inner(Convert(narrow), value), inner.constant([1], I64))
        output = Concatenated(1, 0, 1, 0, -1, 1, 1)
    inner.result(result, "result")
    ports = PortMap((Invariant(2, 0), Invariant(3, 1)), (output,), None, 0)
    operands = (b.constant(1, I64) if depth else count, b.constant(True, ElementType.BOOLEAN))
    bodies = (Body("body", inner.graph, ports),)
    return b.emit(Loop(), *operands, x, count, n_outputs=1, bodies=bodies).output


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("trips", [1, 3, None])
@pytest.mark.parametrize("narrow", [ElementType.F8E4M3, ElementType.F8E5M2])
def test_joined_along_an_inner_axis(
    narrow: ElementType, trips: int | None, depth: int, tmp_path: Path
) -> None:
    """The hard case is a loop with one iteration.

    Before opset 21 ONNX Runtime moves the Transpose that follows such a Loop across the Cast, onto
    the 8-bit floats, and then refuses the model.
    """
    b = Builder(Graph("joined"))
    x = b.parameter("x", TensorType(F32, Shape.of(2, 3)))
    given = b.parameter("n", TensorType(I64, Shape.of()))
    count = given if trips is None else b.constant(trips, I64)
    joined = _joined(b, count, x, narrow, depth)
    b.result(joined, "joined")
    b.result(b(Convert(F32), joined), "wide")
    there, back = tmp_path / "there.onnx", tmp_path / "back.xml"
    irloop.save_model(irloop.convert(Model(b.graph, "openvino", 11))[0], there)
    irloop.save_model(irloop.convert(there)[0], back)
    onnxruntime, openvino = OnnxRuntimeRunner(str(there)), OpenVinoRunner(str(back))
    for number in (2, 0, 1, 3):
        data = np.arange(6, dtype=np.float32).reshape(2, 3) - number
        rounds = number if trips is None else trips
        # Sums of small whole numbers have no rounding error in 8 bits.
        want = np.repeat((data + depth + 1)[:, None], rounds, axis=1)
        for run in (onnxruntime, openvino):
            narrowed, wide = run([data, np.array(number)])
            assert narrowed.dtype == narrow.numpy()
            np.testing.assert_array_equal(narrowed.astype(np.float32).reshape(want.shape), want)
            np.testing.assert_array_equal(wide.reshape(want.shape), want)
