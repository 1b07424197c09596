"""`convert(stateless=True)`: variables become inputs and outputs, or are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from irloop import convert, run
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import state
from irloop.dialects.openvino.elementwise import Add
from irloop.errors import UnsupportedError, UsageError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

F32 = TensorType(ElementType.F32, Shape((2,)))


def summing() -> Model:
    """A model whose variable adds up its inputs."""
    b = Builder(Graph())
    x = b.parameter("x", F32)
    before = b(state.ReadValue6("sum", ElementType.F32, Shape((2,))), x, name="read")
    total = b(Add(), before, x, name="total")
    b(state.Assign6("sum", ElementType.F32, Shape((2,))), total, name="write")
    b.result(total, "y")
    return Model(b.graph, "openvino", 10)


def test_variables_become_inputs_and_outputs() -> None:
    source = summing()
    converted, _ = convert(source, stateless=True)
    found = run(
        converted, {"x": np.array([1, 2], np.float32), "sum": np.array([10, 20], np.float32)}
    )
    assert {name: value.tolist() for name, value in found.items()} == {
        "y": [11, 22],
        "sum/next": [11, 22],
    }
    # The source model still has its variable.
    assert [node.name for node in source.graph.parameters] == ["x"]


def test_only_ir_has_variables() -> None:
    converted, _ = convert(summing(), stateless=True)
    with pytest.raises(UsageError, match="already"):
        convert(converted, "onnx", stateless=True)
    with pytest.raises(UsageError, match="stateless is an option for ONNX"):
        convert(summing(), "openvino", stateless=True)


def test_a_variable_of_a_body_is_refused_by_name() -> None:
    m = IrModel()
    x = m.input("x", 2)
    loop = m.loop(m.constant(3, ElementType.I64))
    current = loop.state(x)
    before = loop(state.ReadValue6("sum", ElementType.F32, Shape((2,))), current)
    total = loop(Add(), before, current)
    loop(state.Assign6("sum", ElementType.F32, Shape((2,))), total)
    loop.carry(current, total)
    loop.condition(loop.constant(True, ElementType.BOOLEAN))
    loop.last_of(current)
    (last,) = loop.done()
    with pytest.raises(UnsupportedError) as caught:
        convert(m.done(last), stateless=True)
    assert "a variable used in the body" in str(caught.value)
    assert {item.fix for item in caught.value.diagnostics} == {
        "unroll the loop first: irloop transform --pass unroll"
    }
