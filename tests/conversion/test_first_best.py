"""ArgMax and ArgMin there and back, and one-hot codes of positions that are never negative."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.analysis.ranges import is_never_negative
from irloop.building.ir_model import IrModel
from irloop.conversion.tensors.ordered_topk import FEW
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.generate import Range4
from irloop.dialects.openvino.search import TopK3
from irloop.formats.onnx.reader import from_proto
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType
from tests.conversion.both_engines import F32, HEADER, agree, assert_same, needs_engines

pytestmark = needs_engines

#: Several elements equal the largest, and several the smallest.
TIES = np.array([[[1, 3], [3, 0], [3, 3]], [[0, 0], [2, 2], [0, 2]]])


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def _types(graph: Graph) -> list[str]:
    """The types of all operations, those of bodies included."""
    found = []
    for node in graph.nodes:
        found.append(node.op.type)
        for body in node.bodies:
            found += _types(body.graph)
    return found


def _back(text: str) -> Model:
    """The ONNX model that is written from the IR of an ONNX model."""
    source = from_proto(onnx.parser.parse_model(HEADER + text))
    return irloop.convert(irloop.convert(source, "openvino")[0], "onnx")[0]


def _run(model: Model, folder: Path, inputs: list[Any]) -> list[Any]:
    irloop.save_model(model, folder / "back.onnx")
    session = onnxruntime.InferenceSession(str(folder / "back.onnx"))
    names = [port.name for port in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


@pytest.mark.parametrize("kind", ["float", "double", "int64"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
def test_the_first_of_equal_elements_is_one_operation_again(
    name: str, axis: int, kind: str, engines: Engines, tmp_path: Path
) -> None:
    shape = {0: "1, 3, 2", 1: "2, 1, 2", -1: "2, 3, 1"}[axis]
    text = f"g ({kind}[2, 3, 2] x) => (int64[{shape}] y) {{ y = {name} <axis = {axis}> (x) }}"
    x = TIES.astype({"float": F32, "double": np.float64, "int64": np.int64}[kind])
    agree(text, [[x], [-x], [x]], engines, tmp_path)
    back = _back(text)
    if kind != "int64":  # large integers are compared in parts
        searches = ("ReduceMin", "TopK", name)
        assert [kind for kind in _types(back.graph) if kind in searches] == [name]
    wanted = getattr(np, name.lower())(x, axis=axis, keepdims=True)
    assert_same(_run(back, tmp_path, [x]), [wanted], "back")


@pytest.mark.parametrize(
    ("shape", "reduced"),
    [(f"2, {2**24 - 1}", 1), (f"2, {2**24}", 0), ("2, n", 0), ("n, 3", 1), ("n, 3, 1", 0)],
)
def test_positions_are_reduced_where_openvino_does_it_exactly(shape: str, reduced: int) -> None:
    found = "a, b, c" if shape.count(",") > 1 else "a, b"
    text = f"g (float[{shape}] x) => (int64[{found}] y) {{ y = ArgMax <axis = 1> (x) }}"
    there, _ = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + text)), "openvino")
    types = _types(there.graph)
    assert (types.count("ReduceMin"), types.count("TopK")) == (reduced, 2 - reduced)


@pytest.mark.parametrize("kind", ["float", "int64"])
@pytest.mark.parametrize("shape", [(4, 20), (20, 4), (1, 9)])
def test_arithmetic_with_positions(
    kind: str, shape: tuple[int, ...], engines: Engines, tmp_path: Path
) -> None:
    """The plugin computes it together with a reduction."""
    dims = ", ".join(map(str, shape))
    text = f"""g ({kind}[{dims}] x) => (int64[a] y, int64[b] z, bool[c] less) {{
      one = Constant <value_int = 1> ()  nine = Constant <value_int = 9> ()
      p = ArgMax <axis = -1, keepdims = 0> (x)  y = Sub (nine, p)
      q = ArgMin <axis = 0, keepdims = 0> (x)  z = Sub (q, one)  less = Less (q, one) }}"""
    x = np.random.default_rng(0).integers(-2, 3, shape).astype(F32 if kind == "float" else np.int64)
    agree(text, [[x]], engines, tmp_path)


@pytest.mark.parametrize("size", [FEW, FEW + 1])
def test_positions_on_a_long_axis(size: int, engines: Engines, tmp_path: Path) -> None:
    """Up to a limit they are written as a constant, above it as a Range."""
    x = np.zeros((2, size), F32)
    x[0, [5, size - 1]] = x[1, -1] = 1
    text = f"g (float[2, {size}] x) => (int64[2] y) {{ y = ArgMax <axis = 1, keepdims = 0> (x) }}"
    agree(text, [[x], [-x]], engines, tmp_path)
    there, _ = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + text)), "openvino")
    assert ("Range" in _types(there.graph)) is (size > FEW)


def test_the_last_of_equal_elements_is_no_plain_argmax(tmp_path: Path) -> None:
    text = """g (float[2, 3, 2] x) => (int64[2, 1, 2] y) {
   y = ArgMax <axis = 1, select_last_index = 1> (x) }"""
    x = TIES.astype(F32)
    wanted = 2 - np.argmax(x[:, ::-1], axis=1, keepdims=True)
    assert_same(_run(_back(text), tmp_path, [x]), [wanted], "back")


def test_another_order_of_positions_is_left_as_it_is(tmp_path: Path) -> None:
    text = """g (float[3] x) => (int64[1] y) {
   one = Constant <value = int64[1] {1}> ()
   places = Constant <value = int64[3] {PLACES}> ()
   n = Constant <value = int64 {2}> ()
   best, unused = TopK <axis = 0> (x, one)
   same = Equal (x, best)
   chosen = Where (same, places, n)
   y, other = TopK <axis = 0, largest = 0> (chosen, one) }"""
    x = np.array([7, 1, 7], F32)
    for places, wanted in (("0, 1, 2", 0), ("2, 1, 0", 0), ("1, 0, 2", 1)):
        back = _back(text.replace("PLACES", places))
        assert_same(_run(back, tmp_path, [x]), [np.array([wanted])], places)
        assert ("ArgMax" in _types(back.graph)) is (places == "0, 1, 2")


@pytest.mark.parametrize(
    ("otherwise", "wanted", "is_one"), [(2, 2, True), (9, 2, True), (1, 1, False), (-1, -1, False)]
)
def test_a_smaller_number_for_other_elements_is_the_result(
    otherwise: int, wanted: int, is_one: bool, tmp_path: Path
) -> None:
    """The largest element is the last one."""
    text = f"""g (float[3] x) => (int64[1] y) {{
   one = Constant <value = int64[1] {{1}}> ()
   places = Constant <value = int64[3] {{0, 1, 2}}> ()
   n = Constant <value = int64 {{{otherwise}}}> ()
   best, unused = TopK <axis = 0> (x, one)
   same = Equal (x, best)
   chosen = Where (same, places, n)
   y, other = TopK <axis = 0, largest = 0> (chosen, one) }}"""
    back = _back(text)
    assert_same(_run(back, tmp_path, [np.array([1, 2, 7], F32)]), [np.array([wanted])], "back")
    assert ("ArgMax" in _types(back.graph)) is is_one


def test_positions_of_another_type_are_left_as_they_are(tmp_path: Path) -> None:
    text = """g (float[3] x) => (float[1] y) {
   one = Constant <value = int64[1] {1}> ()
   places = Constant <value = float[3] {0.0, 1.0, 2.0}> ()
   n = Constant <value = float {2.0}> ()
   best, unused = TopK <axis = 0> (x, one)
   same = Equal (x, best)
   chosen = Where (same, places, n)
   y, other = TopK <axis = 0, largest = 0> (chosen, one) }"""
    back = _back(text)
    assert_same(_run(back, tmp_path, [np.array([1, 7, 2], F32)]), [np.array([1], F32)], "back")


@pytest.mark.parametrize(("source", "repaired"), [("ArgMax", False), ("Identity", True)])
def test_one_hot_codes_of_negative_indices(
    source: str, repaired: bool, engines: Engines, tmp_path: Path
) -> None:
    """Negative indices count from the end in ONNX; those of an ArgMax cannot be negative."""
    first = "ArgMax <axis = 0, keepdims = 0> (x)" if source == "ArgMax" else "Identity (i)"
    text = f"""g (float[3, 4] x, int64[4] i) => (float[4, 5] y, int64[4] z) {{
   depth = Constant <value = int64 {{5}}> ()
   values = Constant <value = float[2] {{0.0, 2.0}}> ()
   at = {first}
   y = OneHot (at, depth, values)
   z = Neg (i) }}"""
    x = np.array([[1, 5, 2, 2], [4, 5, 2, 1], [4, 0, 3, 1]], F32)
    sets = [[x, np.array(given, np.int64)] for given in ([0, 4, -1, -5], [5, -6, 2, 9])]
    agree(text, sets, engines, tmp_path)
    there, _ = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + text)), "openvino")
    assert ("Add" in _types(there.graph)) is repaired
    for given in sets:
        wanted = engines.run_all("onnxruntime", tmp_path / "model.onnx", [given], tmp_path)[0]
        assert_same(_run(_back(text), tmp_path, given), wanted, "back")


def test_numbers_that_searches_and_ranges_give() -> None:
    m = IrModel()
    i64 = ElementType.I64
    n, c = m.input("n", 4, element=i64), m.input("c", 4, element=ElementType.BOOLEAN)
    zero, one, minus, low = (m.constant(number, i64) for number in (0, 1, -1, -2))
    up, down = m(Range4(i64), zero, one, one), m(Range4(i64), one, low, minus)
    assert is_never_negative(up)
    assert not is_never_negative(down)
    assert is_never_negative(m(Select(), c, up, zero))
    assert not is_never_negative(m(Select(), c, up, minus))
    assert not is_never_negative(m(Select(), c, n, zero))
    search = m(TopK3(0, "max", "value", i64), n, one).producer
    assert is_never_negative(search.outputs[1])
    assert not is_never_negative(search.outputs[0])


def test_large_integers_are_sorted_exactly(tmp_path: Path) -> None:
    m = IrModel()
    x = m.input("x", 4, element=ElementType.I64)
    found = m(TopK3(0, "max", "value", ElementType.I64), x, m.constant(2, ElementType.I64))
    model = m.done(found)
    given = np.array([2**24, 2**24 + 1, 5, 2**24 + 2], np.int64)
    for opset in (11, 17):
        made = irloop.convert(model, "onnx", opset=opset)[0]
        assert_same(_run(made, tmp_path, [given]), [given[[3, 1]]], f"opset {opset}")


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
def test_searches_along_an_axis_of_unknown_size(
    kind: str, keep: int, engines: Engines, tmp_path: Path
) -> None:
    text = f"""g (float[a, n] x) => (int64[?, ?] y) {{
   p = {kind} <axis = 1, keepdims = {keep}> (x)
   one = Constant <value = int64[1] {{1}}> ()
   y = {"Identity (p)" if keep else "Unsqueeze (p, one)"} }}"""
    x = np.array([[1, 5, 0, 5], [4, 4, 4, 4], [0, 2, 1, 0]], F32)
    sets = [[x], [x[:, :2]], [x[:1, 1:]]]
    agree(text, sets, engines, tmp_path)
    back = _back(text)
    assert not {"TopK", "Range", "Squeeze"} & set(_types(back.graph))
    for given in sets:
        wanted = engines.run_all("onnxruntime", tmp_path / "model.onnx", [given], tmp_path)[0]
        assert_same(_run(back, tmp_path, given), wanted, "back")


def test_a_range_that_ends_elsewhere_is_no_search(tmp_path: Path) -> None:
    text = """g (float[n] x, int64 m) => (int64[1] y) {
   one = Constant <value = int64[1] {1}> ()  step = Constant <value = int64 {1}> ()
   zero = Constant <value = int64 {0}> ()
   last = Sub (m, step)  places = Range (zero, m, step)
   best, unused = TopK <axis = 0> (x, one)
   same = Equal (x, best)
   chosen = Where (same, places, last)
   y, other = TopK <axis = 0, largest = 0> (chosen, one) }"""
    back = _back(text)
    assert "ArgMax" not in _types(back.graph)
    assert_same(_run(back, tmp_path, [np.array([1, 7, 2], F32), np.array(3)]), [np.array([1])], "")


def test_other_squeezes_stay_beside_the_form(tmp_path: Path) -> None:
    """Of an input, and of all axes of size 1; the positions are looked for in all models that have
    the operations."""
    text = """m (float[3] x, float[1,3] r, float[N,3] s) => (int64 y, float[3] z, float[3] t) {
        axis = Constant <value_ints = [0]> ()
        y = ArgMax <keepdims = 0> (x)
        z = Squeeze (r, axis)
        t = Squeeze (s)
    }"""
    arrays = [np.array(numbers, np.float32) for numbers in ([1, 3, 3], [[4, 5, 6]], [[7, 8, 9]])]
    y, z, t = _run(_back(text), tmp_path, arrays)
    assert (int(y), z.tolist(), t.tolist()) == (1, [4, 5, 6], [7, 8, 9])
