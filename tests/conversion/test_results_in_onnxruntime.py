"""Bodies that return their inputs or one value twice, from IR to ONNX, run by ONNX Runtime.

ONNX Runtime has its default optimisations and runs three inferences in one session. It computes
such bodies incorrectly unless each of these results is a separate value. The expected numbers come
from `_worked`, which implements the loop of the specification in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino.comparison import LogicalXor
from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import Builder
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType

onnxruntime = pytest.importorskip("onnxruntime")

Array = np.ndarray[Any, np.dtype[Any]]
Form = Literal["keep", "scan", "loop", "unroll"]

#: The results of bodies: two states, their sums with an outer value, a constant, and that outer
#: value. A TensorIterator also returns its slice p.
SOURCES = ("s0", "s1", "f0", "f1", "k", "c")


@dataclass(frozen=True)
class Case:
    """The next values of the two states, and the concatenated values."""

    kind: str
    states: tuple[str, ...]
    joined: tuple[str, ...]
    element: ElementType = ElementType.F32
    #: The trip count if the model has it as a constant.
    count: int | None = None

    @property
    def looped(self) -> bool:
        return self.kind == "Loop"


def _numbers(element: ElementType, *values: int) -> Array:
    if element is ElementType.BOOLEAN:
        return np.array([value % 2 == 0 for value in values])
    return np.array(values).astype(element.numpy())


def _sum(left: Array, right: Array) -> Array:
    return left ^ right if left.dtype == bool else left + right


def _build(case: Case) -> Model:
    """The IR of a case. A concatenated part has two elements, as a slice has."""
    pair = TensorType(case.element, Shape.of(2))
    b = Builder(Graph("case"))
    count = b.parameter("n", TensorType(ElementType.I64, Shape.of()))
    length = UNKNOWN_DIM if case.count is None else 2 * case.count
    x = b.parameter("x", TensorType(case.element, Shape.of(length)))
    outer = [b.parameter(name, pair) for name in ("a", "b", "c")]
    inner = b.nested("body")
    names = ("s0", "s1", "c", "i" if case.looped else "p")
    number = TensorType(ElementType.I64, Shape.of())
    seen = {name: inner.parameter(name, number if name == "i" else pair) for name in names}
    inner_sum = LogicalXor() if case.element is ElementType.BOOLEAN else Add()
    for name in sorted({*case.states, *case.joined} & {"f0", "f1"}):
        seen[name] = inner(inner_sum, seen[f"s{name[1]}"], seen["c"])
    if "k" in case.states + case.joined:
        seen["k"] = inner.constant(_numbers(case.element, 8, 3), case.element)
    first = 0
    if case.looped:
        inner.result(inner.constant(True, ElementType.BOOLEAN), "goes_on")
        first = 1
    for index, name in enumerate(case.states + case.joined):
        inner.result(seen[name], f"r{index}")
    given: list[Value] = [*outer, x]
    if case.looped:
        trip = count if case.count is None else b.i64(case.count)
        given = [trip, b.constant(True, ElementType.BOOLEAN), *outer]
    at = len(given) - (3 if case.looped else 4)
    inputs: list[InputPort] = [Carried(at + k, k, first + k) for k in range(2)]
    inputs.append(Invariant(at + 2, 2))
    if not case.looped:
        inputs.append(Sliced(3, 3, 0, 0, -1, 2, 2))
    outputs: list[OutputPort] = [LastValue(first + k, k) for k in range(2)]
    outputs += [Concatenated(first + k, k, 0, 0, -1, 2, 2) for k in range(2, 2 + len(case.joined))]
    ports = PortMap(tuple(inputs), tuple(outputs))
    if case.looped:
        ports = PortMap(tuple(inputs), tuple(outputs), 3, 0)
    op = Loop() if case.looped else TensorIterator()
    body = Body("body", inner.graph, ports)
    node = b.emit(op, *given, n_outputs=len(outputs), bodies=(body,), name="loop")
    for index, value in enumerate(node.outputs):
        b.result(value, f"out{index}")
    return Model(b.graph, "openvino", 11)


def _worked(case: Case, feed: dict[str, Array]) -> list[Array]:
    """The outputs of a case, iteration by iteration."""
    states = [feed["a"], feed["b"]]
    parts: list[list[Array]] = [[] for _ in case.joined]
    for index in range(int(feed["n"])):
        seen = {"s0": states[0], "s1": states[1], "c": feed["c"]}
        seen |= {"f0": _sum(states[0], feed["c"]), "f1": _sum(states[1], feed["c"])}
        seen |= {"k": _numbers(case.element, 8, 3), "p": feed["x"][2 * index : 2 * index + 2]}
        states = [seen[name] for name in case.states]
        for part, name in zip(parts, case.joined, strict=True):
            part.append(seen[name])
    return states + [np.concatenate(part) for part in parts]


def _feeds(case: Case) -> list[dict[str, Array]]:
    counts = (3, 1, 4) if case.count is None else (case.count,) * 3
    return [
        {
            "n": np.array(count),
            "x": _numbers(case.element, *range(start, start + 2 * count)),
            "a": _numbers(case.element, 1, 2 + start),
            "b": _numbers(case.element, 4, 5 * start),
            "c": _numbers(case.element, 7, 6),
        }
        for start, count in enumerate(counts)
    ]


def _check(
    path: Path, feeds: Sequence[dict[str, Array]], wanted: Sequence[Sequence[Array]]
) -> list[str]:
    """A text for each output in which ONNX Runtime differs from the expected values."""
    session = onnxruntime.InferenceSession(path)
    wrong = []
    for feed, want in zip(feeds, wanted, strict=True):
        found = session.run(None, feed)
        for index, (got, expected) in enumerate(zip(found, want, strict=True)):
            if got.shape != expected.shape or got.tobytes() != expected.tobytes():
                wrong.append(f"output {index}: {got.tolist()} for {expected.tolist()}")
    return wrong


def _convert(model: Model, opset: int | None, loops: Form, path: Path) -> None:
    converted, _ = irloop.convert(model, "onnx", opset=opset, loops=loops)
    irloop.save_model(converted, path)


@pytest.mark.parametrize(
    ("opset", "loops", "count"),
    [(None, "keep", None), (11, "keep", None), (21, "loop", None), (None, "scan", 3)],
)
@pytest.mark.parametrize("kind", ["Loop", "TensorIterator"])
def test_a_loop_body_may_return_inputs_and_one_value_twice(
    kind: str,
    opset: int | None,
    loops: Form,
    count: int | None,
    tmp_path: Path,
) -> None:
    sources = SOURCES if kind == "Loop" else (*SOURCES, "p")
    wrong = {}
    for states in product(sources, repeat=2):
        # Nothing is concatenated, or each value once, or each value twice.
        for joined in ((), sources, tuple(name for name in sources for _ in range(2))):
            case = Case(kind, states, joined, count=count)
            _convert(_build(case), opset, loops, tmp_path / "model.onnx")
            feeds = _feeds(case)
            found = _check(tmp_path / "model.onnx", feeds, [_worked(case, feed) for feed in feeds])
            if found:
                wrong[states, joined] = found
    assert not wrong


@pytest.mark.parametrize("loops", ["scan", "loop"])
@pytest.mark.parametrize("element", ["boolean", "f16", "f64", "i8", "u8", "i32", "i64"])
def test_returned_inputs_of_every_element_type(element: str, loops: Form, tmp_path: Path) -> None:
    wrong = {}
    for kind, states in product(("Loop", "TensorIterator"), (("s1", "s0"), ("f0", "k"))):
        joined = ("s0", "f0", "f0", "k", "k", "c") + (("p",) if kind == "TensorIterator" else ())
        case = Case(kind, states, joined, ElementType(element), count=3)
        _convert(_build(case), None, loops, tmp_path / "model.onnx")
        feeds = _feeds(case)
        found = _check(tmp_path / "model.onnx", feeds, [_worked(case, feed) for feed in feeds])
        if found:
            wrong[kind, states] = found
    assert not wrong


@pytest.mark.parametrize("opset", [11, None, 21])
def test_the_iteration_number_as_a_state_and_joined(opset: int | None, tmp_path: Path) -> None:
    scalar = TensorType(ElementType.I64, Shape.of())
    b = Builder(Graph("numbers"))
    count, before = b.parameter("n", scalar), b.parameter("a", scalar)
    inner = b.nested("body")
    number, state = inner.parameter("i", scalar), inner.parameter("s", scalar)
    goes_on = inner.constant(True, ElementType.BOOLEAN)
    for name, value in {"on": goes_on, "next": number, "sum": inner(Add(), state, number)}.items():
        inner.result(value, name)
    inner.result(number, "number")
    outputs = (LastValue(1, 0), Concatenated(2, 1, 0), Concatenated(3, 2, 0))
    body = Body("body", inner.graph, PortMap((Carried(2, 1, 1),), outputs, 0, 0))
    on = b.constant(True, ElementType.BOOLEAN)
    node = b.emit(Loop(), count, on, before, n_outputs=3, bodies=(body,), name="loop")
    for index, value in enumerate(node.outputs):
        b.result(value, f"out{index}")
    _convert(Model(b.graph, "openvino", 11), opset, "keep", tmp_path / "model.onnx")
    feeds = [{"n": np.array(n), "a": np.array(100)} for n in (4, 1, 2)]
    # The state holds the previous iteration number; the sums add both numbers.
    wanted = [
        [np.array(3), np.array([100, 1, 3, 5]), np.array([0, 1, 2, 3])],
        [np.array(0), np.array([100]), np.array([0])],
        [np.array(1), np.array([100, 1]), np.array([0, 1])],
    ]
    assert not _check(tmp_path / "model.onnx", feeds, wanted)


def _branch(outer: Builder, label: str, names: Sequence[str]) -> Body:
    """A branch that returns the values with these names: its input, twice its input, or a
    constant.
    """
    b = outer.nested(label)
    pair = TensorType(ElementType.F32, Shape.of(2))
    x = b.parameter("x", pair)
    made = {"x": x, "double": b(Add(), x, x), "k": b.constant([8.0, 3.0], ElementType.F32)}
    for index, name in enumerate(names):
        b.result(made[name], f"{label}{index}")
    outputs = tuple(LastValue(index, index) for index in range(len(names)))
    return Body(label, b.graph, PortMap((Invariant(1, 0),), outputs))


@pytest.mark.parametrize("opset", [11, None])
@pytest.mark.parametrize("around", ["nothing", "TensorIterator"])
def test_branches_may_return_inputs_and_one_value_twice(
    around: str, opset: int | None, tmp_path: Path
) -> None:
    """Each branch returns three values, which the enclosing TensorIterator concatenates."""
    flag_type = TensorType(ElementType.BOOLEAN, Shape.of())
    wrong = {}
    for names in product(("x", "double", "k"), repeat=3):
        b = Builder(Graph("branches"))
        x = b.parameter("x", TensorType(ElementType.F32, Shape.of(2 if around == "nothing" else 6)))
        flag = b.parameter("flag", flag_type)
        if around == "nothing":
            bodies = (_branch(b, "then", names), _branch(b, "else", names[::-1]))
            node = b.emit(If(), flag, x, n_outputs=3, bodies=bodies, name="if")
        else:
            inner = b.nested("body")
            part = inner.parameter("p", TensorType(ElementType.F32, Shape.of(2)))
            goes = inner.parameter("flag", flag_type)
            bodies = (_branch(inner, "then", names), _branch(inner, "else", names[::-1]))
            branches = inner.emit(If(), goes, part, n_outputs=3, bodies=bodies, name="if")
            for index, value in enumerate(branches.outputs):
                inner.result(value, f"r{index}")
            outputs = tuple(Concatenated(k, k, 0, 0, -1, 2, 2) for k in range(3))
            ports = PortMap((Sliced(0, 0, 0, 0, -1, 2, 2), Invariant(1, 1)), outputs)
            body = Body("body", inner.graph, ports)
            node = b.emit(TensorIterator(), x, flag, n_outputs=3, bodies=(body,), name="loop")
        for index, value in enumerate(node.outputs):
            b.result(value, f"out{index}")
        _convert(Model(b.graph, "openvino", 11), opset, "keep", tmp_path / "model.onnx")
        size = 2 if around == "nothing" else 6
        feeds: list[dict[str, Array]] = [
            {"x": np.arange(size, dtype=np.float32) + start, "flag": np.array(taken)}
            for start, taken in enumerate((True, False, True))
        ]
        wanted = []
        for feed in feeds:
            constant = np.tile(np.array([8, 3], np.float32), size // 2)
            gives = {"x": feed["x"], "double": 2 * feed["x"], "k": constant}
            order = names if feed["flag"] else names[::-1]
            wanted.append([gives[name] for name in order])
        found = _check(tmp_path / "model.onnx", feeds, wanted)
        if found:
            wrong[names] = found
    assert not wrong


@pytest.mark.parametrize("loops", ["keep", "scan"])
@pytest.mark.parametrize("length", [1, UNKNOWN_DIM])
@pytest.mark.parametrize("grows", [True, False])
def test_a_state_that_grows_is_no_state_of_a_scan(
    grows: bool, length: Any, loops: Form, tmp_path: Path
) -> None:
    """A TensorIterator appends each slice to its state, or adds the slice to the state."""
    b = Builder(Graph("growing"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(UNKNOWN_DIM)))
    state = b.parameter("a", TensorType(ElementType.F32, Shape.of(length)))
    inner = b.nested("body")
    part = inner.parameter("p", TensorType(ElementType.F32, Shape.of(1)))
    held = inner.parameter("s", TensorType(ElementType.F32, Shape.of(UNKNOWN_DIM)))
    inner.result(inner(Concat(0), held, part) if grows else inner(Add(), held, part), "next")
    ports = PortMap((Sliced(0, 0, 0), Carried(1, 1, 0)), (LastValue(0, 0),))
    body = Body("body", inner.graph, ports)
    node = b.emit(TensorIterator(), x, state, n_outputs=1, bodies=(body,), name="loop")
    b.result(node.output, "out")
    _convert(Model(b.graph, "openvino", 11), None, loops, tmp_path / "model.onnx")
    feeds: list[dict[str, Array]] = [
        {"x": np.arange(count, dtype=np.float32), "a": np.array([5], np.float32)}
        for count in (3, 1, 4)
    ]
    wanted = [
        [np.concatenate([feed["a"], feed["x"]]) if grows else feed["a"] + feed["x"].sum()]
        for feed in feeds
    ]
    assert not _check(tmp_path / "model.onnx", feeds, wanted)
    nodes = irloop.read_model(tmp_path / "model.onnx").graph.nodes
    assert ("Scan" in [node.op.type for node in nodes]) is not grows


@pytest.mark.parametrize("loops", ["keep", "scan"])
@pytest.mark.parametrize(
    ("form", "scans"), [("replaced", False), ("added", True), ("replaced by its own size", True)]
)
def test_a_state_that_gets_another_size_is_no_state_of_a_scan(
    form: str, scans: bool, loops: Form, tmp_path: Path
) -> None:
    """All sizes are unknown; `k` is an input of the same size as the state but in `replaced`."""
    b = Builder(Graph("replaced"))
    unknown = TensorType(ElementType.F32, Shape.of(UNKNOWN_DIM))
    x, a, k = (b.parameter(name, unknown) for name in "xak")
    inner = b.nested("body")
    part = inner.parameter("p", TensorType(ElementType.F32, Shape.of(1)))
    held, other = inner.parameter("s", unknown), inner.parameter("o", unknown)
    inner.result(inner(Add(), other, held if form == "added" else part), "next")
    ports = PortMap((Sliced(0, 0, 0), Carried(1, 1, 0), Invariant(2, 2)), (LastValue(0, 0),))
    body = Body("body", inner.graph, ports)
    initial = k if form == "replaced by its own size" else a
    node = b.emit(TensorIterator(), x, initial, k, n_outputs=1, bodies=(body,), name="loop")
    b.result(node.output, "out")
    b.result(b(Add(), a, a), "twice")
    _convert(Model(b.graph, "openvino", 11), None, loops, tmp_path / "model.onnx")
    size = 3 if form == "replaced" else 2
    feeds: list[dict[str, Array]] = [
        {
            "x": np.arange(count, dtype=np.float32),
            "a": np.array([5, 6], np.float32),
            "k": np.arange(size, dtype=np.float32),
        }
        for count in (3, 1, 4)
    ]
    added = [feed["a"] + len(feed["x"]) * feed["k"] for feed in feeds if form == "added"]
    last = added or [feed["k"] + feed["x"][-1] for feed in feeds]
    wanted = [[value, feed["a"] * 2] for value, feed in zip(last, feeds, strict=True)]
    assert not _check(tmp_path / "model.onnx", feeds, wanted)
    nodes = irloop.read_model(tmp_path / "model.onnx").graph.nodes
    assert ("Scan" in [node.op.type for node in nodes]) is scans
