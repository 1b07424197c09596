"""In OpenVINO, an If makes a list from a scalar if its other branch returns a list."""

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
from irloop.execution.session import Session
from irloop.graph.types import Shape, TensorType
from tests.conversion.both_engines import F32, needs_engines

#: One branch returns the sum of a list, the other one the list.
SUM_OR_LIST = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N] x, bool c) => (float[K] y, int64[R] s) {
    y = If (c) <
        then_branch = t () => (float a) { a = ReduceSum <keepdims = 0> (x) },
        else_branch = e () => (float[N] b) { b = Add (x, x) }
    >
    s = Shape (y)
}"""

X = np.array([1, 2, 4], F32)
SETS = [[X, np.array(True)], [X, np.array(False)], [X[:2], np.array(True)]]
#: Returned by OpenVINO 2026.4; both outputs are lists.
EXPECTED = [([7], [1]), ([2, 4, 8], [3]), ([3], [1])]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.fixture
def ir(tmp_path: Path) -> Path:
    source, path = tmp_path / "model.onnx", tmp_path / "model.xml"
    source.write_bytes(onnx.parser.parse_model(SUM_OR_LIST).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], path, ir_version=11)
    return path


def assert_lists(found: list[list[Any]]) -> None:
    for outputs, expected in zip(found, EXPECTED, strict=True):
        assert [item.tolist() for item in outputs] == list(expected)


def test_the_executor_returns_a_list(ir: Path) -> None:
    session = Session(irloop.read_model(ir))
    assert_lists([list(session.run(inputs).values()) for inputs in SETS])


def test_the_output_is_a_list_of_unknown_length(ir: Path) -> None:
    graph = irloop.read_model(ir).graph
    (branches,) = [node for node in graph.nodes if node.op.type == "If"]
    type = branches.outputs[0].type
    assert isinstance(type, TensorType)
    assert type.shape == Shape.of(None)


@needs_engines
def test_both_engines_return_a_list(ir: Path, engines: Engines, tmp_path: Path) -> None:
    back = tmp_path / "back.onnx"
    irloop.save_model(irloop.convert(ir, "onnx")[0], back)
    assert_lists(engines.run_all("openvino", ir, SETS, tmp_path))
    assert_lists(engines.run_all("onnxruntime", back, SETS, tmp_path))


def test_the_note_tells_of_the_list(tmp_path: Path) -> None:
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(SUM_OR_LIST).SerializeToString())
    (note,) = irloop.convert(source)[1]
    assert note.code == "CNV101"
    assert note.message.endswith("OpenVINO makes a list of one element from the scalar")
