"""States of 8-bit floats and of unknown rank, and inputs that are outputs, in OpenVINO.

Expected numbers are worked out by hand; all of them are exact in 8 bits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Maximum
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType
from tests.conversion.both_engines import F32, i64, needs_engines

pytestmark = needs_engines

HEADER = '<ir_version: 10, opset_import: ["" : 19]>\n'
#: The codes of float8e4m3fn and float8e5m2 in ONNX.
EIGHT_BITS = {"float8e4m3fn": 17, "float8e5m2": 19}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def in_openvino(text: str, sets: list[list[Any]], engines: Engines, folder: Path) -> list[Any]:
    """The outputs of OpenVINO for the IR, all sets in one compiled model."""
    source, ir = folder / "model.onnx", folder / "model.xml"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], ir, ir_version=11)
    return engines.run_all("openvino", ir, sets, folder)


EXCHANGED = """
g (float[n] x, float[n] y, int64 M) => (float[n] a, float[n] b) {
  fx = Cast <to = NUMBER> (x)
  fy = Cast <to = NUMBER> (y)
  p, q = Loop (M, , fx, fy) <body = body (int64 i, bool c, TYPE[n] s, TYPE[n] t)
                                  => (bool d, TYPE[n] t2, TYPE[n] s2) {
    d = Identity (c)
    t2 = Identity (t)
    s2 = Identity (s)
  }>
  a = Cast <to = 1> (p)
  b = Cast <to = 1> (q)
}"""


@pytest.mark.parametrize("type", EIGHT_BITS)
def test_states_of_8_bits_exchanged(type: str, engines: Engines, tmp_path: Path) -> None:
    x, y, z = np.array([1, -2], F32), np.array([0.5, 3], F32), np.array([4], F32)
    text = EXCHANGED.replace("NUMBER", str(EIGHT_BITS[type])).replace("TYPE", type)
    sets = [[x, y, i64(3)], [x, y, i64(0)], [z, -z, i64(1)], [y, x, i64(2)]]
    found = in_openvino(text, sets, engines, tmp_path)
    for got, wanted in zip(found, [[y, x], [x, y], [-z, z], [y, x]], strict=True):
        np.testing.assert_array_equal(got, wanted)


UNREAD = """
g (float[n] x, float[n] y, int64 M) => (float[n] a) {
  fy = Cast <to = NUMBER> (y)
  p = Loop (M, , fy) <body = body (int64 i, bool c, TYPE[n] s) => (bool d, TYPE[n] t) {
    d = Identity (c)
    t = Cast <to = NUMBER> (x)
  }>
  a = Cast <to = 1> (p)
}"""


@pytest.mark.parametrize("type", EIGHT_BITS)
def test_a_state_of_8_bits_that_the_body_does_not_read(
    type: str, engines: Engines, tmp_path: Path
) -> None:
    x, y, z = np.array([1, -2], F32), np.array([0.5, 3], F32), np.array([4], F32)
    text = UNREAD.replace("NUMBER", str(EIGHT_BITS[type])).replace("TYPE", type)
    sets = [[x, y, i64(3)], [x, y, i64(0)], [z, -z, i64(0)], [y, x, i64(2)]]
    found = in_openvino(text, sets, engines, tmp_path)
    for (got,), wanted in zip(found, [x, y, -z, y], strict=True):
        np.testing.assert_array_equal(got, wanted)


UNKNOWN_RANK = """
g (float[n] x, int64[r] shape, int64 M, bool go) => (float[m] out) {
  wide = Reshape (x, shape)
  p = Loop (M, go, wide) <body = body (int64 i, bool c, float s) => (bool d, float t) {
    d = Identity (c)
    t = Reshape (x, shape)
  }>
  minus = Constant <value = int64[1] {-1}> ()
  out = Reshape (p, minus)
}"""


def test_an_unread_state_of_unknown_rank_is_read(tmp_path: Path) -> None:
    """irloop runs it, because the CPU plugin runs no loop over values of unknown rank."""
    source = tmp_path / "model.onnx"
    proto = onnx.parser.parse_model(HEADER + UNKNOWN_RANK)
    loop = next(node for node in proto.graph.node if node.op_type == "Loop")
    for info in (loop.attribute[0].g.input[2], loop.attribute[0].g.output[1]):
        info.type.tensor_type.ClearField("shape")
    source.write_bytes(proto.SerializeToString())
    session = irloop.Session(irloop.convert(source)[0])
    x = np.array([1, 2, 3, 4], F32)
    for count in (0, 2):
        (found,) = session.run([x, i64([2, 1, 2]), i64(count), np.array(True)]).values()
        np.testing.assert_array_equal(found, x)


def test_an_input_that_is_an_output_is_copied(engines: Engines, tmp_path: Path) -> None:
    text = "g (float[n] x, float[n] y) => (float[n] a, float[n] b) { a = Identity (x) b = Abs (y) }"
    sizes = [1, 4, 2, 1, 5, 3]
    sets = [[np.arange(n, dtype=F32), -np.ones(n, F32)] for n in sizes]
    found = in_openvino(text, sets, engines, tmp_path)
    (first, _) = irloop.read_model(tmp_path / "model.xml").graph.outputs
    assert isinstance(first.producer.op, Maximum)
    for (a, b), n in zip(found, sizes, strict=True):
        np.testing.assert_array_equal(a, np.arange(n))
        np.testing.assert_array_equal(b, np.ones(n))


def test_an_input_that_leaves_through_a_convert(tmp_path: Path) -> None:
    """Outputs are read after the inputs of the inference are freed."""
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape((UNKNOWN_DIM, 3))))
    b.result(b(Convert(ElementType.F32), x), "y")
    path = tmp_path / "model.xml"
    irloop.save_model(Model(b.graph, "openvino", 11), path)
    with Process(engine_of("openvino"), path) as process:
        for n in (1, 4, 2, 1, 4, 2, 3, 1, 1, 2):
            answer = process.run([np.full((n, 3), n, F32)], seconds=60.0)
            assert answer.outputs is not None, str(answer)
            np.testing.assert_array_equal(answer.outputs[0], np.full((n, 3), n))
