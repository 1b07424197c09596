"""What is put before inputs (layout, channels, mean, scale), in both engines against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import irloop
from irloop.errors import UsageError
from irloop.formats.onnx.text import from_text

ort: Any = pytest.importorskip("onnxruntime")
openvino: Any = pytest.importorskip("openvino")

Array = Any
MEAN, SCALE = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)

#: A channel counts twice as much as the one before it, so that no two orders give the same sum.
HEAD = '<ir_version: 8, opset_import: ["": 17]> g '
NCHW = (
    HEAD
    + """(float[1,3,4,5] x) => (float[1,1,4,5] y) <float[1,3,1,1] k = {1, 2, 4}, int64[1] c = {1}> {
  w = Mul (x, k)
  y = ReduceSum <keepdims: int = 1> (w, c)
}"""
)
NHWC = (
    HEAD
    + """(float[1,4,5,3] x) => (float[1,4,5,1] y) <float[3] k = {1, 2, 4}, int64[1] c = {3}> {
  w = Mul (x, k)
  y = ReduceSum <keepdims: int = 1> (w, c)
}"""
)


def _of_nchw(x: Array) -> Array:
    return (x * np.array([1, 2, 4], np.float32)[:, None, None]).sum(1, keepdims=True)


def _of_nhwc(x: Array) -> Array:
    return (x * np.array([1, 2, 4], np.float32)).sum(3, keepdims=True)


def _column(numbers: tuple[float, ...]) -> Array:
    return np.array(numbers)[:, None, None]


CASES: dict[str, tuple[str, list[str], tuple[int, ...], Callable[[Array], Array]]] = {
    "mean": (NCHW, ["--mean", "127.5"], (1, 3, 4, 5), lambda x: _of_nchw(x - 127.5)),
    "scale": (NCHW, ["--scale", "x=255"], (1, 3, 4, 5), lambda x: _of_nchw(x / 255)),
    "of channels": (
        NCHW,
        ["--mean", "123.675,116.28,103.53", "--scale", "x=58.395,57.12,57.375"],
        (1, 3, 4, 5),
        lambda x: _of_nchw((x - _column(MEAN)) / _column(SCALE)),
    ),
    "of channels at the end": (
        NHWC,
        ["--mean", "[123.675,116.28,103.53]"],
        (1, 4, 5, 3),
        lambda x: _of_nhwc(x - np.array(MEAN)),
    ),
    "channels": (
        NCHW,
        ["--reverse-channels", "all"],
        (1, 3, 4, 5),
        lambda x: _of_nchw(x[:, ::-1]),
    ),
    "layout": (
        NCHW,
        ["--layout", "nchw->nhwc"],
        (1, 4, 5, 3),
        lambda x: _of_nchw(x.transpose(0, 3, 1, 2)),
    ),
    "layout back": (
        NHWC,
        ["--layout", "x=nhwc->nchw"],
        (1, 3, 4, 5),
        lambda x: _of_nhwc(x.transpose(0, 2, 3, 1)),
    ),
    "another order": (
        NCHW,
        ["--layout", "nchw->hwcn"],
        (4, 5, 3, 1),
        lambda x: _of_nchw(x.transpose(3, 2, 0, 1)),
    ),
    "all": (
        NCHW,
        [
            *("--layout", "nchw->nhwc", "--reverse-channels", "x"),
            *("--mean", "123.675,116.28,103.53", "--scale", "58.395,57.12,57.375"),
        ],
        (1, 4, 5, 3),
        lambda x: _of_nchw((x.transpose(0, 3, 1, 2)[:, ::-1] - _column(MEAN)) / _column(SCALE)),
    ),
}


def _convert(*arguments: object) -> Result:
    (entry,) = entry_points(group="console_scripts", name="irloop")
    return CliRunner().invoke(entry.load(), ["convert", *map(str, arguments)], prog_name="irloop")


def _engine_runs(path: Path, x: Array) -> Array:
    if path.suffix == ".xml":
        return openvino.Core().compile_model(str(path), "CPU")([x])[0]
    return ort.InferenceSession(str(path)).run(None, {"x": x})[0]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("source", ["onnx", "xml"])
@pytest.mark.parametrize("target", ["onnx", "xml"])
def test_the_engines_compute_what_numpy_does(
    tmp_path: Path, name: str, source: str, target: str
) -> None:
    text, options, shape, expected = CASES[name]
    model, path = from_text(text, tmp_path / "m.onnx")
    if source == "xml":
        path = tmp_path / "m.xml"
        irloop.save_model(irloop.convert(model)[0], path)
    output = tmp_path / f"new.{target}"
    result = _convert(path, "-o", output, "--check", *options)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("equal: "), result.output
    x = np.random.default_rng(3).integers(0, 256, shape).astype(np.float32)
    (own,) = irloop.run(output, {"x": x}).values()
    for found in (own, _engine_runs(output, x)):
        np.testing.assert_allclose(found, expected(x.astype(np.float64)), rtol=2e-5, atol=2e-3)


def test_unknown_sizes_and_several_inputs(tmp_path: Path) -> None:
    """Only the named input changes; ? stays unknown, and a loop reads what was prepared."""
    text = (
        HEAD
        + """(float[N,3,H,W] x, float[2] z, int64 n) => (float[N,3,H,W] y, float[2] v)
      <bool t = {1}> {
      y = Loop (n, t, x) <body: graph = b (int64 i, bool c, float[N,3,H,W] s)
          => (bool d, float[N,3,H,W] r) { d = Identity (c) r = Add (s, x) }>
      v = Neg (z)
    }"""
    )
    model, _ = from_text(text, tmp_path / "m.onnx")
    x = np.random.default_rng(5).normal(size=(2, 4, 1, 3)).astype(np.float32)
    feeds = {"x": x, "z": np.ones(2, np.float32), "n": np.array(2)}
    made, _ = irloop.convert(
        model, "onnx", layout={"x": "nchw->nhwc"}, reverse_channels=["x"], mean={"x": (1, 2, 3)}
    )
    prepared = x.transpose(0, 3, 1, 2)[:, ::-1] - _column((1, 2, 3))
    for found in (made, irloop.convert(made)[0]):
        results = irloop.run(found, feeds)
        np.testing.assert_allclose(results["y"], 3 * prepared, rtol=1e-6)
        np.testing.assert_array_equal(results["v"], -np.ones(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": {"q": 1}}, "mean: the model has no input 'q'"),
        ({"mean": (1, 2)}, "no axis of channels has 2 elements"),
        ({"mean": "1"}, "is not a number or a list of numbers"),
        ({"mean": float("nan")}, "is not a number or a list of numbers"),
        ({"scale": 0}, "the scale of input 'x' is 0"),
        ({"layout": "nchw->nhw"}, "the layout of input 'x' cannot be read"),
        ({"layout": "chw"}, "the layout of input 'x' does not fit it"),
        ({"reverse_channels": ["y"]}, "reverse_channels: the model has no input 'y'"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    model, _ = from_text(NCHW, tmp_path / "m.onnx")
    with pytest.raises(UsageError) as error:
        irloop.convert(model, **options)
    assert message in str(error.value)


def test_channels_that_two_axes_may_have_need_a_layout(tmp_path: Path) -> None:
    text = HEAD + "(float[1,3,4,3] x) => (float[1,3,4,3] y) { y = Abs (x) }"
    model, path = from_text(text, tmp_path / "m.onnx")
    with pytest.raises(UsageError, match="both axis 1 and the last one have 3 elements"):
        irloop.convert(model, reverse_channels=True)
    x = np.arange(36, dtype=np.float32).reshape(1, 3, 4, 3)
    made, _ = irloop.convert(model, reverse_channels=True, layout="nhwc")
    (found,) = irloop.run(made, {"x": x}).values()
    np.testing.assert_array_equal(found, x[..., ::-1])
    result = _convert(path, "-o", tmp_path / "m.xml", "--mean", "x=a")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'x=a' is not numbers such as 123.7,116.3,103.5" in result.stderr


def test_shapes_are_those_of_the_model(tmp_path: Path) -> None:
    text = HEAD + "(float[N,3,H,W] x) => (float[N,3,H,W] y) { y = Abs (x) }"
    _, path = from_text(text, tmp_path / "m.onnx")
    output = tmp_path / "m.xml"
    result = _convert(
        path, "-o", output, "--shape", "x=1,3,4,5", "--layout", "nchw->nhwc", "--check"
    )
    assert result.exit_code == 0, result.output
    assert str(irloop.read_model(output).graph.inputs[0].type) == "f32[1,4,5,3]"
