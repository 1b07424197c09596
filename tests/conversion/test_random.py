"""Random numbers and variables have no counterpart, so every occurrence is refused by name."""

from __future__ import annotations

import pytest

from irloop.conversion import pipelines
from irloop.conversion.coverage import operations
from irloop.dialects.onnx import random as onnx
from irloop.dialects.openvino import random as ov
from irloop.dialects.openvino import state
from irloop.errors import UnsupportedError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

F32 = TensorType(ElementType.F32, Shape((2,)))


def test_every_refused_node_is_named() -> None:
    b = Builder(Graph())
    x = b.parameter("x", F32)
    drawn = b(onnx.RandomUniformLike(), x, name="noise")
    b.result(b(onnx.Bernoulli(), drawn, name="mask"), "y")
    with pytest.raises(UnsupportedError) as caught:
        pipelines.to_openvino(Model(b.graph, "onnx", 8, {"": 17}))
    places = [item.location.path for item in caught.value.diagnostics]
    assert places == ["noise", "mask"]
    assert "depend on the generator" in str(caught.value)


def test_generators_and_variables_of_openvino() -> None:
    b = Builder(Graph())
    x = b.parameter("x", F32)
    before = b(state.ReadValue6("v", ElementType.F32, Shape((2,))), x, name="read")
    b(state.Assign6("v", ElementType.F32, Shape((2,))), before, name="write")
    bounds = (b.constant(number, ElementType.F32) for number in (0.0, 1.0))
    drawn = b(ov.RandomUniform(ElementType.F32), b.i64([2]), *bounds, name="noise")
    b.result(drawn, "y")
    with pytest.raises(UnsupportedError) as caught:
        pipelines.to_onnx(Model(b.graph, "openvino", 10))
    found = [(item.location.path, item.fix) for item in caught.value.diagnostics]
    assert [path for path, _ in found] == ["read", "write", "noise"]
    assert found[0][1] == "convert it to an input and an output: irloop convert --stateless"


def test_the_coverage_does_not_list_them_as_convertible() -> None:
    rows = {(row.dialect, row.type): row for row in operations()}
    row = rows["openvino", "RandomUniform"]
    assert (row.run, row.convert) == (True, False)
    assert not rows["onnx", "Bernoulli"].convert
