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
    "activations of a sum": (
        "(float[N,3,40,40] y)",
        "c = Add(x, x) a = Relu(c) b = HardSwish(a) y = Erf(b)",
    ),
    "gate, product turned": ("(float[N,8,40,40] y)", f"{CONV} s = Sigmoid(c) y = Mul(s, c)"),
    "gate is read later": (
        "(float[N,8,40,40] y)",
        f"{CONV} s = Sigmoid(c) p = Mul(c, s) y = Add(p, s)",
    ),
    "normalised": (
        "(float[N,8,40,40] y)",
        f"""k = Constant<value = float[8] {{1, 2, 3, 4, 5, 6, 7, 8}}>()
        {CONV} n = BatchNormalization(c, k, k, k, k) y = Relu(n)""",
    ),
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


def test_a_chain_of_activations_stays_in_the_memory_of_the_sum() -> None:
    """Each of the three activations returns the array that it is given."""
    program: Any = Session(reader.from_proto(_model("activations of a sum")))._program
    x = np.full((1, 3, 40, 40), -1.0, np.float32)
    for step in program.steps[1:]:
        assert step.fn(x) is x
    np.testing.assert_array_equal(x, 0.0)


@pytest.mark.parametrize("name", ["activations", "gate", "gate, product turned", "normalised"])
def test_a_convolution_computes_the_activation_that_follows(name: str) -> None:
    """The step of the activation returns the array that it is given, with negative numbers."""
    program: Any = Session(reader.from_proto(_model(name)))._program
    x = np.full((1, 8, 40, 40), -1.0, np.float32)
    done = [step for step in program.steps if step.fn.__class__.__name__ == "_Done"]
    assert len(done) == (2 if name.startswith("gate") else 1)
    for step in done:
        assert step.fn(*[x] * len(step.ins)) is x
        assert step.fn.keeping(*[x] * len(step.ins)) is not x
    np.testing.assert_array_equal(x, -1.0)


@pytest.mark.parametrize(
    "name", ["operand is an output", "read later", "both operands are one", "gate is read later"]
)
def test_a_result_that_is_read_elsewhere_gets_no_activation(name: str) -> None:
    program: Any = Session(reader.from_proto(_model(name)))._program
    assert "_Done" not in [step.fn.__class__.__name__ for step in program.steps]


@pytest.mark.parametrize("nodes", ["y = Relu(c)", "s = Sigmoid(c) y = Mul(s, c)"])
def test_half_precision_is_rounded_before_the_activation(nodes: str) -> None:
    """Without type inference of the operand, the kernel learns the element type when it runs."""
    head = "float16[1,3,40,40] x, float16[8,3,1,1] w"
    text = f"""<ir_version: 8, opset_import: ["": 17]> g ({head}) =>
    (float16[N,8,40,40] y, float16[N,8,40,40] z) {{
        c = Conv(x, w) {nodes} d = Conv(x, w) e = Identity(d) z = Neg(e) }}"""
    model = reader.from_proto(parser.parse_model(text))
    random = np.random.default_rng(5)
    x = random.standard_normal((1, 3, 40, 40)).astype(np.float16)
    w = random.standard_normal((8, 3, 1, 1)).astype(np.float16)
    found = Session(model).run([x, w])
    plain = -found["z"]
    if nodes.startswith("s"):
        gates = (1 / (1 + np.exp(-plain.astype(np.float32)))).astype(np.float16)
        wanted = gates * plain
    else:
        wanted = np.maximum(plain, np.float16(0))
    np.testing.assert_allclose(found["y"].astype(float), wanted.astype(float), rtol=1e-3)
    assert found["y"].dtype == np.float16


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
