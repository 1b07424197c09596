"""Conversion of reductions in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino import reduction
from irloop.graph.types import ElementType
from tests.passes.openvino_models import model_of

OPCONF_TYPES = """
    ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum
"""

BACKEND_OPS = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare
"""


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


@pytest.mark.parametrize(("opset", "axes"), [(17, [-1]), (17, [-2]), (18, [-2]), (11, [-1, 0])])
@pytest.mark.parametrize("keep", [True, False])
def test_nothing_is_reduced_along_an_axis_from_the_end(
    opset: int, axes: list[int], keep: bool, tmp_path: Path
) -> None:
    """ONNX Runtime 1.31 returns an empty input unchanged if an axis is negative."""
    runtime = pytest.importorskip("onnxruntime", reason="needs the onnxruntime package")
    model = model_of(
        lambda b, x: b(reduction.ReduceSum(keep_dims=keep), x, b.i64(axes)),
        (ElementType.F32, (None, 3)),
    )
    path = tmp_path / "model.onnx"
    irloop.save_model(irloop.convert(model, "onnx", opset=opset)[0], path)
    session = runtime.InferenceSession(path)
    x = np.zeros((0, 3), np.float32)
    wanted = x.sum(axis=tuple(axes), keepdims=keep)
    (found,) = session.run(["y0"], {"x0": x})
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("kind", "total"), [("Sum", 9.0), ("Max", 4.0), ("Prod", -48.0), ("L1", 13.0)]
)
def test_the_sum_of_a_value_of_unknown_rank_in_a_loop(
    kind: str, total: float, tmp_path: Path
) -> None:
    """The sum is known to be a scalar, so the empty output of a loop that does not run has the
    right rank.

    OpenVINO cannot run values of unknown rank, so ONNX Runtime runs the model that is converted
    back.
    """
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime", reason="needs the onnxruntime package")
    source = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
    program (float[2,3] x, int64[r] shape, int64 n) => (float[k,2,3] rows, float total) {{
        any = Reshape(x, shape)
        total = Reduce{kind}<keepdims = 0>(any)
        go = Constant<value = bool {{1}}>()
        last, rows = Loop(n, go, x)<body = step (int64 i, bool before, float[2,3] state)
            => (bool after, float[2,3] next, float[2,3] row) {{
            after = Identity(before)
            next = Add(state, total)
            row = Sub(state, total)
        }}>
    }}""")
    first, there, back = (tmp_path / name for name in ("a.onnx", "b.xml", "c.onnx"))
    first.write_bytes(source.SerializeToString())
    irloop.save_model(irloop.convert(first)[0], there)
    irloop.save_model(irloop.convert(there)[0], back)
    session = irloop.Session(irloop.read_model(there))
    engine = runtime.InferenceSession(back)
    x = np.array([[1, -2, 3], [4, 1, 2]], np.float32)
    for trips, shape in ((2, [6]), (0, [3, 2]), (1, [1, 2, 3])):
        given = {"x": x, "shape": np.array(shape, np.int64), "n": np.array(trips, np.int64)}
        wanted = np.array([x + (number - 1) * total for number in range(trips)])
        for found in (session.run(given).values(), engine.run(None, given)):
            rows, scalar = found
            np.testing.assert_array_equal(rows, wanted.reshape(trips, 2, 3))
            assert scalar == total
