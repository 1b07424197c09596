"""Nested Loops, TensorIterators and Ifs of an IR, converted to ONNX and run by ONNX Runtime.

ONNX Runtime optimises as it does by default. A TensorIterator over whole axes becomes a Scan. Each
model infers several times in one session; the expected numbers are plain NumPy (`nests`).
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

import irloop
from benchmarks.engines import Engines, check_onnx
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Subtract
from irloop.dialects.openvino.gather import Gather
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.shape import ShapeOf, Unsqueeze
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
from tests.conversion.nests import COUNTED, NAMES, arrays, expected, same

KINDS = ("counted", "run time", "never", "while", "slices", "slices backwards", "branch")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="ONNX Runtime is not installed"
)
F32, I64, BOOL = ElementType.F32, ElementType.I64, ElementType.BOOLEAN
N = UNKNOWN_DIM

#: The types of `nests.Given`.
INPUTS = {
    "h": TensorType(F32, Shape.of(N, 3)),
    "x": TensorType(F32, Shape.of(N, 3)),
    "xs": TensorType(F32, Shape.of(N, N, 3)),
    "fixed": TensorType(F32, Shape.of(4, N, 3)),
    "count": TensorType(I64, Shape.of()),
    "go": TensorType(BOOL, Shape.of()),
    "stop": TensorType(I64, Shape.of()),
    "flag": TensorType(BOOL, Shape.of()),
}
OUTPUTS = ("last", "parts", "sums", "lengths", "starts")


class Scope:
    """The model or a body; an outer value that a body reads becomes an invariant input of the
    body.
    """

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.b: Builder = outer.b.nested("body") if outer else Builder(Graph("nest"))
        self.externals: list[Value] = []
        self.ports: list[InputPort] = []
        self.parameters = 0
        self.known: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name in self.known:
            return self.known[name]
        if self.outer is None:
            value = self.b.parameter(name, INPUTS[name], (name,))
        else:
            self.externals.append(self.outer[name])
            self.ports.append(Invariant(len(self.externals) - 1, self.parameters))
            value = self.parameter(name, self.externals[-1].type)
        self.known[name] = value
        return value

    def parameter(self, name: str, type: object) -> Value:
        self.parameters += 1
        return self.b.parameter(name, type)  # type: ignore[arg-type]

    def state(self, start: Value, result: int) -> Value:
        self.externals.append(start)
        self.ports.append(Carried(len(self.externals) - 1, self.parameters, result))
        return self.parameter("state", start.type)

    def slices(self, name: str, size: int) -> Value:
        assert self.outer is not None
        self.externals.append(self.outer[name])
        ends = (0, -1) if size > 0 else (-1, 0)
        where = len(self.externals) - 1, self.parameters
        self.ports.append(Sliced(*where, 0, *ends, size, abs(size)))
        return self.parameter("slice", TensorType(F32, Shape.of(abs(size), N, 3)))


def step(scope: Scope, h: Value, row: Value, inner: str) -> list[Value]:
    """The next state, and the values to concatenate; in the outer loop these are all values of
    `nests`.
    """
    b = scope.b
    if not inner:
        following = b(Subtract(), row, h)
        return [following, b(Unsqueeze(), following, b.i64(0))]
    last, parts = construct(scope, inner, h, "")
    following = b(Subtract(), row, last)
    total = b(ReduceSum(), parts, b.i64([0, 1, 2]))
    length = b(Gather(), b(ShapeOf(), parts), b.i64([0]), b.i64(0))
    return [
        following,
        b(Unsqueeze(), following, b.i64(0)),
        b(Unsqueeze(), total, b.i64(0)),
        length,
        b(Unsqueeze(), h, b.i64(0)),
    ]


def construct(scope: Scope, kind: str, start: Value, inner: str) -> list[Value]:
    """The outputs of a loop or branch: the last state and the parts, and in the outer loop all of
    `OUTPUTS`.
    """
    if kind == "branch":
        return branch(scope, start, inner)
    inside = Scope(scope)
    b = inside.b
    if kind.startswith("slices"):
        name, size = ("xs", 1) if kind == "slices" else ("fixed", -2)
        h = inside.state(start, 0)
        row = b(ReduceSum(), inside.slices(name, size), b.i64(0))
        results = step(inside, h, row, inner)
        return emit(scope, inside, TensorIterator(), results, PortMap(tuple(inside.ports)))
    stops = kind in {"run time", "while"}
    trips = {"counted": COUNTED, "never": 0, "while": -1}
    inside.externals = [
        scope["count"] if kind == "run time" else scope.b.i64(trips[kind]),
        scope["go"] if stops else scope.b.constant(True, BOOL),
    ]
    h = inside.state(start, 1)
    number = inside.parameter("i", TensorType(I64, Shape.of()))
    row = b(Add(), inside["x"], b(Convert(F32), number))
    results = step(inside, h, row, inner)
    condition = b(Less(), number, inside["stop"]) if stops else b.constant(True, BOOL)
    ports = PortMap(tuple(inside.ports), iteration=1, condition=0)
    return emit(scope, inside, Loop(), [condition, *results], ports)


def emit(
    scope: Scope, inside: Scope, op: Loop | TensorIterator, results: list[Value], ports: PortMap
) -> list[Value]:
    """A loop whose body returns a condition (Loop only), the state and the concatenated values."""
    first = 1 if isinstance(op, Loop) else 0
    outputs: list[OutputPort] = [LastValue(first, 0)]
    outputs += [Concatenated(first + at, at, 0) for at in range(1, len(results) - first)]
    for at, value in enumerate(results):
        inside.b.result(value, f"result{at}")
    ports = PortMap(ports.inputs, tuple(outputs), ports.iteration, ports.condition)
    body = Body("body", inside.b.graph, ports)
    node = scope.b.emit(op, *inside.externals, n_outputs=len(outputs), bodies=(body,))
    return list(node.outputs)


def branch(scope: Scope, start: Value, inner: str) -> list[Value]:
    """An If that runs the body once, or returns the state twice."""
    then, other = Scope(scope), Scope(scope)
    # Both branches share the inputs of the If; each one declares those that it uses.
    then.known = {"start": then.parameter("start", start.type)}
    other.known = {"start": other.parameter("start", start.type)}
    b = other.b
    up = b(Unsqueeze(), other.known["start"], b.i64(0))
    less = b(Subtract(), other.known["start"], other["x"])
    twice = [less, b(Concat(0), up, up)]
    if inner:
        twice += [b.constant([0, 0], F32), b.i64([0, 0]), b(Concat(0), up, up)]
    once = step(then, then.known["start"], then["x"], inner)
    bodies, externals = [], [scope["flag"], start]
    for label, inside, results in (("then", then, once), ("else", other, twice)):
        ports: list[InputPort] = [Invariant(1, 0)]
        for port, value in zip(inside.ports, inside.externals, strict=True):
            ports.append(Invariant(len(externals), port.parameter))
            externals.append(value)
        for at, value in enumerate(results):
            inside.b.result(value, f"result{at}")
        outputs = tuple(LastValue(at, at) for at in range(len(results)))
        bodies.append(Body(label, inside.b.graph, PortMap(tuple(ports), outputs)))
    node = scope.b.emit(If(), *externals, n_outputs=len(once), bodies=tuple(bodies))
    return list(node.outputs)


def model(outer: str, inner: str) -> tuple[Model, tuple[str, ...]]:
    """The model, and the names of its inputs."""
    scope = Scope()
    outputs = construct(scope, outer, scope["h"], inner)
    for name, value in zip(OUTPUTS, outputs, strict=True):
        value.names = (name,)
        scope.b.result(value, name)
    return Model(scope.b.graph, "openvino", 11), tuple(scope.known)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("inner", KINDS)
@pytest.mark.parametrize("outer", KINDS)
def test_onnx_runtime_computes_each_nest_correctly(
    outer: str, inner: str, engines: Engines, tmp_path: Path
) -> None:
    built, names = model(outer, inner)
    names = tuple(name for name in NAMES if name in names)
    source, path = tmp_path / "model.xml", tmp_path / "model.onnx"
    irloop.save_model(built, source, ir_version=11)
    converted, _ = irloop.convert(source)
    irloop.save_model(converted, path)
    check_onnx(path)
    found = engines.run_all("onnxruntime", path, arrays(names), tmp_path, names)
    assert same(found, expected(outer, inner))
