"""Scans of unknown length, to IR and back: a Loop in IR, a Scan in an If in ONNX.

No engine gives the wanted numbers: ONNX Runtime refuses to scan nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.execution.session import Session
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, HEADER, assert_same, needs_engines

pytestmark = needs_engines

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


FORWARDS = """
g (float[2] h, float[n, 2] x) => (float[2] y, float[n, 2] z) {
  y, z = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e)
    => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (r) }> (h, x) }"""

BACKWARDS = FORWARDS.replace("<num", "<scan_input_directions = [1], num")
BOTH_BACKWARDS = BACKWARDS.replace("<scan_i", "<scan_output_directions = [1], scan_i")

OTHER_AXES = """
g (float[2] h, float[2, n] x) => (float[2] y, float[2, n] z) {
  y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
    body = b (float[2] a, float[2] e) => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (r) }>
    (h, x) }"""

BESIDE_THE_WHOLE = """
g (float[2] h, float[n, 2] x) => (float[2] y, float[n, 2] z) {
  zero = Constant <value_ints = [0]> ()
  y, z = Scan <scan_input_directions = [1], num_scan_inputs = 1, body = b (float[2] a, float[2] e)
    => (float[2] r, float[2] s) {
    t = ReduceSum <keepdims = 0> (x, zero)  r = Add (a, e)  s = Sub (r, t) }> (h, x) }"""

ONLY_ELEMENTS = """
g (float[m] h, float[n, m] x) => (float[n, m] z) {
  z = Scan <num_scan_inputs = 1, body = b (float[m] e) => (float[m] s) { s = Mul (e, h) }> (x) }"""

IN_A_LOOP = """
g (float[2] h, float[n, 2] x) => (float[2] y, float[2, n, 2] z) {
  two = Constant <value_int = 2> ()
  y, z = Loop (two, "", h) <body = l (int64 i, bool c, float[2] g)
    => (bool d, float[2] k, float[n, 2] t) {
    d = Identity (c)
    k, t = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e)
      => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (r) }> (g, x) }> }"""


def sums(h: Array, x: Array) -> list[Array]:
    every = h + np.cumsum(x, 0)
    return [every[-1] if len(x) else h, -every]


def backwards(h: Array, x: Array) -> list[Array]:
    return sums(h, x[::-1])


def both_backwards(h: Array, x: Array) -> list[Array]:
    last, every = backwards(h, x)
    return [last, every[::-1]]


def other_axes(h: Array, x: Array) -> list[Array]:
    last, every = sums(h, x.T)
    return [last, every.T]


def beside_the_whole(h: Array, x: Array) -> list[Array]:
    last, every = backwards(h, x)
    return [last, -every - x.sum(0)]


def twice(h: Array, x: Array) -> list[Array]:
    middle, first = sums(h, x)
    last, second = sums(middle, x)
    return [last, np.stack([first, second])]


MODELS: dict[str, tuple[str, Callable[[Array, Array], list[Array]]]] = {
    "forwards": (FORWARDS, sums),
    "backwards": (BACKWARDS, backwards),
    "elements and outputs backwards": (BOTH_BACKWARDS, both_backwards),
    "backwards, beside the whole": (BESIDE_THE_WHOLE, beside_the_whole),
    "other axes": (OTHER_AXES, other_axes),
    "elements only": (ONLY_ELEMENTS, lambda h, x: [x * h]),
    "in a Loop": (IN_A_LOOP, twice),
}


def round_trip(text: str, folder: Path) -> tuple[Path, Path, Path]:
    """Convert an ONNX model to IR, back, and to IR again."""
    paths = [folder / name for name in ("model.onnx", "model.xml", "back.onnx", "again.xml")]
    paths[0].write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    for source, target in pairwise(paths):
        irloop.save_model(irloop.convert(source)[0], target, ir_version=11)
    return paths[1], paths[2], paths[3]


def types_of(path: Path) -> Counter[str]:
    return Counter(node.op.type for node in all_nodes(irloop.read_model(path).graph))


@pytest.mark.parametrize("kind", MODELS)
def test_any_number_of_elements(kind: str, engines: Engines, tmp_path: Path) -> None:
    text, wanted = MODELS[kind]
    there, back, again = round_trip(text, tmp_path)
    types = types_of(back)
    assert (types["If"], types["Scan"], types["Loop"]) == (1, 1, int(kind == "in a Loop"))
    assert types_of(again)["If"] == 0
    sets = []
    for length in (3, 0, 1, 0, 2):
        x = np.arange(2 * length, dtype=F32).reshape(length, 2) + 1
        sets.append([np.array([5, 6], F32), x.T.copy() if kind == "other axes" else x])
    for path, engine in ((there, "openvino"), (back, "onnxruntime"), (again, "openvino")):
        found = engines.run_all(engine, path, sets, tmp_path)
        session = Session(irloop.read_model(path))
        for at, given in enumerate(sets):
            right = wanted(*given)
            assert_same(found[at], right, f"{engine}, {path.name}, inputs {at}")
            assert_same(list(session.run(given).values()), right, f"{path.name}, inputs {at}")


KINDS = (
    "as long as the slices",
    "as long as the first slices",
    "as long as another tensor",
    "with the iteration number",
    "until the sum is large",
)


@pytest.mark.parametrize("kind", KINDS)
def test_only_loops_as_long_as_their_slices_are_scans(
    kind: str, engines: Engines, tmp_path: Path
) -> None:
    """The sums of the elements of x, in IR: the other tensor may be longer."""
    m = IrModel()
    x, other, h = m.input("x", None), m.input("other", None), m.input("h", 1)
    sized = other if kind == "as long as another tensor" else x
    axis = m.constant(0, ElementType.I64)
    loop = m.loop(m(Gather8(), m(ShapeOf3(), sized), axis, axis))
    state, element = loop.state(h), loop.slice(x, 0)
    if kind == "as long as the first slices":
        element = loop(Add(), element, loop.slice(other, 0))
    if kind == "with the iteration number":
        element = loop(Add(), element, loop(Convert(ElementType.F32), loop.iteration()))
    following = loop(Add(), state, element)
    loop.carry(state, following)
    if kind == "until the sum is large":
        loop.condition(loop(Less(), following, loop.constant([7])))
    loop.last_of(state)
    irloop.save_model(m.done(*loop.done()), tmp_path / "model.xml", ir_version=11)
    back = tmp_path / "back.onnx"
    irloop.save_model(irloop.convert(tmp_path / "model.xml")[0], back)
    types = types_of(back)
    assert (types["Loop"], types["Scan"]) == ((0, 1) if kind in KINDS[:2] else (1, 0))
    for length in (3, 0, 2, 0):
        given = [np.arange(5, dtype=F32) + 2, np.ones(length, F32)][::-1]
        count = length
        if kind == "as long as another tensor":
            given, count = given[::-1], length
        begun, total = given[0][:count], np.zeros(1, F32)
        for at, number in enumerate(begun):
            total = total + number
            total += given[1][at] if kind == "as long as the first slices" else 0
            total += at if kind == "with the iteration number" else 0
            if kind == "until the sum is large" and total >= 7:
                break
        found = engines.run_all("onnxruntime", back, [[*given, np.zeros(1, F32)]], tmp_path)
        assert_same(found[0], [total], f"{kind}, {length} elements")


def test_an_if_that_also_does_something_else_stays(tmp_path: Path) -> None:
    """What runs over nothing must give what the other branch gives."""
    text = """
g (float[2] h, float[n, 2] x) => (float[2] last) {
  zero = Constant <value_int = 0> ()  size = Shape (x)  n = Gather (size, zero)
  runs = Less (zero, n)
  last = If (runs) <
    then_branch = t () => (float[2] y) {
      y = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] r)
        { r = Add (a, e) }> (h, x) },
    else_branch = f () => (float[2] z) { z = OTHERWISE (h) }> }"""
    for otherwise, ifs in (("Identity", 0), ("Neg", 1)):
        folder = tmp_path / otherwise
        folder.mkdir()
        there, back, _ = round_trip(text.replace("OTHERWISE", otherwise), folder)
        assert types_of(there)["If"] == ifs
        session = Session(irloop.read_model(back))
        h, sign = np.array([5, 6], F32), 1 if otherwise == "Identity" else -1
        assert_same([*session.run([h, np.zeros((0, 2), F32)]).values()], [sign * h], otherwise)
        assert_same([*session.run([h, np.ones((2, 2), F32)]).values()], [h + 2], otherwise)


def test_a_state_that_begins_with_zeros_for_each_row_needs_no_more_the_second_time(
    tmp_path: Path,
) -> None:
    """Its size is that of an axis of a model input, which OpenVINO knows nothing of."""
    text = """
g (float[n, b, 2] x) => (float[n, b, 2] all) {
  one = Constant <value_ints = [1]> ()  two = Constant <value_ints = [2]> ()
  sizes = Shape (x)  rows = Gather (sizes, one)  shape = Concat <axis = 0> (rows, two)
  zeros = ConstantOfShape (shape)
  last, all = Scan <num_scan_inputs = 1, body = s (float[b, 2] a, float[b, 2] e)
    => (float[b, 2] r, float[b, 2] t) { r = Max (a, e)  t = Neg (r) }> (zeros, x) }"""
    there, _, again = round_trip(text, tmp_path)
    assert types_of(there) == types_of(again)
