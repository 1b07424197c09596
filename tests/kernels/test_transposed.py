"""Transposed convolutions whose windows overlap, touch or lie apart, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from irloop.execution.session import Session
from irloop.formats.onnx import reader


@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("rank", [1, 2])
def test_random_transposed_convolutions_equal_those_of_onnx_runtime(
    kernel: int, stride: int, rank: int
) -> None:
    random = np.random.default_rng(100 * kernel + 10 * stride + rank)
    for dilation, groups, extra in ((1, 1, 0), (2, 1, 0), (1, 2, min(1, stride - 1))):
        shapes = {
            "x": (int(random.integers(1, 3)), 2 * groups, *random.integers(1, 7, rank).tolist()),
            "w": (2 * groups, 3, *[kernel] * rank),
            "b": (3 * groups,),
        }
        given = {name: random.standard_normal(shape).astype("f") for name, shape in shapes.items()}
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in shapes.items()
        ]
        node = helper.make_node(
            "ConvTranspose",
            list(shapes),
            ["y"],
            strides=[stride] * rank,
            dilations=[dilation] * rank,
            group=groups,
            output_padding=[extra] * rank,
        )
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "g", inputs, [output])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        runtime: Any = onnxruntime
        peer = runtime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        (wanted,) = peer.run(None, given)
        (found,) = Session(reader.from_proto(model)).run(given).values()
        np.testing.assert_allclose(found, wanted, atol=1e-5)
