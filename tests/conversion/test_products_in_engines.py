"""Products that ONNX Runtime or OpenVINO computes incorrectly, or refuses, in their original
form.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from benchmarks.engines import Engines
from irloop import convert, save_model
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.graph.types import ElementType
from tests.conversion.both_engines import needs_engines

pytestmark = needs_engines

Array = np.ndarray[Any, np.dtype[Any]]
I64 = ElementType.I64


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def drawn(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def parsed(text: str, path: Path) -> Path:
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]>' + text)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (2, 3, 3), (2, 4, 3)])
@pytest.mark.parametrize("is_constant", [False, True])
def test_transposed_matrices_times_vectors_to_onnx(
    shape: tuple[int, ...], is_constant: bool, engines: Engines, tmp_path: Path
) -> None:
    m = IrModel()
    vector = drawn(1, shape[-2])
    a = m.input("a", *shape)
    b = m.constant(vector) if is_constant else m.input("b", shape[-2])
    path = tmp_path / "m.onnx"
    save_model(convert(m.done(m(MatMul(transpose_a=True), a, b)))[0], path)
    sets = [[drawn(seed, *shape), *([] if is_constant else [vector * seed])] for seed in (2, 3)]
    for given, (found,) in zip(
        sets, engines.run_all("onnxruntime", path, sets, tmp_path), strict=True
    ):
        factor = vector if is_constant else given[1]
        expected = np.swapaxes(given[0], -1, -2) @ factor
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_transposed_matrices_times_vectors_in_nested_loops(
    engines: Engines, tmp_path: Path
) -> None:
    """The loops multiply their state by a transposed matrix; n and k are the trip counts."""
    m = IrModel()
    a, b = m.input("a", 3, 3), m.input("b", 3)
    n, k = m.input("n", element=I64), m.input("k", element=I64)
    outer = m.loop(n)
    state, matrix, count = outer.state(b), outer.invariant(a), outer.invariant(k)
    inner = m.inside(outer).loop(count)
    part = inner.state(state)
    inner.carry(part, inner(MatMul(transpose_a=True), inner.invariant(matrix), part))
    inner.last_of(part)
    (made,) = inner.done()
    outer.carry(state, made)
    outer.last_of(state)
    outer.joined(outer(Unsqueeze(), made, outer.constant([0], I64)), 0)
    path = tmp_path / "m.onnx"
    save_model(convert(m.done(*outer.done()))[0], path)
    matrix_given, vector = drawn(1, 3, 3), drawn(2, 3)
    counts = [(2, 2), (0, 3), (3, 1), (1, 0)]
    sets = [[matrix_given, vector, np.array(n), np.array(k)] for n, k in counts]
    found = engines.run_all("onnxruntime", path, sets, tmp_path)
    for (trips, times), (last, rows) in zip(counts, found, strict=True):
        power = np.linalg.matrix_power(matrix_given.T.astype(np.float64), times)
        expected = [vector.astype(np.float64)]
        for _ in range(trips):
            expected.append(power @ expected[-1])
        np.testing.assert_allclose(last, expected[-1], 1e-4, 1e-4)
        np.testing.assert_allclose(rows, np.reshape(expected[1:], (trips, 3)), 1e-4, 1e-4)


CONST = """
g (float[2,3] x, float[4,1] scale) => (float[2,4] y) <{type}[4,3] w = {{{numbers}}}> {{
    wide = Cast<to = 1>(w)  scaled = Mul(wide, scale)
    turned = Transpose<perm = [1, 0]>(scaled)  y = MatMul(x, turned)
}}"""
NUMBERS = ", ".join(str(number) for number in range(1, 13))
WEIGHTS = np.arange(1, 13, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("type", ["uint8", "int8"])
def test_computed_scales_of_weights_to_ir(type: str, engines: Engines, tmp_path: Path) -> None:
    source = parsed(CONST.format(type=type, numbers=NUMBERS), tmp_path / "m.onnx")
    path = tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    sets = [[drawn(seed, 2, 3), drawn(seed + 10, 4, 1)] for seed in range(3)]
    for (x, scale), (found,) in zip(
        sets, engines.run_all("openvino", path, sets, tmp_path), strict=True
    ):
        np.testing.assert_allclose(found, x @ (WEIGHTS * scale).T, 1e-4, 1e-4)


LOOP = """
g (int64 n, int64 k, float[2,3] x, float[4,1] scale) => (float[2,4] y, float[t,u,2,4] all)
    <int8[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float two = {2.0}> {
    zero = Constant<value = float[1] {0.0}>()
    shape = Constant<value = int64[2] {2, 4}>()
    empty = Expand(zero, shape)
    s, y, all = Loop (n, , scale, empty) <body = outer
        (int64 i, bool go, float[4,1] s, float[2,4] o)
        => (bool out, float[4,1] s2, float[2,4] o2, float[u,2,4] rows) {
        s2, o2, rows = Loop (k, , s, o) <body = inner (int64 j, bool on, float[4,1] t, float[2,4] p)
            => (bool on2, float[4,1] t2, float[2,4] p2, float[2,4] row) {
            on2 = Identity(on)  t2 = Mul(t, two)
            wide = Cast<to = 1>(w)  less = Sub(wide, t)  scaled = Mul(less, t)
            turned = Transpose<perm = [1, 0]>(scaled)
            row = MatMul(x, turned)  p2 = Identity(row)
        }>
        out = Identity(go)
    }>
}"""


def test_computed_scales_of_weights_in_nested_loops(engines: Engines, tmp_path: Path) -> None:
    source, path = parsed(LOOP, tmp_path / "m.onnx"), tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    i64 = np.int64
    sets = [
        [np.array(n, i64), np.array(k, i64), drawn(n + k, 2, 3), drawn(n + k + 9, 4, 1)]
        for n, k in ((2, 3), (1, 1), (3, 2))
    ]
    found = engines.run_all("openvino", path, sets, tmp_path)
    expected = engines.run_all("onnxruntime", source, sets, tmp_path)
    for one, other in zip(found, expected, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_allclose(left, right, 1e-4, 1e-4)


@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 3), (2, 1, 4, 3)])
@pytest.mark.parametrize("is_open", [False, True])
def test_scaled_products_with_constant_vectors_to_ir(
    shape: tuple[int, ...], is_open: bool, engines: Engines, tmp_path: Path
) -> None:
    dims = ", ".join(
        f"d{at}" if is_open and at == 0 else str(size) for at, size in enumerate(shape)
    )
    text = f"""g (float[{dims}] x) => (float[{dims.rpartition(",")[0]}] y)
        <float[3] b = {{1.0, -2.0, 3.0}}, float k = {{0.5}}> {{
        p = MatMul(x, b)  y = Mul(p, k)
    }}"""
    source, path = parsed(text, tmp_path / "m.onnx"), tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    sets = [[drawn(seed, *shape)] for seed in (1, 2)]
    vector = np.array([1, -2, 3], np.float32)
    for (x,), (found,) in zip(sets, engines.run_all("openvino", path, sets, tmp_path), strict=True):
        np.testing.assert_allclose(found, x @ vector * 0.5, 1e-5, 1e-5)
