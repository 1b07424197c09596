"""Operations of OpenVINO become ONNX that ONNX Runtime runs as one kernel, with equal numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.dialects.openvino import activation, convolution, elementwise, normalization
from irloop.graph.builder import Builder
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from tests.conversion.both_engines import F32, agree, needs_engines
from tests.passes.openvino_models import model_of

Build = Callable[[Builder, Value], Value]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def layer_norm(b: Builder, x: Value) -> Value:
    rank = len(x.type.shape.dims or ())  # type: ignore[union-attr]
    scale, bias = (b.constant(np.linspace(*ends, 6), ElementType.F32) for ends in ((1, 2), (-1, 1)))
    unit = b(normalization.MVN6(True, 1e-5, "inside_sqrt"), x, b.i64([rank - 1]))
    return b(elementwise.Add(), b(elementwise.Multiply(), unit, scale), bias)


def over_space(b: Builder, x: Value) -> Value:
    return b(normalization.MVN6(True, 1e-3, "inside_sqrt"), x, b.i64([-1, 2]))


def by_rows(b: Builder, x: Value) -> Value:
    """Normalise the last axis, and scale the rows."""
    scale = b.constant(np.linspace(1, 2, 5).reshape(5, 1), ElementType.F32)
    unit = b(normalization.MVN6(True, 1e-3, "inside_sqrt"), x, b.i64([2]))
    return b(elementwise.Multiply(), unit, scale)


def grouped(b: Builder, x: Value) -> Value:
    scale, bias = (b.constant(np.linspace(*ends, 6), ElementType.F32) for ends in ((1, 2), (-1, 1)))
    return b(normalization.GroupNormalization(3, 1e-4), x, scale, bias)


def gelu(b: Builder, x: Value) -> Value:
    return b(activation.Gelu7("ERF"), x)


def old_gelu(b: Builder, x: Value) -> Value:
    return b(activation.Gelu2(), x)


def leaky(b: Builder, x: Value) -> Value:
    """A convolution, and one slope for all elements that are negative."""
    weights = np.random.default_rng(2).standard_normal((4, 6, 2, 2))
    product = b(convolution.Convolution(), x, b.constant(weights, ElementType.F32))
    return b(activation.PReLU(), product, b.constant(np.full((1, 1), 0.2), ElementType.F32))


@needs_engines
@pytest.mark.parametrize(
    ("build", "shape", "kernel"),
    [
        (layer_norm, (2, 5, 6), "LayerNormalization"),
        (layer_norm, (3, 6), "LayerNormalization"),
        (over_space, (2, 6, 4, 5), "InstanceNormalization"),
        (by_rows, (2, 5, 6), "InstanceNormalization"),
        (grouped, (2, 6, 4, 5), "InstanceNormalization"),
        (gelu, (2, 5, 6), "Gelu"),
        (old_gelu, (7,), "Gelu"),
        (leaky, (2, 6, 4, 5), "Conv"),
    ],
)
def test_onnxruntime_runs_one_kernel(
    build: Build, shape: tuple[int, ...], kernel: str, tmp_path: Path, engines: Engines
) -> None:
    import onnxruntime

    ir, target, optimised = (tmp_path / name for name in ("m.xml", "m.onnx", "optimised.onnx"))
    irloop.save_model(model_of(build, (ElementType.F32, shape)), ir)
    irloop.save_model(irloop.convert(ir, opset=17)[0], target)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(optimised)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(target), options)
    found = [node.op_type for node in onnx.load(optimised).graph.node]
    assert found.count(kernel) == 1
    assert not {"ReduceMean", "Erf", "PRelu", "LeakyRelu"} & set(found)
    numbers = np.random.default_rng(0).standard_normal(shape) * 3
    # The mean is large compared with the deviation, where sums of squares lose digits.
    sets = [[numbers.astype(F32)], [(numbers + 50).astype(F32)]]
    wanted = engines.run_all("openvino", ir, sets, tmp_path)
    for one, other in zip(
        engines.run_all("onnxruntime", target, sets, tmp_path), wanted, strict=True
    ):
        np.testing.assert_allclose(one[0], other[0], 1e-4, 1e-5)


@needs_engines
@pytest.mark.parametrize(
    ("shape", "axes"), [((5,), [0]), ((4, 6), [1]), ((2, 3, 4, 5), [3]), ((2, 3, 4, 5), [1, 2, 3])]
)
def test_other_axes_are_normalised_by_their_parts(
    shape: tuple[int, ...], axes: list[int], tmp_path: Path, engines: Engines
) -> None:
    def build(b: Builder, x: Value) -> Value:
        return b(normalization.MVN6(True, 1e-3, "outside_sqrt"), x, b.i64(axes))

    ir, target = tmp_path / "m.xml", tmp_path / "m.onnx"
    irloop.save_model(model_of(build, (ElementType.F32, shape)), ir)
    irloop.save_model(irloop.convert(ir, opset=17)[0], target)
    sets = [[(np.random.default_rng(1).standard_normal(shape) * 3 + 1).astype(F32)]]
    (wanted,) = engines.run_all("openvino", ir, sets, tmp_path)
    (found,) = engines.run_all("onnxruntime", target, sets, tmp_path)
    np.testing.assert_allclose(found[0], wanted[0], 1e-4, 1e-5)


@needs_engines
@pytest.mark.parametrize(
    ("scale", "bias", "left"),
    [
        ("{1, 1}", "{0, 0}", []),
        ("{1, 2}", "{0, 0}", ["Multiply"]),
        ("{1, 1}", "{0, 3}", ["Add"]),
        ("{2, 2}", "{1, 1}", ["Add", "Multiply"]),
    ],
)
def test_a_scale_of_1_and_a_bias_of_0_are_left_out(
    scale: str, bias: str, left: list[str], tmp_path: Path, engines: Engines
) -> None:
    text = f"""g (float[n, 2, m] x) => (float[n, 2, m] y)
      <float[2] scale = {scale}, float[2] bias = {bias}> {{
        y = InstanceNormalization (x, scale, bias)
      }}"""
    sets = [[np.random.default_rng(at).standard_normal((at, 2, 5)).astype(F32)] for at in (1, 3)]
    agree(text, sets, engines, tmp_path)
    model = irloop.read_model(tmp_path / "model.xml")
    types = sorted(node.op.type for node in model.graph.nodes)
    assert [type for type in types if type in ("Add", "Multiply")] == left
