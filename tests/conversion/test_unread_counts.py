"""A loop runs as often as before if nothing reads the ports that count its iterations.

The expected numbers are worked out by hand: each of four iterations adds 1. Every model runs twice
in one compiled model.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.loop_programs.judge import FORMS, PASSES, Form, in_turn
from irloop.building.ir_model import IrLoop, IrModel
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.dialects.openvino.slicing import Concat
from irloop.engines.onnxruntime_runner import OnnxRuntimeRunner
from irloop.engines.openvino_runner import OpenVinoRunner
from irloop.faults.catalogue import find_faults
from irloop.graph.loops import Concatenated, InputPort, LastValue, OutputPort, ScanInput, Sliced
from irloop.graph.model import Model, Value
from irloop.graph.types import ElementType
from irloop.passes.common import LIBRARY
from irloop.passes.trips import kept_for_count

missing = [x for x in ("onnxruntime", "openvino") if importlib.util.find_spec(x) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")

X, SUM = np.array([[1, 2]], np.float32), [[5, 6]]
F16, I64 = ElementType.F16, ElementType.I64


def counted(m: IrModel, loop: IrLoop, end: int, *, back: bool = False, parts: int = 1) -> Value:
    """Add 1 to a state in each iteration; return its last value, and join its negative value."""
    state = loop.state(m.input("x", 1, 2))
    after = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, after)
    loop.last(after)
    part = loop(Negative(), after)
    part = part if parts == 1 else loop(Concat(0), part, after)
    loop.joined(part, 0, *((end, 0, -parts) if back else (0, end, parts)), parts)
    return loop.done()[0]


def of_loop() -> Model:
    m = IrModel()
    return m.done(counted(m, m.loop(m.constant(4, I64)), -1))


def by_range() -> Model:
    m = IrModel()
    return m.done(counted(m, m.tensor_iterator(), 4))


def by_range_backwards() -> Model:
    m = IrModel()
    return m.done(counted(m, m.tensor_iterator(), 4, back=True))


def by_parts() -> Model:
    m = IrModel()
    return m.done(counted(m, m.tensor_iterator(), 8, parts=2))


def of_one_result() -> Model:
    """The last value and the concatenation have the same result of the body."""
    m = IrModel()
    loop = m.tensor_iterator()
    state = loop.state(m.input("x", 1, 2))
    after = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, after)
    loop.last(after)
    loop.joined(after, 0, 0, 4)
    return m.done(loop.done()[0])


def of_two_outputs() -> Model:
    m = IrModel()
    loop = m.tensor_iterator()
    state = loop.state(m.input("x", 1, 2))
    after = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, after)
    loop.last(after)
    loop.joined(loop(Negative(), after), 0, 0, 4)
    loop.joined(loop(Convert(F16), after), 1, 0, 4)
    return m.done(loop.done()[0])


def in_vain() -> Model:
    """Something reads the output, but no output of the model depends on it."""
    m = IrModel()
    loop = m.tensor_iterator()
    state = loop.state(m.input("x", 1, 2))
    after = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, after)
    loop.last(after)
    loop.joined(loop(Negative(), after), 0, 0, 4)
    last, joined = loop.done()
    m(Negative(), joined)
    return m.done(last)


def nested() -> Model:
    """An iterator in a Loop of two iterations: 2 + 2 times 1."""
    m = IrModel()
    outer = m.loop(m.constant(2, I64))
    state = outer.state(m.input("x", 1, 2))
    inner = m.inside(outer).tensor_iterator()
    carried = inner.state(state)
    after = inner(Add(), carried, inner.constant([[1, 1]]))
    inner.carry(carried, after)
    inner.last(after)
    inner.joined(inner(Negative(), after), 0, 0, 2)
    outer.carry(state, inner.done()[0])
    outer.last_of(state)
    return m.done(*outer.done())


MODELS = [
    of_loop,
    by_range,
    by_range_backwards,
    by_parts,
    of_one_result,
    of_two_outputs,
    in_vain,
    nested,
]


def runs(model: Model, folder: Path) -> list[list[Any]]:
    """The output in irloop, and twice in the engine of the model's format."""
    is_ir = model.dialect == "openvino"
    path = folder / ("model.xml" if is_ir else "model.onnx")
    irloop.save_model(model, path)
    runner = OpenVinoRunner(str(path)) if is_ir else OnnxRuntimeRunner(str(path))
    found = [*irloop.run(path, [X]).values()]
    return [value.tolist() for value in (*found, *(row[0] for row in in_turn(runner, [[X], [X]])))]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("build", MODELS)
def test_conversions(build: Callable[[], Model], form: Form | None, tmp_path: Path) -> None:
    there, _ = irloop.convert(build(), loops=form)
    assert runs(there, tmp_path) == [SUM] * 3
    back, _ = irloop.convert(there, loops=form)
    assert runs(back, tmp_path) == [SUM] * 3


@pytest.mark.parametrize("name", [x for x in PASSES if "openvino" in LIBRARY[x].dialects])
def test_passes(name: str, tmp_path: Path) -> None:
    for build in MODELS:
        made, _ = irloop.transform(build(), [name])
        assert runs(made, tmp_path) == [SUM] * 3


@pytest.mark.parametrize("build", MODELS)
def test_the_fault_is_found_where_openvino_runs_once(
    build: Callable[[], Model], tmp_path: Path
) -> None:
    model = build()
    irloop.infer(model)
    codes = {match.fault.code for match in find_faults(model.graph, "openvino")}
    (_, *found) = runs(model, tmp_path)
    assert (found == [SUM] * 2) == ("OVN170" not in codes)


def test_one_port_stays() -> None:
    last, joined, other = LastValue(0, 0), Concatenated(1, 1, 0, 0, 4), Concatenated(2, 2, 0, 0, 4)
    whole, part = Concatenated(3, 3, 0), Sliced(0, 0, 0)
    element, following = ScanInput(1, 1), ScanInput(2, 2)
    iterator, loop = ov.TensorIterator(), ov.Loop()
    asked: list[tuple[Any, list[InputPort | OutputPort], set[int], int | None]] = [
        (iterator, [last, joined], {0, 1}, 1),
        (iterator, [last, joined], {0}, None),
        (iterator, [last, joined, other], {1}, None),
        (iterator, [last, joined, other], {1, 2}, 1),
        (iterator, [last, whole], {1}, None),
        # The slices count, and not the range of an output.
        (iterator, [part, last, joined], {2}, None),
        (iterator, [part, last, joined], {0}, 0),
        (loop, [part, last, joined], {0, 2}, None),
        (onnx.Scan(), [element, following], {0, 1}, 0),
        (onnx.Scan(), [element, following], {1}, None),
        (onnx.Loop(), [last], {0}, None),
    ]
    for op, ports, removed, kept in asked:
        assert kept_for_count(op, ports, removed) == kept
