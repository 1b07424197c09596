"""Convolutions and poolings in both directions, against ONNX Runtime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from irloop.conversion import pipelines
from irloop.execution.session import Session
from irloop.formats.onnx.reader import from_proto
from irloop.formats.onnx.writer import to_proto_model

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Sample:
    """One node with data [2, 4, *sizes], filters of the shape `filters`, and an optional bias."""

    op: str
    sizes: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    filters: tuple[int, ...] = ()
    bias: bool = False
    outputs: int = 1
    dynamic: bool = False

    def __str__(self) -> str:
        words = [f"{name}{value}" for name, value in self.attributes.items()]
        return "-".join([self.op, str(self.sizes), *words, "dynamic" * self.dynamic])


SAMPLES = [
    Sample("Conv", (7,), {"pads": [1, 2], "strides": [2]}, (3, 4, 3), bias=True),
    Sample("Conv", (7, 6), {"group": 2, "dilations": [2, 1]}, (6, 2, 3, 2), bias=True),
    Sample("Conv", (7, 6), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}, (3, 4, 4, 3)),
    Sample("Conv", (7, 6), {"auto_pad": "SAME_LOWER"}, (3, 4, 2, 3), dynamic=True),
    Sample("Conv", (7, 6), {"auto_pad": "VALID", "group": 4}, (4, 1, 3, 3), dynamic=True),
    Sample("Conv", (4, 5, 3), {"pads": [1, 0, 1, 0, 1, 1]}, (2, 4, 3, 2, 3)),
    Sample("ConvTranspose", (5,), {"strides": [2], "output_padding": [1]}, (4, 3, 3), bias=True),
    Sample("ConvTranspose", (5, 4), {"group": 2, "pads": [1, 0, 1, 1]}, (4, 3, 3, 2)),
    Sample("ConvTranspose", (5, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (4, 2, 3, 3)),
    Sample("ConvTranspose", (5, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (4, 2, 3, 3)),
    Sample("ConvTranspose", (3, 3), {"strides": [2, 2], "output_shape": [8, 6]}, (4, 2, 3, 3)),
    Sample(
        "ConvTranspose",
        (3, 3),
        {"strides": [2, 2], "output_shape": [6, 6], "auto_pad": "SAME_UPPER"},
        (4, 2, 3, 3),
        dynamic=True,
    ),
    Sample("AveragePool", (7,), {"kernel_shape": [3], "pads": [1, 1], "strides": [2]}),
    Sample("AveragePool", (6,), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
    Sample(
        "AveragePool",
        (6, 5),
        {"kernel_shape": [4, 2], "strides": [2, 3], "pads": [1, 1, 1, 1]}
        | {"ceil_mode": 1, "count_include_pad": 1},
    ),
    Sample("AveragePool", (6, 5), {"kernel_shape": [3, 3], "dilations": [2, 1]}),
    Sample(
        "AveragePool",
        (7, 6),
        {"kernel_shape": [3, 2], "auto_pad": "SAME_LOWER", "count_include_pad": 1},
        dynamic=True,
    ),
    Sample("MaxPool", (7,), {"kernel_shape": [2], "strides": [3], "pads": [1, 1], "ceil_mode": 1}),
    Sample("MaxPool", (6, 5), {"kernel_shape": [2, 3], "dilations": [2, 1]}, outputs=2),
    Sample("MaxPool", (6, 5), {"kernel_shape": [3, 2], "storage_order": 1}, outputs=2),
    Sample("MaxPool", (4, 4, 4), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}, outputs=2),
    Sample("LpPool", (6, 5), {"kernel_shape": [2, 3], "p": 3, "strides": [1, 2]}),
    Sample("LpPool", (6, 5), {"kernel_shape": [2, 2], "p": 1, "dilations": [2, 1]}),
]


def _model(sample: Sample) -> tuple[onnx.ModelProto, Array]:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 4, *sample.sizes)).astype(np.float32)
    constants = {}
    if sample.filters:
        constants["w"] = rng.normal(size=sample.filters).astype(np.float32)
    if sample.bias:
        transposed = sample.op == "ConvTranspose"
        count = sample.filters[1 if transposed else 0] * (
            sample.attributes.get("group", 1) if transposed else 1
        )
        constants["b"] = rng.normal(size=count).astype(np.float32)
    names = ["y", "indices"][: sample.outputs]
    shape: list[Any] = list(x.shape)
    if sample.dynamic:
        shape = ["n", 4, *(f"d{axis}" for axis in range(len(sample.sizes)))]
    graph = helper.make_graph(
        [helper.make_node(sample.op, ["x", *constants], names, **sample.attributes)],
        "sample",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info(
                name, onnx.TensorProto.FLOAT if name == "y" else onnx.TensorProto.INT64, None
            )
            for name in names
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), x


def _run_onnx(model: onnx.ModelProto, x: Array) -> list[Array]:
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found: list[Array] = session.run(None, {"x": x})
    return found


def _same(found: Any, wanted: list[Array]) -> None:
    for left, right in zip(found, wanted, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_windows_in_openvino_and_back_equal_onnx_runtime(sample: Sample) -> None:
    proto, x = _model(sample)
    wanted = _run_onnx(proto, x)
    source = from_proto(proto)
    _same(Session(source).run([x]).values(), wanted)
    converted, _ = pipelines.to_openvino(source, opset=8)
    _same(Session(converted).run([x]).values(), wanted)
    older, _ = pipelines.to_openvino(source, opset=7)
    assert all(node.op.since <= 7 for node in older.graph.nodes)
    _same(Session(older).run([x]).values(), wanted)
    back, _ = pipelines.to_onnx(converted, opset=17)
    _same(_run_onnx(to_proto_model(back), x), wanted)
