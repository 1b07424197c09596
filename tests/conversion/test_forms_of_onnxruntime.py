"""Forms of standard operations that ONNX Runtime accepts and OpenVINO does not.

The expected values are ONNX Runtime's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, assert_same, i64, needs_engines

pytestmark = needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def _drawn(seed: int, *dims: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(seed).standard_normal(dims).astype(F32)


@pytest.mark.parametrize("dims", ["5", "n"])
def test_batch_normalization_of_one_channel(dims: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""g (float[{dims}] x, float[1] s, float[1] b, float[1] m, float[1] v)
  => (float[{dims}] y) {{ y = BatchNormalization (x, s, b, m, v) }}"""
    others = [np.array([number], F32) for number in (2, -1, 0.5, 3)]
    agree(text, [[_drawn(seed, 5), *others] for seed in (1, 2)], engines, tmp_path)


@pytest.mark.parametrize(
    ("axis", "dims"), [(1, (2, 7, 2)), (-1, (3, 1, 9)), (0, (8, 4, 5)), (0, (1, 2, 1))]
)
def test_fewer_indices_than_elements(
    axis: int, dims: tuple[int, ...], engines: Engines, tmp_path: Path
) -> None:
    sizes = ",".join(map(str, dims))
    text = f"""g (float[3,4,5] x, int64[{sizes}] i) => (float[{sizes}] y) {{
  y = GatherElements <axis = {axis}> (x, i)
}}"""
    indices = np.random.default_rng(3).integers(-3, 3, dims)
    agree(text, [[_drawn(seed, 3, 4, 5), indices] for seed in (1, 2)], engines, tmp_path)


def test_fewer_indices_in_a_loop(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64 m, float[3,4] x, int64[2,2] i) => (float[3,4] last, float[k,2,2] parts) {
  go = Constant <value = bool {1}> ()
  last, parts = Loop (m, go, x) <body = b (int64 at, bool c, float[3,4] s)
      => (bool d, float[3,4] t, float[2,2] part) {
    d = Identity (c)  t = Add (s, s)  part = GatherElements <axis = 1> (t, i)
  }>
}"""
    indices = np.array([[3, 0], [1, -1]])
    agree(text, [[i64(n), _drawn(1, 3, 4), indices] for n in (2, 0, 3)], engines, tmp_path)


def test_an_empty_list_of_axes_means_all(engines: Engines, tmp_path: Path) -> None:
    text = (
        """g (float[3,1,5,1] x) => (float[?,?] y) <int64[0] axes = {}> { y = Squeeze (x, axes) }"""
    )
    agree(text, [[_drawn(1, 3, 1, 5, 1)], [_drawn(2, 3, 1, 5, 1)]], engines, tmp_path)


def test_an_axis_listed_twice_is_squeezed_once(engines: Engines, tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 11]>
g (float[1,4,1,2] x) => (float[4,2] y) { y = Squeeze <axes = [2, 0, 2, -4]> (x) }"""
    agree(text, [[_drawn(1, 1, 4, 1, 2)]], engines, tmp_path)


def test_a_trace_without_an_arrow(engines: Engines, tmp_path: Path) -> None:
    text = 'g (float[3,3] x) => (float y) { y = Einsum <equation = "ii"> (x) }'
    agree(text, [[_drawn(1, 3, 3)]], engines, tmp_path)


@pytest.mark.parametrize("zero", [0, 3])
@pytest.mark.parametrize("divide", ["y = Div (one, d)", "y = Reciprocal (d)"])
def test_quantised_divisors_have_no_negative_zero(
    divide: str, zero: int, engines: Engines, tmp_path: Path
) -> None:
    """1 / -0 would be -inf; the integer 0 has no sign."""
    text = f"""g (float[5] x) => (float[5] y)
<float step = {{0.5}}, int8 zero = {{{zero}}}, float one = {{1.0}}> {{
  q = QuantizeLinear (x, step, zero)  d = DequantizeLinear (q, step, zero)  {divide}
}}"""
    agree(text, [[np.array([-0.1, 0.1, -0.25, 1, -1], F32)]], engines, tmp_path)


@pytest.mark.parametrize(
    "use",
    [
        "y = Sqrt (d)",
        "b = Cast <to = 9> (d)  y = Cast <to = 1> (b)",
        "m = Reshape (d, flat)  y = Reciprocal (m)",
    ],
)
def test_codes_equal_to_the_zero_point_become_exactly_zero(
    use: str, engines: Engines, tmp_path: Path
) -> None:
    """117 * 0.018 - 117 * 0.018 with one rounding is a tiny negative number, whose root is NaN."""
    text = f"""g (uint8[256] x) => (float[N] y)
<float step = {{0.018003248}}, uint8 zero = {{117}}, int64[1] flat = {{-1}}> {{
  d = DequantizeLinear (x, step, zero)  {use}
}}"""
    agree(text, [[np.arange(256, dtype=np.uint8)]], engines, tmp_path)


def test_divisors_are_quantised_twice_and_moved(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO fuses the arithmetic between the quantisations, and the divisor is exactly 0."""
    text = """g (float[4, 64] x) => (float[64, 4] y)
<float step = {0.018003248}, uint8 zero = {117}, float move = {-0.0567627}, float one = {1.0}> {
  q = QuantizeLinear (x, step, zero)  d = DequantizeLinear (q, step, zero)
  shifted = Add (d, move)
  r = QuantizeLinear (shifted, step, zero)  e = DequantizeLinear (r, step, zero)
  divisor = Transpose (e)
  y = Div (one, divisor)
}"""
    drawn = np.linspace(-2.1, 2.4, 256, dtype=F32).reshape(4, 64)
    agree(text, [[drawn]], engines, tmp_path)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_an_attention_mask_of_integers_is_added(
    kind: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""<ir_version: 11, opset_import: ["" : 23]>
g (float[1,1,2,2] q, float[1,1,3,2] k, float[1,1,3,2] v, {kind}[2,3] m) => (float[1,1,2,2] y) {{
  y = Attention (q, k, v, m)
}}"""
    mask = np.array([[0, -2, 1], [3, 0, -1]], kind)
    drawn = [_drawn(seed, 1, 1, size, 2) for seed, size in ((1, 2), (2, 3), (3, 3))]
    agree(text, [[*drawn, mask], [*drawn, mask[::-1]]], engines, tmp_path)


@pytest.mark.parametrize("reduction", ["add", "mul", "min", "max"])
@pytest.mark.parametrize(("axis", "dims"), [(1, (2, 7, 3)), (-1, (3, 1, 9)), (0, (8, 4, 5))])
def test_a_reduction_of_a_part_of_the_data(
    axis: int, dims: tuple[int, ...], reduction: str, engines: Engines, tmp_path: Path
) -> None:
    sizes = ",".join(map(str, dims))
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
g (float[3,4,5] x, int64[{sizes}] i, float[{sizes}] u) => (float[3,4,5] y) {{
  y = ScatterElements <axis = {axis}, reduction = "{reduction}"> (x, i, u)
}}"""
    indices = np.random.default_rng(3).integers(-3, 3, dims)
    sets = [[_drawn(seed, 3, 4, 5), indices, _drawn(seed + 2, *dims)] for seed in (1, 2)]
    agree(text, sets, engines, tmp_path)


@pytest.mark.parametrize(
    ("equation", "left", "right", "result"),
    [
        ("bik,bkj->bij", (1, 3, 2), (2, 2, 4), "?,?,?"),
        ("bik,bkj", (1, 3, 2), (2, 2, 4), "?,?"),
        ("bik,bkj->ij", (2, 3, 1), (1, 5, 4), "?,?"),
        ("...ik,...kj->...ij", (2, 3, 1), (2, 5, 4), "?,?,?"),
    ],
)
def test_stretched_axes_of_einsum(
    equation: str,
    left: tuple[int, ...],
    right: tuple[int, ...],
    result: str,
    engines: Engines,
    tmp_path: Path,
) -> None:
    """ONNX's inference does not know the sizes of stretched axes, and would refuse the model."""
    first, second = (",".join(map(str, dims)) for dims in (left, right))
    text = f"""g (float[{first}] a, float[{second}] b) => (float[{result}] y) {{
  y = Einsum <equation = "{equation}"> (a, b)
}}"""
    sets = [[_drawn(1, *left), _drawn(2, *right)]]
    agree(text, sets, engines, tmp_path)
    back = tmp_path / "back.onnx"
    irloop.save_model(irloop.convert(tmp_path / "model.xml")[0], back)
    found = engines.run_all("onnxruntime", back, sets, tmp_path)
    expected = engines.run_all("onnxruntime", tmp_path / "model.onnx", sets, tmp_path)
    assert_same(found[0], expected[0], "back in ONNX Runtime")
