"""Convolutions by each method, with random shapes, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser

from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.kernels import correlation, depthwise, few_outputs, row_products
from irloop.kernels.geometry import Window

SMALL_TILES = {"_TILE_BYTES": 1 << 10, "_TILE_COLUMNS": 70, "_WHOLE_BYTES": 0}
#: Settings of the module that make every case use one method, with small tiles and blocks.
METHODS: dict[str, dict[str, float]] = {
    "flat": {"_COPY_COST": 1e9, **SMALL_TILES},
    "exact": {"_COPY_COST": -1, **SMALL_TILES},
    "many positions": {"_MANY_POSITIONS": 0},
    "rows": {"_OUTPUTS_PER_COLUMN": 1 << 30},
    "positions": {},
    "rows in tiles": {"_LONG_ROW": 0},
    "pixels": {"_LONG_ROW": 1 << 30, "_FEW_CHANNELS": 0, "_PIXELS_BLOCK": 10},
    "many items at once": {"_SMALL_ITEM": 1 << 30, "_CHUNK": 2000},
    "as set": {"_SMALL_ITEM": 1 << 15, "_OUTPUTS_PER_COLUMN": 2},
}


def _case(random: Any, *, depthwise: bool, image: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """The operands and attributes of a convolution whose window may not fit the data.

    With `image` the data is images in one group, and the rows of the kernel are adjacent.
    """
    rank = 2 if image else int(random.integers(1, 4))
    groups = int(random.choice([1, 3, 5, 200] if depthwise else [1] if image else [1, 1, 2, 3]))
    each, made = (1, 1) if depthwise else map(int, random.integers(1, [6, 60]))
    sizes = random.integers(1, {1: 200, 2: 40, 3: 12}[rank], rank)
    attributes: dict[str, Any] = {
        "strides": random.integers(1, 4, rank).tolist(),
        "dilations": random.integers(1, 4, rank).tolist(),
        "group": groups,
    }
    if image:
        attributes["dilations"][0] = 1
    padding = random.choice(["SAME_UPPER", "SAME_LOWER", "", ""])
    if padding:
        attributes |= {"auto_pad": str(padding), "dilations": [1] * rank}
    else:
        attributes["pads"] = random.integers(0, 4, 2 * rank).tolist()
    shapes = [
        (int(random.choice([0, 1, 2, 3])), each * groups, *sizes),
        (made * groups, each, *random.integers(1, 5, rank)),
        (made * groups,),
    ][: int(random.choice([2, 3]))]
    return [random.standard_normal(shape).astype(np.float32) for shape in shapes], attributes


def _model(operands: list[Any], attributes: dict[str, Any], activation: str = "") -> Any:
    names = ["x", "w", "b"][: len(operands)]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, operand.shape)
        for name, operand in zip(names, operands, strict=True)
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [helper.make_node("Conv", names, ["c" if activation else "y"], **attributes)]
    if activation:
        nodes.append(helper.make_node(activation, ["c"], ["y"]))
    graph = helper.make_graph(nodes, "g", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("method", METHODS)
def test_random_convolutions_equal_those_of_onnx_runtime(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"_SMALL_ITEM": 0, "_OUTPUTS_PER_COLUMN": 0}
    for name, value in {**others, **METHODS[method]}.items():
        monkeypatch.setattr(correlation, name, value)
    monkeypatch.setattr(depthwise, "_BLOCK", 100)
    monkeypatch.setattr(row_products, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(few_outputs, "_BLOCK_BYTES", 3000)
    monkeypatch.setattr(few_outputs, "_CHANNELS_PER_OUTPUT", 0 if method == "positions" else 1e9)
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    random = np.random.default_rng(len(method))
    compared = 0
    for at in range(80):
        image = method in ("rows", "positions")
        operands, attributes = _case(random, depthwise=at % 2 == 0 and not image, image=image)
        if method == "positions":
            attributes["strides"] = [1, 1]
        model = _model(operands, attributes)
        given = dict(zip(("x", "w", "b"), operands, strict=False))
        try:
            peer = runtime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            (wanted,) = peer.run(None, given)
        except Exception:  # noqa: S112  (the window does not fit the data)
            continue
        (found,) = Session(reader.from_proto(model)).run(given).values()
        scale = max(1.0, float(np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-5, rtol=0)
        # HardSwish, computed once and for all elements, together with the convolution.
        (found,) = (
            Session(reader.from_proto(_model(operands, attributes, "HardSwish")))
            .run(given)
            .values()
        )
        bent = wanted * np.clip(wanted / 6 + 0.5, 0, 1)
        np.testing.assert_allclose(found / scale, bent / scale, atol=1e-5, rtol=0)
        compared += 1
    assert compared > 50


def test_infinite_weights_meet_the_padding() -> None:
    """The product of an infinite weight and a zero of the padding is NaN."""
    x = np.ones((1, 4, 3, 3), np.float32)
    w = np.ones((1, 4, 3, 3), np.float32)
    w[0, 0, 0, 0] = np.inf
    (found,) = Session(reader.from_proto(_model([x, w], {"pads": [1] * 4}))).run([x, w]).values()
    wanted = np.full((3, 3), np.nan, np.float32)
    wanted[1:, 1:] = np.inf
    np.testing.assert_array_equal(found[0, 0], wanted)


def test_infinite_data_beside_a_row_does_not_reach_the_results() -> None:
    """Flat columns read beyond the end of a row; these elements must be dropped."""
    x = np.ones((1, 2, 8, 8), np.float32)
    x[:, :, :, 0] = np.inf
    w = np.ones((4, 2, 3, 3), np.float32)
    (found,) = (
        Session(reader.from_proto(_model([x, w], {"pads": [0, 0, 0, 0]}))).run([x, w]).values()
    )
    assert np.isinf(found[..., 0]).all()
    np.testing.assert_array_equal(found[..., 1:], 18.0)


@pytest.mark.parametrize("height", [1, 4, 9])
@pytest.mark.parametrize("stride", [1, 2])
def test_infinite_data_in_a_depthwise_convolution_reaches_its_windows_only(
    height: int, stride: int
) -> None:
    """Tiles of rows multiply by zeros, which turns an infinity in the row of another window into
    NaN.
    """
    x = np.ones((1, 3, height, 30), np.float32)
    x[0, 1, height // 2, 15] = np.inf
    w = np.ones((3, 1, 1, 3), np.float32)
    attributes = {"group": 3, "pads": [0, 0, 0, 0], "strides": [stride] * 2}
    (found,) = Session(reader.from_proto(_model([x, w], attributes))).run([x, w]).values()
    wanted = np.full((1, 3, height, 28), 3, np.float32)
    wanted[0, 1, height // 2, 13:16] = np.inf
    np.testing.assert_array_equal(found, wanted[:, :, ::stride, ::stride])


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_other_element_types_are_summed_in_their_own_type(dtype: Any) -> None:
    x = np.arange(2 * 5 * 5).reshape(1, 2, 5, 5).astype(dtype)
    w = np.ones((2, 1, 2, 2), dtype)
    found = correlation.correlate(x, w, Window.of((2, 2)), 2)
    wanted = x[:, :, :-1, :-1] + x[:, :, 1:, :-1] + x[:, :, :-1, 1:] + x[:, :, 1:, 1:]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("items", [1, 3])
def test_data_of_padding_alone(items: int) -> None:
    """An axis has no elements but enough padding for a window, so only the bias remains."""
    x = np.zeros((items, 2, 0, 4), np.float32)
    w = np.ones((3, 2, 2, 2), np.float32)
    found = correlation.correlate(
        x, w, Window.of((2, 2), (), (), (1, 0), (2, 0)), 1, bias=np.arange(3, dtype=np.float32)
    )
    wanted = np.broadcast_to(np.arange(3, dtype=np.float32)[:, None, None], (items, 3, 2, 3))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("group", [1, 2, 4])
def test_data_with_its_channels_last_is_read_in_its_order(group: int) -> None:
    """After a Transpose, the kernel receives a view of data in another order."""
    text = f"""<ir_version: 8, opset_import: ["": 17]>
    g (float[1,5,6,4] x, float[4,{4 // group},2,3] w) => (float[a,b,c,d] y) {{
        t = Transpose<perm = [0, 3, 1, 2]>(x)  y = Conv<group = {group}>(t, w)
    }}"""
    model = parser.parse_model(text)
    random = np.random.default_rng(group)
    x = random.standard_normal((1, 5, 6, 4)).astype(np.float32)
    given = {"x": x, "w": random.standard_normal((4, 4 // group, 2, 3)).astype(np.float32)}
    runtime: Any = onnxruntime
    peer = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = Session(reader.from_proto(model)).run(given).values()
    np.testing.assert_allclose(found, peer.run(None, given)[0], 1e-5, 1e-5)
