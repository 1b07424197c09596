"""Steps that write over an operand: nobody may notice, whoever else holds the operand."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import parser

from irloop.execution.in_place import in_place
from irloop.execution.session import Session
from irloop.execution.trace import TraceEvent
from irloop.formats.onnx import reader

HEAD = '<ir_version: 8, opset_import: ["": 17]> g (float[1,3,40,40] x, float[8,3,3,3] w) => '
CONV = "c = Conv<pads = [1,1,1,1]>(x, w)"

#: The outputs and the nodes of models in which a value is, or may not be, written over.
MODELS = {
    "activations": ("(float[N,8,40,40] y)", f"{CONV} a = Relu(c) b = HardSwish(a) y = Erf(b)"),
    "gate": ("(float[N,8,40,40] y)", f"{CONV} s = Sigmoid(c) y = Mul(c, s)"),
    "first operand": ("(float[N,8,40,40] y)", f"{CONV} m = GlobalAveragePool(c) y = Sub(c, m)"),
    "second operand": ("(float[N,8,40,40] y)", f"{CONV} m = GlobalAveragePool(c) y = Div(m, c)"),
    "wider result": (
        "(float[2,8,40,40] y)",
        f"k = Constant<value = float[2,1,1,1] {{1, 2}}>() {CONV} y = Add(c, k)",
    ),
    "operand is an output": (
        "(float[N,8,40,40] c, float[N,8,40,40] y)",
        f"{CONV} y = Relu(c)",
    ),
    "operand is an input": ("(float[N,3,40,40] y)", "y = Relu(x)"),
    "read later": ("(float[N,8,40,40] y)", f"{CONV} a = Relu(c) b = Sub(a, c) y = Relu(b)"),
    "a view is read later": (
        "(float[320,40] z, float[N,8,40,40] y)",
        f"k = Constant<value_ints = [320,40]>() {CONV} v = Reshape(c, k) y = Relu(c) z = Neg(v)",
    ),
    "both operands are one": ("(float[N,8,40,40] y)", f"{CONV} y = Mul(c, c)"),
}


def _model(name: str) -> Any:
    outputs, nodes = MODELS[name]
    return parser.parse_model(f"{HEAD} {outputs} {{ {nodes} }}")


def _inputs() -> dict[str, Any]:
    random = np.random.default_rng(3)
    shapes = {"x": (1, 3, 40, 40), "w": (8, 3, 3, 3)}
    return {
        name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_onnx_runtime(name: str) -> None:
    """Two inferences of one session; the given arrays stay as they are."""
    model, given = _model(name), _inputs()
    runtime: Any = onnxruntime
    peer = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = peer.run(None, given)
    session = Session(reader.from_proto(model))
    first = session.run(given)
    for found in (first, session.run(given)):
        for one, other in zip(found.values(), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    for item, same in zip(given.values(), _inputs().values(), strict=True):
        np.testing.assert_array_equal(item, same)


def test_a_chain_of_activations_stays_in_the_memory_of_the_convolution() -> None:
    """Each of the three activations returns the array that it is given."""
    program: Any = Session(reader.from_proto(_model("activations")))._program
    x = np.full((1, 8, 40, 40), -1.0, np.float32)
    for step in program.steps[1:]:
        assert step.fn(x) is x
    np.testing.assert_array_equal(x, 0.0)


@pytest.mark.parametrize("name", ["operand is an output", "operand is an input"])
def test_steps_that_have_to_keep_their_operand_stay_as_they_are(name: str) -> None:
    program: Any = Session(reader.from_proto(_model(name)))._program
    assert in_place(program.steps) == program.steps
    assert not any(hasattr(step.fn, "keeping") for step in program.steps)


def test_a_trace_gets_values_that_nothing_overwrites() -> None:
    """The values of the trace, whose tracer keeps them until the end."""
    seen: dict[str, Any] = {}

    def keep(event: TraceEvent) -> None:
        seen[event.node.op.type] = event.outputs[0]

    Session(reader.from_proto(_model("activations"))).run(_inputs(), trace=keep)
    np.testing.assert_array_equal(seen["Relu"], np.maximum(seen["Conv"], 0))
    assert seen["Conv"].min() < 0
