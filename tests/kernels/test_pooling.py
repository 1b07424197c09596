"""Poolings in blocks, with random shapes, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from irloop.execution.session import Session
from irloop.formats.onnx import reader
from irloop.kernels import pooling
from irloop.kernels.geometry import Window


def _case(random: Any) -> tuple[Any, Any]:
    """A model of one pooling, and its data."""
    rank = int(random.integers(1, 4))
    kind = str(random.choice(["MaxPool", "AveragePool"]))
    kernel = random.integers(1, 6, rank)
    attributes: dict[str, Any] = {
        "kernel_shape": kernel.tolist(),
        "strides": random.integers(1, 4, rank).tolist(),
        "dilations": random.integers(1, 3, rank).tolist(),
        "pads": [int(random.integers(0, size)) for size in (*kernel, *kernel)],
        "ceil_mode": int(random.integers(0, 2)),
    }
    if kind == "AveragePool":
        attributes["count_include_pad"] = int(random.integers(0, 2))
    # The window fits the data together with the padding at the beginning.
    least = (kernel - 1) * attributes["dilations"] + 1 - attributes["pads"][:rank]
    sizes = np.maximum(least, 1) + random.integers(0, {1: 60, 2: 20, 3: 9}[rank], rank)
    shape = [*random.integers(1, 4, 2).tolist(), *sizes.tolist()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(kind, ["x"], ["y"], **attributes)], "g", [x], [y])
    opset = helper.make_opsetid("", 19)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=9)
    return model, random.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("block", [20, 1 << 18])
def test_random_poolings_equal_those_of_onnx_runtime(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooling, "_BLOCK", block)
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    random = np.random.default_rng(block)
    compared = 0
    for _ in range(150):
        model, x = _case(random)
        try:
            peer = runtime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            (wanted,) = peer.run(None, {"x": x})
        except Exception:  # noqa: S112  (the window does not fit the data)
            continue
        (found,) = Session(reader.from_proto(model)).run([x]).values()
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        compared += 1
    assert compared > 50


def test_windows_with_only_padding_give_the_lowest_number() -> None:
    window = Window.of((2,), (1,), (1,), (3,), (3,))
    found = pooling.max_values(window)(np.zeros((1, 1, 1), np.float32))
    low = -np.inf
    np.testing.assert_array_equal(found[0, 0], [low, low, 0, 0, low, low])


def test_nan_is_the_maximum_of_a_window() -> None:
    x = np.array([[[1, np.nan, 2, 3, 4]]], np.float32)
    found = pooling.max_values(Window.of((2,)))(x)
    np.testing.assert_array_equal(found[0, 0], [np.nan, np.nan, 3, 4])
