"""Sequences as states of loops; in IR they are tensors whose first axis counts the items.

The expected numbers are those of ONNX Runtime on the ONNX model itself; the IR is run by OpenVINO,
several inferences in one compiled model, and by irloop, and the ONNX made of it by ONNX Runtime.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import EngineError, Engines, check_onnx
from irloop.conversion.pipelines import to_openvino
from irloop.errors import ExecutionError, UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.passes import Manager
from irloop.passes.common import Unroll
from tests.conversion.sequence_loops import HEAD, MODELS, REFUSED, SETS, TAIL, loop

needs_engines = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "openvino")),
    reason="ONNX Runtime and OpenVINO are not both installed",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def read(text: str) -> Model:
    return reader.from_proto(onnx.parser.parse_model(text))


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@needs_engines
@pytest.mark.parametrize("name", MODELS)
def test_both_engines_return_the_same_items(name: str, engines: Engines, tmp_path: Path) -> None:
    source, ir, back = (tmp_path / file for file in ("in.onnx", "model.xml", "back.onnx"))
    source.write_bytes(onnx.parser.parse_model(MODELS[name]).SerializeToString())
    expected = engines.run_all("onnxruntime", source, SETS, tmp_path)
    converted, _ = irloop.convert(source)
    irloop.save_model(converted, ir)
    again, _ = irloop.convert(ir)
    irloop.save_model(again, back)
    check_onnx(back)
    found = engines.run_all("openvino", ir, SETS, tmp_path)
    returned = engines.run_all("onnxruntime", back, SETS, tmp_path)
    for at, values in enumerate(SETS):
        assert_equal(list(irloop.run(source, values).values()), expected[at])
        assert_equal(list(irloop.run(ir, values).values()), expected[at])
        assert_equal(found[at], expected[at])
        assert_equal(returned[at], expected[at])


@pytest.mark.parametrize("name", REFUSED)
def test_sequences_that_no_tensor_can_hold_are_refused(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(UnsupportedError) as caught:
        to_openvino(read(text))
    assert any(reason in item.message for item in caught.value.diagnostics)


#: The length of the items is known only at run time; all share one dimension name, or have none.
ANY_LENGTH = HEAD.replace("float[2] x", "float[k] x").replace("float[n, 2]", "float[n, k]")
FRONT = loop("t = SequenceInsert (s, item, zero)").replace("seq(float[2])", "seq(float[])")
GROWS_BY_BROADCASTING = """<ir_version: 8, opset_import: ["" : 17]>
g (int64 n, float[k] x, float[m] y) => (float[p, q] all) {
  start = SequenceEmpty ()
  seq, unread = Loop (n, "", start, x) <body = b (int64 i, bool c, seq(float[a]) s, float[u] r)
      => (bool d, seq(float[a]) t, float[v] w) {
    d = Identity (c)  t = SequenceInsert (s, r)  w = Add (r, y)
  }>
  all = ConcatFromSequence <axis = 0, new_axis = 1> (seq)
}
"""


@needs_engines
def test_items_of_unknown_shape(engines: Engines, tmp_path: Path) -> None:
    source, ir = tmp_path / "in.onnx", tmp_path / "model.xml"
    source.write_bytes(onnx.parser.parse_model(ANY_LENGTH + FRONT + TAIL).SerializeToString())
    sets = [
        [np.array(trips), np.array(1), np.arange(size, dtype=np.float32)]
        for trips, size in ((3, 2), (0, 3), (1, 1), (0, 2), (2, 4))
    ]
    expected = engines.run_all("onnxruntime", source, sets, tmp_path)
    irloop.save_model(irloop.convert(source)[0], ir)
    for found, wanted in zip(
        engines.run_all("openvino", ir, sets, tmp_path), expected, strict=True
    ):
        assert_equal(found, wanted)


@needs_engines
def test_items_that_turn_out_to_differ_are_an_error(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO concatenates parts of different shapes without an error, but a Concat refuses
    them. Nothing in this loop tells that the state grows: a sum may be as large as its operand.
    """
    model, notes = to_openvino(read(GROWS_BY_BROADCASTING))
    assert [note.code for note in notes] == ["CNV103"]
    ir = tmp_path / "model.xml"
    irloop.save_model(model, ir)
    values = [np.array(3), np.arange(1, dtype=np.float32), np.arange(3, dtype=np.float32)]
    with pytest.raises(EngineError, match="Concat"):
        engines.run("openvino", ir, values, tmp_path)
    with pytest.raises(ExecutionError, match="Concat"):
        Session(model).run(values)


@pytest.mark.parametrize("name", ["at the front", "in some iterations", "nested, at the front"])
def test_loops_of_constant_trip_count_are_unrolled(name: str) -> None:
    """The trip count is constant, so the loop is unrolled, before or after conversion."""
    text = MODELS[name].replace("int64 M, ", "").replace("int64 N, ", "")
    text = text.replace(
        "  zero =", "  M = Constant <value_int = 3> ()\n  N = Identity (M)\n  zero ="
    )
    x = np.array([1, 2], np.float32)
    expected = list(Session(read(text)).run([x]).values())
    assert expected[1] in (2, 3, 9)
    model, _ = to_openvino(read(text))
    assert_equal(list(Session(model).run([x]).values()), expected)
    for source in (read(text), model):
        changed = source
        Manager([Unroll()]).run_passes(changed)
        assert not any(node.op.type == "Loop" for node in changed.graph.nodes)
        assert_equal(list(Session(changed).run([x]).values()), expected)
