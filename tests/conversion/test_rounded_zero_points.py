"""`convert(quantization="qdq")`: zero points are rounded, and the notes tell by how much."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import ReLU, Sigmoid
from irloop.dialects.openvino.convolution import Convolution, GroupConvolution
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.pooling import MaxPool1
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.errors import UsageError
from irloop.graph.model import Model, Value
from irloop.graph.op import Constant
from irloop.passes import Manager
from irloop.passes.common import RoundZeroPoints

Array = np.ndarray[Any, np.dtype[Any]]
Limits = tuple[Any, Any, Any, Any]
SHAPE = (2, 3, 40, 5)


def quantised(m: IrModel, x: Value, limits: Limits, levels: int = 256) -> Value:
    return m(FakeQuantize(levels=levels), x, *(m.constant(limit) for limit in limits))


def by_the_formula(x: Array, limits: Limits, levels: int) -> Array:
    """The formula of FakeQuantize-1, in double precision."""
    low, high, new_low, new_high = (np.asarray(limit, np.float64) for limit in limits)
    steps = np.round((np.clip(x, low, high) - low) / (high - low) * (levels - 1))
    result: Array = steps / (levels - 1) * (new_high - new_low) + new_low
    return result


def drawn(seed: int, count: int) -> list[Limits]:
    """Ranges that have 0, of all sizes, every other one a channel."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(count):
        shape = (1, 3, 1, 1) if number % 2 else ()
        size = 10.0 ** draw.uniform(-3, 3, shape)
        low = (-draw.uniform(0, 1, shape) * size).astype(np.float32)
        high = (draw.uniform(0.01, 1, shape) * size).astype(np.float32)
        found.append((low, high, low, high))
    return found


def run(engine: str, path: Path, x: Array) -> list[Array]:
    with Process(engine_of(engine), path) as process:
        answer = process.run([x], seconds=60)
        assert answer.outputs is not None, str(answer)
        return list(answer.outputs)


def kinds(path: Path) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load(path).graph.node)


def shifts(notes: list[Any]) -> list[tuple[float, float]]:
    """The shift of each FakeQuantize that the notes report: in units, and in steps."""
    texts = [note.message for note in notes if note.code == "CNV115"]
    found = [re.search(r"by up to (\S+), (\S+) of a step$", text) for text in texts]
    return [(float(item[1]), float(item[2])) for item in found if item is not None]


@pytest.mark.parametrize(("levels", "opset"), [(256, 17), (256, 21), (65536, 21)])
@pytest.mark.parametrize("seed", range(3))
def test_results_differ_by_one_step_at_most(
    seed: int, levels: int, opset: int, tmp_path: Path
) -> None:
    every = drawn(seed, 10)
    m = IrModel()
    x = m.input("x", *SHAPE)
    # The data fill each range, and reach outside of it.
    data = np.random.default_rng(seed).uniform(-1.2, 1.2, SHAPE).astype(np.float32)
    widths = [np.maximum(-limits[0], limits[1]) for limits in every]
    wide = [m(Multiply(), x, m.constant(width)) for width in widths]
    model = m.done(*(quantised(m, *pair, levels) for pair in zip(wide, every, strict=True)))
    made, notes = irloop.convert(model, quantization="qdq", opset=opset)
    irloop.save_model(model, tmp_path / "m.xml")
    irloop.save_model(made, tmp_path / "m.onnx")
    assert kinds(tmp_path / "m.onnx")["QuantizeLinear"] == len(every)
    assert kinds(tmp_path / "m.onnx")["DequantizeLinear"] == len(every)
    assert {note.code for note in notes} == {"CNV115"}
    found = run("onnxruntime", tmp_path / "m.onnx", data)
    # OpenVINO 2026.4 takes FakeQuantize of 65536 levels out of a model, or does not compile it.
    original: Sequence[Array | None] = [None] * len(every)
    if levels == 256:
        original = run("openvino", tmp_path / "m.xml", data)
    moved = shifts(notes)
    assert len(moved) == len(every)
    for limits, width, (shift, steps), y, before in zip(
        every, widths, moved, found, original, strict=True
    ):
        wanted = by_the_formula((data * width).astype(np.float32), limits, levels)
        step = (limits[1].astype(np.float64) - limits[0]) / (levels - 1)
        tiny = 0.02 * step if levels == 256 else 0.05 * step
        assert 0 < steps <= 0.5
        assert shift <= 0.501 * step.max()
        apart = np.abs(y - wanted)
        assert (apart <= step + tiny).all()
        # The numbers between the old and the new border of two codes get the neighbouring one.
        neighbours = np.count_nonzero(apart > steps * step * 1.01 + tiny)
        assert neighbours <= (steps + 0.06) * y.size
        if before is not None:
            # OpenVINO computes the formula, and may round the middle of two numbers to the other.
            others = np.abs(before - wanted)
            assert (others <= step + tiny).all()
            assert np.count_nonzero(others > tiny) <= 0.02 * y.size


def alone(limits: Limits, levels: int = 256) -> Model:
    m = IrModel()
    return m.done(quantised(m, m.input("x", *SHAPE), limits, levels))


ODD = (-1.005, 1.545)


@pytest.mark.parametrize(
    ("limits", "levels", "why"),
    [
        ((*ODD, -2.01, 3.09), 256, "its ranges of input and output differ"),
        ((0.5, 1.5) * 2, 256, "0 is not one of its 256 numbers, nor between them"),
        ((-1, 1) * 2, 16, "0 is not one of its 16 numbers, of which QuantizeLinear has 256"),
        ((-1, 1) * 2, 255, "it has 255 levels"),
        (tuple([[[[[limit]]]]] for limit in ODD * 2), 256, "have more axes than its data"),
        (ODD * 2, 65536, "opset 21 has a QuantizeLinear for it"),
    ],
)
def test_what_is_not_rounded_stays_exact_and_says_why(
    limits: Limits, levels: int, why: str, tmp_path: Path
) -> None:
    made, notes = irloop.convert(alone(limits, levels), quantization="qdq")
    irloop.save_model(made, tmp_path / "m.onnx")
    (note,) = notes
    assert note.code == "CNV114"
    assert why in note.message
    assert not kinds(tmp_path / "m.onnx")["QuantizeLinear"]
    x = np.random.default_rng(0).uniform(-2, 2, SHAPE).astype(np.float32)
    (y,) = run("onnxruntime", tmp_path / "m.onnx", x)
    np.testing.assert_allclose(y, by_the_formula(x, limits, levels), rtol=1e-4, atol=5e-5)


def test_exact_is_the_default() -> None:
    plain, notes = irloop.convert(alone(ODD * 2))
    same, _ = irloop.convert(alone(ODD * 2), quantization="exact")
    assert [note.code for note in notes] == ["CNV114"]
    assert plain.to_onnx() == same.to_onnx()


def test_a_grid_that_has_0_is_not_rounded() -> None:
    plain, _ = irloop.convert(alone((-2.56, 2.54) * 2))
    same, notes = irloop.convert(alone((-2.56, 2.54) * 2), quantization="qdq")
    assert not notes
    assert plain.to_onnx() == same.to_onnx()


def channels(*numbers: float) -> list[Any]:
    return [[[number]] for number in numbers]


SEVERAL = (channels(-1.005, -0.3, -2), channels(1.545, 0.5, 5.1)) * 2
SETTINGS: dict[str, Any] = {
    "strides": (1, 1),
    "pads_begin": (0, 0),
    "pads_end": (0, 0),
    "dilations": (1, 1),
}
WINDOW = Convolution(**SETTINGS)
#: The dequantised channels, read by an operation whose result is quantised.
READERS: dict[str, Callable[[IrModel, Value], Value]] = {
    "Add": lambda m, x: m(Add(), x, x),
    "Multiply": lambda m, x: m(Multiply(), x, x),
    "MaxPool": lambda m, x: m(
        MaxPool1(strides=(1, 1), pads_begin=(0, 0), pads_end=(0, 0), kernel_size=(2, 2)), x
    ),
    "ReLU": lambda m, x: m(ReLU(), x),
    "Convolution": lambda m, x: m(
        WINDOW,
        x,
        quantised(
            m,
            m.constant(np.random.default_rng(1).uniform(-1, 1, (4, 3, 3, 3))),
            (-1, 1) * 2,
            255,
        ),
    ),
    "GroupConvolution": lambda m, x: m(
        GroupConvolution(**SETTINGS), x, m.constant(np.full((3, 1, 1, 3, 3), 0.1))
    ),
    "Sigmoid": lambda m, x: m(Sigmoid(), x),
}


@pytest.mark.parametrize("kind", READERS)
def test_channels_are_quantised_where_onnx_runtime_runs_what_reads_them(
    kind: str, tmp_path: Path
) -> None:
    m = IrModel()
    x = quantised(m, m.input("x", *SHAPE), SEVERAL)
    model = m.done(quantised(m, READERS[kind](m, x), (-10.24, 10.16) * 2))
    made, notes = irloop.convert(model, quantization="qdq")
    irloop.save_model(made, tmp_path / "m.onnx")
    runs = kind != "Sigmoid"
    assert kinds(tmp_path / "m.onnx")["QuantizeLinear"] == (2 if runs else 1)
    assert [note.code for note in notes] == ["CNV115" if runs else "CNV114"]
    data = np.random.default_rng(0).uniform(-2, 2, SHAPE).astype(np.float32)
    rounded, _ = irloop.transform(model, ["round_zero_points"] if runs else [])
    (wanted,) = irloop.run(rounded, [data]).values()
    (y,) = run("onnxruntime", tmp_path / "m.onnx", data)
    codes = np.abs(np.rint(y / 0.08) - np.rint(wanted / 0.08))
    assert codes.max() <= 1
    assert np.count_nonzero(codes) <= 0.02 * codes.size


def test_weights_are_rounded_to_codes(tmp_path: Path) -> None:
    weights = np.random.default_rng(2).uniform(-1, 1.5, (4, 3, 1, 1)).astype(np.float32)
    low, high = (
        weights.min((1, 2, 3), keepdims=True, initial=-0.1),
        weights.max((1, 2, 3), keepdims=True, initial=0.1),
    )
    m = IrModel()
    window = quantised(m, m.constant(weights), (low, high, low, high))
    model = m.done(m(WINDOW, m.input("x", 1, 3, 2, 2), window))
    made, notes = irloop.convert(model, quantization="qdq")
    irloop.save_model(made, tmp_path / "m.onnx")
    assert [note.code for note in notes] == ["CNV115"]
    stored = {item.data_type for item in onnx.load(tmp_path / "m.onnx").graph.initializer}
    assert onnx.TensorProto.INT8 in stored
    for place in range(3):
        x = np.zeros((1, 3, 2, 2), np.float32)
        x[0, place] = 1
        (y,) = run("onnxruntime", tmp_path / "m.onnx", x)
        wanted = by_the_formula(weights, (low, high, low, high), 256)[:, place, 0, 0]
        assert (np.abs(y[0, :, 0, 0] - wanted) <= 1.01 * (high - low).reshape(-1) / 255).all()


def test_the_pass_moves_the_limits_once() -> None:
    changed, _ = irloop.transform(alone(ODD * 2), ["round_zero_points"])
    (node,) = [node for node in changed.graph.nodes if node.op.type == "FakeQuantize"]
    tensors = [value.producer.op for value in node.inputs[1:] if value is not None]
    limits = [float(op.tensor.numpy()) for op in tensors if isinstance(op, Constant)]
    assert limits[:2] in (pytest.approx([-1.0, 1.55]), pytest.approx([-1.01, 1.54]))
    assert limits[2:] == limits[:2]
    again, _ = irloop.transform(changed, ["round_zero_points"])
    assert irloop.diff(changed, again).same
    assert not Manager([RoundZeroPoints(levels=256)]).run_passes(alone(ODD * 2, 65536))


def test_what_contradicts_the_option_is_refused() -> None:
    with pytest.raises(UsageError, match="quantization qdq needs opset 13"):
        irloop.convert(alone(ODD * 2), quantization="qdq", opset=12)
    with pytest.raises(UsageError, match="quantization is an option for ONNX"):
        irloop.convert(alone(ODD * 2), "openvino", quantization="qdq")
    made, _ = irloop.convert(alone(ODD * 2))
    with pytest.raises(UsageError, match="quantization takes effect only in a conversion"):
        irloop.convert(made, "onnx", quantization="qdq")
