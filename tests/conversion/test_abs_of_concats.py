"""Abs of a Concat of rank 1, which OpenVINO's CPU plugin computes in the memory of the Concat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irloop import convert, save_model
from irloop.dialects.onnx.elementwise import Abs, Exp
from irloop.dialects.onnx.slicing import Concat
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

TYPES = [(ElementType.F32, np.float32), (ElementType.I64, np.int64), (ElementType.F16, np.float16)]


@pytest.mark.parametrize("size", [1, None])
@pytest.mark.parametrize(("element", "dtype"), TYPES, ids=[str(e) for e, _ in TYPES])
def test_a_concat_keeps_its_values(
    element: ElementType, dtype: type, size: int | None, tmp_path: Path
) -> None:
    b = Builder(Graph())
    x = b.parameter("x", TensorType(element, Shape.of(size)), ("x",))
    both = b(Concat(axis=0), x, x)
    b.result(both, "c")
    b.result(b(Abs(), both), "a")
    path = tmp_path / "m.xml"
    save_model(convert(Model(b.graph, "onnx", 8, {"": 13}))[0], path)
    with Process(engine_of("openvino"), path) as process:
        for number in (-3, -4, 5):
            answer = process.run([np.array([number], dtype)], seconds=60)
            assert answer.outputs is not None, answer
            found = [output.tolist() for output in answer.outputs]
            assert found == [[number] * 2, [abs(number)] * 2]


def test_another_reader_reads_the_values(tmp_path: Path) -> None:
    b = Builder(Graph())
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(1)), ("x",))
    both = b(Concat(axis=0), x, x)
    b.result(b(Exp(), both), "e")
    b.result(b(Abs(), both), "a")
    path = tmp_path / "m.xml"
    save_model(convert(Model(b.graph, "onnx", 8, {"": 13}))[0], path)
    with Process(engine_of("openvino"), path) as process:
        for number in (-1, -2):
            answer = process.run([np.array([number], np.float32)], seconds=60)
            assert answer.outputs is not None, answer
            np.testing.assert_allclose(answer.outputs[0], np.exp([number] * 2), rtol=1e-5)
            assert answer.outputs[1].tolist() == [-number] * 2
