"""The second example of TensorIterator-1, made smaller: an LSTMCell with W and R in one tensor.

The expected numbers come from the formulas of the LSTM, written with NumPy (gates f, i, c, o).
OpenVINO cannot read the file, but runs the IR that irloop writes for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process

Array = np.ndarray[Any, np.dtype[Any]]

B, T, X, S = 1, 5, 3, 2  # batch, steps, input size, state size
DRAW = np.random.default_rng(7)
#: W [8,3] and R [8,2] side by side, then the bias [8].
WEIGHTS, BIAS = DRAW.normal(size=(4 * S, X + S)).astype("f"), DRAW.normal(size=4 * S).astype("f")
Shape = tuple[int, ...]


def layer(
    number: int,
    kind: str,
    data: str = "",
    inputs: Sequence[Shape] = (),
    outputs: Sequence[Shape] = (),
    *,
    opset: str = "opset1",
    precision: str = "FP32",
    rest: str = "",
) -> str:
    """A layer whose ports are numbered 0, 1, ..., inputs first, then outputs."""
    ports = []
    for at, shape in enumerate((*inputs, *outputs)):
        dims = "".join(f"<dim>{size}</dim>" for size in shape)
        kept = "" if at < len(inputs) else f' precision="{precision}"'
        ports.append(f'<port id="{at}"{kept}>{dims}</port>')
    taken, given = "".join(ports[: len(inputs)]), "".join(ports[len(inputs) :])
    return (
        f'<layer id="{number}" name="{kind}_{number}" type="{kind}" version="{opset}">'
        f"<data {data}/><input>{taken}</input><output>{given}</output>{rest}</layer>"
    )


def parameter(number: int, *shape: int) -> str:
    data = f'shape="{",".join(map(str, shape))}" element_type="f32"'
    return layer(number, "Parameter", data, outputs=[shape])


def constant(number: int, element: str, offset: int, size: int, *shape: int) -> str:
    sizes = ",".join(map(str, shape))
    data = f'element_type="{element}" shape="{sizes}" offset="{offset}" size="{size}"'
    precision = "I64" if element == "i64" else "FP32"
    return layer(number, "Const", data, outputs=[shape], precision=precision)


def edges(*ends: tuple[int, int, int, int]) -> str:
    texts = [
        f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>'
        for a, b, c, d in ends
    ]
    return f"<edges>{''.join(texts)}</edges>"


MAPS = """<port_map><input axis="1" external_port_id="0" internal_layer_id="0" start="0"/>
<input external_port_id="1" internal_layer_id="3"/>
<input external_port_id="2" internal_layer_id="4"/>
<output axis="1" external_port_id="3" internal_layer_id="12"/></port_map>
<back_edges><edge from-layer="8" to-layer="4"/><edge from-layer="9" to-layer="3"/></back_edges>"""


@pytest.fixture(params=["opset1", "opset4"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The example with the cell in this opset, which the specification leaves open."""
    state, joined, after = (B, S), (4 * S, X + S), 16 + WEIGHTS.nbytes
    cell = [(B, X), state, state, joined, (4 * S,)]
    flat = 'special_zero="false"'
    inner = [
        parameter(0, B, 1, X),
        constant(1, "i64", 0, 16, 2),
        layer(2, "Reshape", flat, [(B, 1, X), (2,)], [(B, X)]),
        parameter(3, *state),
        parameter(4, *state),
        constant(5, "f32", 16, WEIGHTS.nbytes, *joined),
        constant(6, "f32", after, BIAS.nbytes, 4 * S),
        layer(7, "LSTMCell", f'hidden_size="{S}"', cell, [state, state], opset=request.param),
        layer(8, "Result", inputs=[state]),
        layer(9, "Result", inputs=[state]),
        constant(10, "i64", after + BIAS.nbytes, 24, 3),
        layer(11, "Reshape", flat, [state, (3,)], [(B, 1, S)]),
        layer(12, "Result", inputs=[(B, 1, S)]),
    ]
    inside = edges(
        *[(0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 7, 0), (3, 0, 7, 1), (4, 0, 7, 2), (5, 0, 7, 3)],
        *[(6, 0, 7, 4), (7, 6, 8, 0), (7, 5, 9, 0), (7, 5, 11, 0), (10, 0, 11, 1), (11, 2, 12, 0)],
    )
    body = f"{MAPS}<body><layers>{''.join(inner)}</layers>{inside}</body>"
    whole = [(B, T, X), state, state]
    outer = [
        parameter(0, B, T, X),
        parameter(1, *state),
        parameter(2, *state),
        layer(3, "TensorIterator", inputs=whole, outputs=[(B, T, S)], rest=body),
        layer(4, "Result", inputs=[(B, T, S)]),
    ]
    outside = edges((0, 0, 3, 0), (1, 0, 3, 1), (2, 0, 3, 2), (3, 3, 4, 0))
    path = tmp_path / "model.xml"
    text = f'<net name="m" version="10"><layers>{"".join(outer)}</layers>{outside}</net>'
    path.write_text(text, encoding="utf-8")
    shapes = np.array([B, X]), WEIGHTS, BIAS, np.array([B, 1, S])
    path.with_suffix(".bin").write_bytes(b"".join(array.tobytes() for array in shapes))
    return path


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def worked_out(x: Array, h: Array, c: Array) -> Array:
    """H after each step, in f64."""
    steps = []
    for step in x.astype("d").swapaxes(0, 1):
        f, i, g, o = np.split(np.concatenate([step, h], 1) @ WEIGHTS.T.astype("d") + BIAS, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps, 1)


def test_joined_weights(model: Path, tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    given = [draw.normal(size=shape).astype("f") for shape in ((B, T, X), (B, S), (B, S))]
    expected = worked_out(*given)
    assert {item.code for item in irloop.validate(model)} == {"IRL810"}
    (found,) = irloop.run(model, given).values()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    for engine, name, subject in (
        ("openvino", "again.xml", irloop.read_model(model)),
        ("onnxruntime", "made.onnx", irloop.convert(model)[0]),
    ):
        irloop.save_model(subject, tmp_path / name)
        with Process(engine_of(engine), tmp_path / name) as process:
            for _ in range(2):
                answer = process.run(given, seconds=60)
                assert answer.outputs is not None, str(answer)
                np.testing.assert_allclose(answer.outputs[0], expected, rtol=0, atol=1e-6)
