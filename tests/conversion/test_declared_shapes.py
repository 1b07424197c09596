"""ONNX models whose output shapes follow from inputs, for a target that needs static shapes.

The expected numbers are ONNX Runtime's; the IR runs in OpenVINO, all inputs in one compiled model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.types import TensorType
from tests.conversion.both_engines import F32, HEADER, assert_same, i64, needs_engines

pytestmark = needs_engines

TARGET = "openvino-2021.4"

X = np.array([[[3, -1, 2, 7], [0, 5, 4, -6]], [[1, 9, -8, 2], [6, 6, 0, 1]]], F32)
REDUCTIONS = (
    *("Sum", "Mean", "Prod", "Max", "Min"),
    *("L1", "L2", "LogSum", "LogSumExp", "SumSquare"),
)

SQUARE = np.array([[2, -3, 1], [5, 0, 4], [-7, 6, 8]], F32)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def read(text: str, folder: Path, opset: int = 20) -> Path:
    path = folder / "model.onnx"
    header = HEADER.replace("17", str(opset))
    path.write_bytes(onnx.parser.parse_model(header + text).SerializeToString())
    return path


def agree(text: str, sets: Sequence[list[Any]], engines: Engines, folder: Path) -> list[str]:
    """Assert that the IR for the target is static and right; return the codes of the notes."""
    source, ir = read(text, folder), folder / "model.xml"
    expected = engines.run_all("onnxruntime", source, sets, folder)
    result, notes = irloop.convert(source, "openvino", target=TARGET)
    for value in result.graph.outputs:
        assert isinstance(value.type, TensorType)
        assert value.type.shape.is_static
    irloop.save_model(result, ir)
    found = engines.run_all("openvino", ir, sets, folder)
    for at in range(len(sets)):
        wanted = [np.asarray(item) for item in expected[at]]
        assert_same([np.asarray(item) for item in found[at]], wanted, f"inputs {at}")
    return [note.code for note in notes if note.code != "CNV109"]


@pytest.mark.parametrize(
    "op", ["Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]
)
@pytest.mark.parametrize("keep", [0, 1])
def test_axes_are_chosen_while_the_model_runs(
    op: str, keep: int, engines: Engines, tmp_path: Path
) -> None:
    """Two axes lead to the declared shape if they are dropped; only one if they are kept."""
    shape = "1,3" if keep else "3"
    text = f"""g (float[3,3] x, int64[1] axes) => (float[{shape}] y) {{
      y = Reduce{op} <keepdims = {keep}> (x, axes)
    }}"""
    x = np.abs(SQUARE) + 1
    sets = [[x, i64([axis])] for axis in ([0, -2] if keep else [0, 1, -1, -2, 0])]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


def test_two_of_three_equal_axes_are_dropped(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[1,2,2,2] x, int64[2] axes) => (float[1,2] y) {
      y = ReduceSum <keepdims = 0> (x, axes)
    }"""
    x = np.array([3, -1, 2, 7, 0, 5, 4, -6], F32).reshape(1, 2, 2, 2)
    sets = [[x, i64(axes)] for axes in ([1, 2], [2, 3], [3, 1], [-1, -3], [-1, -2])]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


SLICES = [
    ("2,2,4", [[0, 0, 0], [9, 9, 9]], [0, 1, 2], [1, 1, 1]),
    ("1,2,4", [[1], [2]], [0], [1]),
    ("1,2,4", [[-2], [-1]], [-3], [1]),
    ("2,2,2", [[3], [0]], [2], [-2]),
    ("2,2,2", [[2**31 - 1], [-(2**31) + 1]], [-1], [-2]),
    ("2,1,4", [[-1, 0], [9, 9]], [1, 2], [1, 1]),
    ("2,1,4", [[-1, -1], [9, -9]], [-2, -1], [1, -1]),
]


@pytest.mark.parametrize(("shape", "bounds", "axes", "steps"), SLICES)
@pytest.mark.parametrize("fixed", [False, True])
def test_a_slice_whose_bounds_are_inputs(
    shape: str,
    bounds: list[list[int]],
    axes: list[int],
    steps: list[int],
    fixed: bool,
    engines: Engines,
    tmp_path: Path,
) -> None:
    count = len(axes)
    inputs = "" if fixed else f", int64[{count}] axes"
    constant = f"axes = Constant <value_ints = {axes}> ()" if fixed else ""
    text = f"""g (float[2,2,4] x, int64[{count}] s, int64[{count}] e, int64[{count}] steps{inputs})
        => (float[{shape}] y) {{
      {constant} y = Slice (x, s, e, axes, steps)
    }}"""
    given = [X, i64(bounds[0]), i64(bounds[1]), i64(steps), *([] if fixed else [i64(axes)])]
    assert agree(text, [given], engines, tmp_path) == ["CNV111"]


def test_one_compiled_slice_takes_several_bounds(engines: Engines, tmp_path: Path) -> None:
    """The values that decide the shape go through an operation that keeps the shape."""
    text = """g (float[2,2,4] x, int64[1] s, int64[1] e, int64[1] axes, int64[1] steps)
        => (float[2,2,2] z) {
      y = Slice (x, s, e, axes, steps)  z = Neg (y)
    }"""
    bounds = [(0, 2, 2, 1), (1, 3, -1, 1), (-2, 9, 2, 1), (0, 4, 2, 2), (3, 1, 2, -1)]
    sets = [[X, *(i64([number]) for number in each)] for each in bounds]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("axes", [None, [1], [-1], [2, 0]])
def test_pads_that_are_inputs(
    mode: str, axes: list[int] | None, engines: Engines, tmp_path: Path
) -> None:
    count = 3 if axes is None else len(axes)
    rest = "" if axes is None else f", int64[{count}] axes"
    places = [0, 1, 2] if axes is None else axes
    dims = [2, 2, 4]
    for axis in places:
        dims[axis] += 1
    text = f"""g (float[2,2,4] x, int64[{2 * count}] pads, float v{rest})
        => (float[{",".join(map(str, dims))}] y) {{
      y = Pad <mode = "{mode}"> (x, pads, v{", axes" if axes else ""})
    }}"""
    last = [] if axes is None else [i64(axes)]
    pads = [[1] * count + [0] * count, [0] * count + [1] * count]
    # ONNX Runtime reads other memory for negative pads in the other modes.
    pads += [[-1] * count + [2] * count] if mode == "constant" else []
    sets = [[X, i64(each), F32(5), *last] for each in pads]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


def test_a_pad_of_integers_without_a_value(engines: Engines, tmp_path: Path) -> None:
    text = "g (int32[3] x, int64[2] pads) => (int32[5] y) { y = Pad (x, pads) }"
    x = np.array([7, -2, 4], np.int32)
    sets = [[x, i64(pads)] for pads in ([2, 0], [0, 2], [1, 1], [-1, 3])]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


SIZES = [
    ("Reshape (x, s)", "int64[3] s", "4,2,2", [[4, 2, 2], [-1, 2, 2]]),
    ("Reshape (x, s)", "int64[3] s", "2,2,4", [[0, 2, 4], [0, 0, -1]]),
    ("Unsqueeze (x, s)", "int64[2] s", "1,2,1,2,4", [[0, 2], [-3, 0]]),
    ("Expand (x, s)", "int64[4] s", "3,2,2,4", [[3, 1, 1, 4], [3, 2, 2, 1]]),
    ("Tile (x, s)", "int64[3] s", "2,4,12", [[1, 2, 3]]),
    ("TopK <axis = 1> (x, s)", "int64[1] s", "2,1,4", [[1]]),
    ("CenterCropPad <axes = [2, 0]> (x, s)", "int64[2] s", "3,2,2", [[2, 3]]),
    ("Resize (x, , , s)", "int64[3] s", "2,3,7", [[2, 3, 7]]),
    ("Compress <axis = 2> (x, s)", "bool[3] s", "2,2,2", [[0, 1, 1], [1, 0, 1]]),
    ("Compress (x, s)", "bool[9] s", "3", [[1, 0, 0] * 3, [0, 1, 0, 1] + [0] * 4 + [1]]),
]


@pytest.mark.parametrize(("call", "declared", "shape", "values"), SIZES)
def test_sizes_that_are_inputs(
    call: str,
    declared: str,
    shape: str,
    values: list[list[int]],
    engines: Engines,
    tmp_path: Path,
) -> None:
    outputs = "y, z" if "TopK" in call else "y"
    text = f"g (float[2,2,4] x, {declared}) => (float[{shape}] y) {{ {outputs} = {call} }}"
    kind = np.bool_ if "bool" in declared else np.int64
    sets = [[X, np.array(each, kind)] for each in values]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


def test_parts_whose_lengths_are_an_input(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[2,2,4] x, int64[2] lengths) => (float[2,2,3] y, float[2,2,1] z) {
      y, z = Split <axis = -1> (x, lengths)
    }"""
    assert agree(text, [[X, i64([3, 1])]], engines, tmp_path) == ["CNV111"]


def test_generated_tensors_whose_sizes_are_inputs(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64[2] s, int64 size, int64 depth, int64[3] codes)
        => (float[2,3] zeros, float[5] window, float[3,4] hot) {
      zeros = ConstantOfShape (s)  window = HannWindow (size)
      values = Constant <value_floats = [2.0, 7.0]> ()  hot = OneHot (codes, depth, values)
    }"""
    sets = [[i64([2, 3]), i64(5), i64(4), i64(codes)] for codes in ([0, 3, 1], [-1, 2, 9])]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"] * 3


def test_a_range_between_inputs(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64 a, int64 b, int64 d) => (float[3] y) {
      r = Range (a, b, d)  f = Cast <to = 1> (r)  two = Constant <value_float = 2.0> ()
      y = Mul (two, f)
    }"""
    sets = [[i64(a), i64(b), i64(d)] for a, b, d in [(0, 3, 1), (5, -4, -3), (2, 7, 2)]]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


def test_a_grid_whose_size_is_an_input(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[1,2,3] theta, int64[4] size) => (float[1,2,3,2] y) {
      y = AffineGrid (theta, size)
    }"""
    theta = np.array([[[1, 0.5, 0], [-0.5, 2, 1]]], F32)
    sets = [[theta, i64([1, channels, 2, 3])] for channels in (1, 7)]
    assert agree(text, sets, engines, tmp_path) == ["CNV111"]


REFUSED = {
    "no shape is declared": "g (float[3,2] x, int64[1] a) => (float y) { y = ReduceSum (x, a) }",
    "the declared shape has an unknown size": """g (float[3,2] x, int64[2] s) => (float[?,3] y) {
      y = Reshape (x, s)
    }""",
    "the declared shape contradicts the operation": """g (float[3,2] x, int64[1] a)
        => (float[3,4] y) { y = ReduceSum (x, a) }""",
    "nothing need be reduced": """g (float[3,2] x, int64[n] a) => (float[3,2] y) {
      y = ReduceSum <noop_with_empty_axes = 1> (x, a)
    }""",
    "scales do not follow from sizes": """g (float[3,2] x, float[2] s) => (float[4,3] y) {
      y = Resize (x, , s)
    }""",
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_shape_that_does_not_follow_is_refused(why: str, tmp_path: Path) -> None:
    with pytest.raises(irloop.IrloopError) as error:
        irloop.convert(read(REFUSED[why], tmp_path), "openvino", target=TARGET)
    reason = "its list of axes is empty" if "nothing" in why else "static shapes only"
    assert any(reason in item.message for item in error.value.diagnostics)


def test_another_target_keeps_the_shape_open(engines: Engines, tmp_path: Path) -> None:
    text = "g (float[2,3] x, int64[2] s) => (float[3,2] y) { y = Reshape (x, s) }"
    source, ir = read(text, tmp_path), tmp_path / "model.xml"
    result, notes = irloop.convert(source, "openvino", target="openvino-2026")
    irloop.save_model(result, ir)
    x = np.arange(6, dtype=F32).reshape(2, 3)
    ((found,),) = engines.run_all("openvino", ir, [[x, i64([6, 1])]], tmp_path)
    assert found.shape == (6, 1)
    assert not notes


def test_the_note_names_the_operation_and_the_shape(tmp_path: Path) -> None:
    text = "g (float[2,3] x, int64[2] s) => (float[3,2] y) { y = Reshape (x, s) }"
    source = irloop.read_model(read(text, tmp_path))
    _, (note,) = irloop.convert(source, "openvino", target=TARGET)
    assert note.severity.value == "warning"
    assert "'y'" in note.message
    assert "[3, 2]" in note.message
    assert [node.op.type for node in source.graph.nodes] == ["Reshape"]


def types_of(text: str, folder: Path) -> list[str]:
    result, _ = irloop.convert(read(text, folder), "openvino", target=TARGET)
    return [node.op.type for node in result.graph.nodes]


def test_a_squeeze_of_computed_axes_becomes_a_reshape(engines: Engines, tmp_path: Path) -> None:
    """Its result is known although the axis is not: the runtime of 2021 refuses the Squeeze."""
    text = "g (float[1,2,3] x, int64[1] axes) => (float[2,3] y) { y = Squeeze (x, axes) }"
    x = np.arange(6, dtype=F32).reshape(1, 2, 3)
    assert agree(text, [[x, i64([axis])] for axis in (0, -3)], engines, tmp_path) == []
    assert "Squeeze" not in types_of(text, tmp_path)


def test_parts_without_elements_are_dropped(engines: Engines, tmp_path: Path) -> None:
    text = """g (float[2,2,4] x) => (float[2,2,8] y) {
      lengths = Constant <value_ints = [3, 0, 1]> ()
      a, empty, c = Split <axis = 2> (x, lengths)  n = Neg (a)  d = Concat <axis = 2> (n, empty)
      y = Concat <axis = 2> (d, empty, x, c)
    }"""
    assert agree(text, [[X], [-X]], engines, tmp_path) == []
    result, _ = irloop.convert(read(text, tmp_path), "openvino", target=TARGET)
    types = [value.type for node in result.graph.nodes for value in node.outputs]
    assert all(isinstance(type, TensorType) and type.shape.count() != 0 for type in types)
