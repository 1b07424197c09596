"""OVN175 also meets TensorIterators over one cell, which OpenVINO writes as sequences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.openvino.recurrent import RNNCell
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.faults.catalogue import find_faults
from irloop.faults.fault import FAULTS
from irloop.graph.model import Model, Value
from irloop.graph.types import ElementType
from tests.test_linear_work import TIMES, require_linear

I64 = ElementType.I64
STEPS = np.sign(np.random.default_rng(0).standard_normal((3, 2, 1))).astype(np.float32)


def iterators(*dims: int | None) -> Model:
    """Two TensorIterators of one input, steps first: x and -x for steps of 1 and -1."""
    m = IrModel()
    x, first = m.input("x", *dims), m.input("h", dims[1], 1)
    return m.done(*(_iterated(m, x, first, weight) for weight in (20, -20)))


def _iterated(m: IrModel, x: Value, first: Value, weight: int) -> Value:
    """tanh(weight * x) for each step."""
    loop = m.tensor_iterator()
    body = m.inside(loop)
    step, state, axis = loop.slice(x, 0), loop.state(first), body.constant([0], I64)
    weights = body.constant([[weight]]), body.constant([[0]]), body.constant([0])
    cell = body(RNNCell(hidden_size=1), body(Squeeze(), step, axis), state, *weights)
    loop.carry(state, cell)
    loop.joined(body(Unsqueeze(), cell, axis), 0)
    return loop.done()[0]


def many(count: int) -> Model:
    """As many TensorIterators that negate the steps as over a cell, all of one input."""
    m = IrModel()
    x, first = m.input("x", 3, 2, 1), m.input("h", 2, 1)
    outputs: list[Value] = []
    for _ in range(count):
        loop = m.tensor_iterator()
        loop.joined(loop(Negative(), loop.slice(x, 0)), 0)
        outputs += loop.done()
    return m.done(*outputs, *(_iterated(m, x, first, 20) for _ in range(count)))


def is_right(model: Model, folder: Path) -> bool:
    """Return whether OpenVINO computes both results, twice in one compiled model."""
    irloop.save_model(model, folder / "m.xml")
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(folder / "m.xml", "CPU", options)
    feeds = {"x": STEPS, "h": np.zeros((2, 1), np.float32)}
    runs = [compiled(feeds) for _ in range(2)]
    # tanh(20) is 1 in f32.
    return all(
        np.array_equal(run[at], wanted) for run in runs for at, wanted in enumerate((STEPS, -STEPS))
    )


def codes(model: Model) -> set[str]:
    irloop.infer(model)
    return {match.fault.code for match in find_faults(model.graph, "openvino")}


@pytest.mark.parametrize("dims", [(3, 2, 1), (None, 2, 1), (3, None, 1)])
def test_conversion_avoids_what_openvino_computes_wrongly(
    dims: tuple[int | None, ...], tmp_path: Path
) -> None:
    model = iterators(*dims)
    assert "OVN175" in codes(model)
    assert not is_right(model, tmp_path)
    there, _ = irloop.convert(model, "onnx")
    back, _ = irloop.convert(there, "openvino")
    assert "OVN175" not in codes(back)
    assert is_right(back, tmp_path)


def test_the_pass_that_the_fault_advises_mends_it(tmp_path: Path) -> None:
    mended, _ = irloop.transform(iterators(3, 2, 1), ["tensor_iterator_to_sequence"])
    assert is_right(mended, tmp_path)


def test_iterators_of_unknown_sizes_are_right(tmp_path: Path) -> None:
    model = iterators(None, None, 1)
    assert "OVN175" not in codes(model)
    assert is_right(model, tmp_path)


def test_many_readers_of_one_input_take_linear_time(tmp_path: Path) -> None:
    paths = [tmp_path / f"{count}.xml" for count in (30, 30 * TIMES)]
    for path, count in zip(paths, (30, 30 * TIMES), strict=True):
        irloop.save_model(many(count), path)
    fault = FAULTS["OVN175"]()

    def search(path: Path) -> None:
        nodes = [node for node in irloop.read_model(path).graph.nodes if node.bodies]
        assert all(list(fault.find(node)) for node in nodes[-2:])
        for node in nodes:
            list(fault.find(node))

    require_linear(search, *paths)
