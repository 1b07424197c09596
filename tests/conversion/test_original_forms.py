"""ONNX, to IR and back: what only OpenVINO needs does not stay, and decompositions are fused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import irloop
from irloop.analysis.ranges import is_never_negative
from irloop.building.ir_model import IrModel
from irloop.conversion.loops.uncut_outputs import UncutOutputs
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Maximum, Minimum, Multiply
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.execution.session import Session
from irloop.formats.onnx.reader import from_proto
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from tests.conversion.both_engines import HEADER

#: Models, and the most operations that come back, constants apart.
LOOPS = {
    "a state that grows": (
        """g (int64 n, float[2] x) => (float[k] all) {
          start = Identity (x)
          all = Loop (n, , start) <body = b (int64 i, bool c, float[m] s) => (bool d, float[l] t) {
            d = Identity (c)  t = Concat <axis = 0> (s, x) }> }""",
        9,
    ),
    "a state that becomes another": (
        """g (float[3, 2] x, float[2] h) => (float[2] last, float[3, 2] all) {
          last, all = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] p)
            => (float[2] t, float[2] r) { t = Add (s, p)  r = Mul (t, p) }> (h, x) }""",
        3,
    ),
    "a state that is padded and cut": (
        """g (float[a, 2] x) => (float[b, 2] y) {
          pads = Constant <value_ints = [0, 0, 1, 0]> ()  three = Constant <value_int = 3> ()
          zero = Constant <value_ints = [0]> ()  two = Constant <value_ints = [2]> ()
          y = Loop (three, "", x) <body = b (int64 i, bool c, float[e, 2] s)
            => (bool d, float[f, 2] t) {
            d = Identity (c)  p = Pad (s, pads)  t = Slice (p, zero, two, zero) }> }""",
        4,
    ),
    "an output that may be empty": (
        """g (int64 n, float[2] x) => (float[k, 2] all) {
          all = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float[2] t) {
            d = Identity (c)  t = Neg (x) }> }""",
        8,
    ),
    "log of sums": (
        """g (float[3, 4] x) => (float[3] y) {
          y = ReduceLogSumExp <axes = [1], keepdims = 0> (x) }""",
        1,
    ),
    "log of sums, axes from the end": (
        """g (float[3, 4, 2] x) => (float[4] y) {
         y = ReduceLogSumExp <axes = [0, -1], keepdims = 0> (x) }""",
        1,
    ),
    "log of sums, all axes kept": (
        """g (float[3, 4] x) => (float[1, 1] y) { y = ReduceLogSumExp <axes = [0, 1]> (x) }""",
        1,
    ),
}


def both_ways(text: str, folder: Path) -> Path:
    source, back = folder / "model.onnx", folder / "back.onnx"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], folder / "model.xml")
    irloop.save_model(irloop.convert(folder / "model.xml")[0], back)
    return back


@pytest.mark.parametrize("kind", LOOPS)
def test_few_operations_come_back(kind: str, tmp_path: Path) -> None:
    text, most = LOOPS[kind]
    back = both_ways(text, tmp_path)
    model = irloop.read_model(back)
    types = Counter(node.op.type for node in all_nodes(model.graph))
    outside = ("Const", "Parameter", "Result", "Constant")
    assert sum(count for type, count in types.items() if type not in outside) <= most, types
    first, second = (onnxruntime.InferenceSession(path) for path in (tmp_path / "model.onnx", back))
    numbers = np.random.default_rng(0)
    for trips in (0, 1, 3):
        inputs = {
            item.name: np.array(trips)
            if item.type == "tensor(int64)"
            else numbers.standard_normal(
                [3 if isinstance(dim, str) else dim for dim in item.shape]
            ).astype(np.float32)
            for item in first.get_inputs()
        }
        for wanted, found in zip(first.run(None, inputs), second.run(None, inputs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


NESTED = """g (float[3, 4] costs, float[4] far) => (float[4] last, float[3, 4] all) {
  huge = Constant <value = float {1e6}> ()
  last, all = Scan <num_scan_inputs = 1, body = rows (float[4] above, float[4] line)
    => (float[4] row, float[4] kept) {
    left, before, row = Scan <num_scan_inputs = 2, body = cells (float l, float d, float c, float u)
      => (float best, float passed, float out) {
      m = Min (l, u, d)  best = Add (m, c)  passed = Identity (u)  out = Identity (best) }>
      (huge, huge, line, above)
    kept = Identity (row) }> (far, costs) }"""


def warped(costs: np.ndarray, far: np.ndarray) -> list[np.ndarray]:
    """The rows of dynamic time warping, each from the one above it."""
    rows, above = [], far
    for line in costs:
        left, diagonal, row = np.float32(1e6), np.float32(1e6), []
        for cost, up in zip(line, above, strict=True):
            left, diagonal = min(left, up, diagonal) + cost, up
            row.append(left)
        above = np.array(row)
        rows.append(above)
    return [above, np.stack(rows)]


def test_a_scan_in_a_scan_comes_back(tmp_path: Path) -> None:
    """In IR the inner one is a Loop, as no TensorIterator is directly inside another one."""
    back = both_ways(NESTED, tmp_path)
    types = Counter(node.op.type for node in all_nodes(irloop.read_model(back).graph))
    assert (types["Scan"], types["Loop"]) == (2, 0)
    assert not {"Squeeze", "Unsqueeze", "Gather"} & set(types)
    session, numbers = onnxruntime.InferenceSession(back), np.random.default_rng(0)
    for _ in range(2):
        costs, far = (numbers.random(shape).astype(np.float32) for shape in ((3, 4), (4,)))
        results = session.run(None, {"costs": costs, "far": far})
        for got, wanted in zip(results, warped(costs, far), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
    loops = irloop.convert(tmp_path / "model.xml", loops="loop")[0]
    assert {node.op.type for node in all_nodes(loops.graph)} & {"Scan", "Loop"} == {"Loop"}


def test_an_inner_loop_that_ends_early_stays_a_loop(tmp_path: Path) -> None:
    text = """g (float[3, 4] costs) => (float[3] ends) {
      zero = Constant <value = float {0}> ()  n = Constant <value = int64 {4}> ()
      last, ends = Scan <num_scan_inputs = 1, body = rows (float s, float[4] line)
        => (float t, float end) {
        some = Greater (s, zero)
        end = Loop (n, some, s) <body = cells (int64 i, bool c, float l) => (bool d, float m) {
          x = Gather (line, i)  m = Add (l, x)  d = Greater (m, zero) }>
        t = Identity (end) }> (start, costs) }""".replace(
        "zero = Constant", "start = Constant <value = float {1}> ()  zero = Constant", 1
    )
    back = both_ways(text, tmp_path)
    types = Counter(node.op.type for node in all_nodes(irloop.read_model(back).graph))
    assert (types["Scan"], types["Loop"]) == (1, 1)
    costs = np.array([[1, 1, -5, 9], [1, 1, 1, 1], [2, 2, 2, 2]], np.float32)
    (ends,) = onnxruntime.InferenceSession(back).run(None, {"costs": costs})
    assert ends.tolist() == [-2, -2, -2]


def test_logs_of_sums_of_infinities_come_back(tmp_path: Path) -> None:
    back = both_ways(LOOPS["log of sums"][0], tmp_path)
    x = np.array([[-np.inf] * 4, [np.inf, 0, 1, 2], [1, -np.inf, 2, 3]], np.float32)
    (y,) = onnxruntime.InferenceSession(back).run(None, {"x": x})
    np.testing.assert_allclose(y, [-np.inf, np.inf, np.log(np.exp([1, 2, 3]).sum())], rtol=1e-6)


DIVISIONS = {
    "Mod (x, z)": "Mod",
    "Mod <fmod = 1> (x, z)": "Mod",
    "Div (x, z)": "Div",
    "Mod (x, small)": "Mod",
    "Div (x, small)": "Div",
    "Mod (x, negative)": "Mod",
    "Div (x, large)": "Div",
}


@pytest.mark.parametrize("division", DIVISIONS)
@pytest.mark.parametrize("element", ["int32", "int64"])
def test_a_division_of_integers_comes_back(division: str, element: str, tmp_path: Path) -> None:
    constants = {"small": 7, "negative": -7, "large": 9_000_000}
    text = "".join(
        f"{name} = Constant <value = {element} {{{number}}}> () "
        for name, number in constants.items()
    )
    z = f", {element}[n] z" if "z)" in division else ""
    back = both_ways(
        f"g ({element}[n] x{z}) => ({element}[n] y) {{ {text} y = {division} }}", tmp_path
    )
    types = [node.op_type for node in onnx.load(back).graph.node]
    assert types == [DIVISIONS[division]]
    numbers = np.random.default_rng(0)
    x, divisors = (numbers.integers(-(2**31), 2**31, 300) for _ in range(2))
    divisors[::2] = numbers.integers(1, 50, 150)
    divisors[divisors == 0] = 1
    inputs = {"x": x.astype(element)} | ({"z": divisors.astype(element)} if z else {})
    source = tmp_path / "model.onnx"
    wanted, found = (
        onnxruntime.InferenceSession(path).run(None, inputs)[0] for path in (source, back)
    )
    np.testing.assert_array_equal(found, wanted)


def test_an_unguarded_log_of_sums_stays(tmp_path: Path) -> None:
    text = """g (float[3, 4] x) => (float[3, 1] y) {
      m = ReduceMax <axes = [1]> (x)  d = Sub (x, m)  e = Exp (d)
      axis = Constant <value_ints = [1]> ()  s = ReduceSum (e, axis)  l = Log (s)
      y = Add (l, m) }"""
    model = irloop.read_model(both_ways(text, tmp_path))
    assert "ReduceLogSumExp" not in {node.op.type for node in all_nodes(model.graph)}


@pytest.mark.parametrize("never", [False, True])
def test_an_endless_trip_count_is_tested_where_it_can_be(never: bool) -> None:
    """A negative trip count of IR means no limit, and one of ONNX no iteration."""
    m = IrModel()
    n = m.input("n", element=ElementType.I64)
    trips = m(Maximum(), n, m.constant(0, ElementType.I64)) if never else n
    loop = m.loop(trips)
    state = loop.state(m.input("x", 2))
    total = loop(Add(), state, state)
    loop.carry(state, total)
    loop.last(total)
    made, _ = irloop.convert(m.done(*loop.done()))
    types = {node.op.type for node in made.graph.nodes}
    assert ("Where" in types) is not never


def test_numbers_that_are_never_negative() -> None:
    m = IrModel()
    x, n = m.input("x", None, 2), m.input("n", element=ElementType.I64)
    size, zero = m(ShapeOf3(), x), m.constant(0, ElementType.I64)
    assert is_never_negative(size)
    assert is_never_negative(zero)
    assert is_never_negative(m(Maximum(), n, zero))
    assert is_never_negative(m(Minimum(), size, zero))
    assert not is_never_negative(n)
    assert not is_never_negative(m.constant(-1, ElementType.I64))
    assert not is_never_negative(m(Minimum(), n, zero))
    # These may overflow.
    raised = m(Maximum(), n, zero)
    assert not is_never_negative(m(Multiply(), raised, raised))
    assert not is_never_negative(m(Convert(ElementType.I32), raised))


#: Ends of a Slice of what a Loop stacks, and whether they keep all elements of each run.
ENDS = {
    "Min (n, one)": False,
    "Identity (n)": True,
    "Identity (other)": False,
    "Mul (large, low)": True,
    "Mul (small, low)": False,
    "Mul (large, cast)": False,
}


@pytest.mark.parametrize("end", ENDS)
def test_only_slices_of_nothing_are_removed(end: str, tmp_path: Path) -> None:
    """Those that are empty if the Loop does not run, and whole if it does."""
    text = f"""g (int64 n, int64 other, float[2] x) => (float[k, 2] y) {{
      one = Constant <value_int = 1> ()  large = Constant <value_int = 2147483647> ()
      small = Constant <value_int = 2> ()  zero = Constant <value_ints = [0]> ()
      list = Constant <value_ints = [1]> ()  low = Min (n, one)  cast = Min (other, one)
      all = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float[2] t) {{
        d = Identity (c)  t = Neg (x) }}>
      e = {end}  ends = Reshape (e, list)  y = Slice (all, zero, ends, zero) }}"""
    source = from_proto(onnx.parser.parse_model(HEADER + text))
    Manager([UncutOutputs()]).run_passes(source)
    assert ("Slice" not in {node.op.type for node in source.graph.nodes}) is ENDS[end]
    session = Session(source)
    for n, other in ((3, 0), (0, 2), (1, 5)):
        cut = {"Min (n, one)": min(n, 1), "Identity (other)": other, "Mul (small, low)": 2}
        stop = cut.get(end, 0 if end == "Mul (large, cast)" and other == 0 else n)
        (found,) = session.run([np.array(n), np.array(other), np.ones(2, np.float32)]).values()
        assert found.shape == (min(n, stop), 2)


@pytest.mark.parametrize(
    ("outputs", "inputs", "moves"), [(1, 8, True), (1, 9, False), (2, 1, False)]
)
def test_weights_of_one_output_channel_stay_out_of_bodies(
    outputs: int, inputs: int, moves: bool, tmp_path: Path
) -> None:
    weights = ", ".join("0.5" for _ in range(9 * outputs * inputs))
    text = f"""g (int64 n, float[1, {inputs}, 4, 4] x) => (float[1, {inputs}, 4, 4] y) {{
      kernel = Constant <value = float[{outputs}, {inputs}, 3, 3] {{ {weights} }}> ()
      axis = Constant <value_ints = [1]> ()
      y = Loop (n, "", x) <body = b (int64 i, bool c, float[1, {inputs}, 4, 4] s)
        => (bool d, float[1, {inputs}, 4, 4] t) {{
        d = Identity (c)  all = Conv <pads = [1, 1, 1, 1]> (s, kernel)
        one = ReduceMean <axes = [1]> (all)  t = Sub (s, one) }}> }}"""
    back = both_ways(text, tmp_path)
    (loop,) = [node for node in onnx.load(back).graph.node if node.op_type == "Loop"]
    inner = [len(item.dims) for item in loop.attribute[0].g.initializer]
    assert (4 not in inner) is moves
    first, second = (onnxruntime.InferenceSession(path) for path in (tmp_path / "model.onnx", back))
    x = np.random.default_rng(0).standard_normal((1, inputs, 4, 4)).astype(np.float32)
    for n in (3, 0):
        given = {"n": np.array(n), "x": x}
        wanted, found = first.run(None, given), second.run(None, given)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4)


def test_conditions_of_large_integers_come_back(tmp_path: Path) -> None:
    """OpenVINO must not compute them with the choices: one Convert there and back for both."""
    text = """g (int64[3] x, int64[3] y, int64 n) => (int64[3] larger, int64[3] smaller) {
      larger, smaller = Loop (n, "", x, y) <body = b (int64 i, bool d, int64[3] a, int64[3] b)
        => (bool e, int64[3] f, int64[3] g) {
        e = Identity (d)  l = Less (b, a)  c = Not (l)  f = Where (c, b, a)  g = Where (c, a, b)
      }> }"""
    back = both_ways(text, tmp_path)
    converted, types = (
        Counter(
            node.op.type
            for body in model.graph.nodes
            for each in body.bodies
            for node in each.graph.nodes
        )
        for model in map(irloop.read_model, (tmp_path / "model.xml", back))
    )
    assert (converted["Select"], types["Where"]) == (2, 2)
    assert types["Cast"] == converted["Convert"] - 2
    x, y = np.array([2**30 + 1, 5, -7]), np.array([2**30, 2**29 + 1, -7])
    found = onnxruntime.InferenceSession(back).run(None, {"x": x, "y": y, "n": np.array(1)})
    np.testing.assert_array_equal(found, [np.maximum(x, y), np.minimum(x, y)])
