"""Parts of models: what is cut in two computes the same as the whole, also inside loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.formats.onnx.text import from_text

IR = Path(__file__).parent / "fixtures" / "models" / "recurrent" / "model.xml"

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float[2,3] x, float[2,3] z, bool go) => (float[2,3] y, float[2,3] u)
  <int64[2] halves = {1, 2}, float[2,3] w = {1, 2, 3, 4, 5, 6}> {
  a = Add (x, w)
  b, c = Split <axis: int = 1> (z, halves)
  d = Concat <axis: int = 1> (c, b)
  m = Mul (a, d)
  y = If (go) <then_branch: graph = t () => (float[2,3] p) { p = Neg (m) },
               else_branch: graph = e () => (float[2,3] q) { q = Abs (m) }>
  u = Relu (a)
}"""


@pytest.fixture
def model(tmp_path: Path) -> irloop.Model:
    return from_text(TEXT, tmp_path / "m.onnx")[0]


FEEDS: dict[str, Any] = {
    "x": np.array([[1, -2, 3], [-4, 5, -6]], np.float32),
    "z": np.array([[1, 2, -1], [2, -2, 1]], np.float32),
    "go": np.array(True),
}


@pytest.mark.parametrize("middle", ["a", "d", "m", "c"])
def test_two_parts_compute_the_whole(model: irloop.Model, middle: str) -> None:
    wanted = irloop.run(model, FEEDS)
    first = irloop.extract(model, outputs=[middle])
    second = irloop.extract(model, inputs=[middle], outputs=["y", "u"])
    given = [value.name for value in first.graph.inputs]
    between = irloop.run(first, {name: FEEDS[name] for name in given})
    assert list(between) == [middle]
    names = [value.name for value in second.graph.inputs]
    assert names[0] == middle
    found = irloop.run(second, {name: between.get(name, FEEDS.get(name)) for name in names})
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)
    onnx.checker.check_model(second.to_onnx(), full_check=True)


def test_only_what_the_outputs_need_is_kept(model: irloop.Model) -> None:
    part = irloop.extract(model, outputs=["u"])
    assert [value.name for value in part.graph.inputs] == ["x"]
    assert [node.op.type for node in part.graph.nodes] == ["Const", "Add", "Relu"]
    written = part.to_onnx()
    assert [item.name for item in written.graph.initializer] == ["w"]
    assert len(model.graph.nodes) > len(part.graph.nodes)


def test_the_order_is_that_of_the_names(model: irloop.Model) -> None:
    part = irloop.extract(model, inputs=["d", "a"], outputs=["u", "m"])
    assert [value.name for value in part.graph.inputs] == ["d", "a"]
    assert [node.name for node in part.graph.results] == ["u", "m"]


def test_a_loop_body_is_a_model_with_its_wires() -> None:
    x = np.linspace(-1, 1, 18, dtype=np.float32).reshape(1, 6, 3)
    wanted = irloop.run(IR, {"x": x})
    body = irloop.extract(IR, body="rnn/body")
    assert [value.name for value in body.graph.inputs] == ["x_t", "h"]
    state = np.zeros((1, 4), np.float32)
    states = []
    for at in range(6):
        found = irloop.run(body, {"x_t": x[:, at : at + 1], "h": state})
        state = found["last_h"]
        states.append(found["all_h"])
    # The loop multiplies the slices of all iterations at once, which may round otherwise.
    np.testing.assert_allclose(np.concatenate(states, 1), wanted["states"], 1e-6, 1e-7)
    np.testing.assert_allclose(state, wanted["last_state"], 1e-6, 1e-7)


def test_a_part_of_a_branch(model: irloop.Model) -> None:
    part = irloop.extract(model, body="y/then")
    found = irloop.run(part, [np.full((2, 3), 2, np.float32)])
    assert [value.tolist() for value in found.values()] == [[[-2.0] * 3] * 2]
    with pytest.raises(irloop.UsageError, match="did you mean 'y/then'"):
        irloop.extract(model, body="y/them")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outputs": ["nothing"]}, "no value of the model is called 'nothing'"),
        ({"inputs": ["z"], "outputs": ["u"]}, "no output depends on the input 'z'"),
        ({"body": "y"}, "has no body 'y'"),
        ({"outputs": "u"}, "outputs is one value where a list is needed"),
    ],
)
def test_wrong_names_are_explained(
    model: irloop.Model, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(irloop.UsageError, match=message):
        irloop.extract(model, **options)
