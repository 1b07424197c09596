"""Valid ONNX models from which malformed ones are made; each call returns a new model."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["flat_onnx", "if_onnx", "loop_onnx", "model_of"]

_F, _I, _B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def model_of(graph: Any, **more: Any) -> onnx.ModelProto:
    """A model of IR version 8 and operator set 17."""
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets, **more)


def flat_onnx() -> onnx.ModelProto:
    """x [1, 4] -> MatMul by w [4, 3] -> Concat with b [1, 3] -> out [1, 6]."""
    w = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    b = numpy_helper.from_array(np.ones((1, 3), np.float32), "b")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="mm"),
        helper.make_node("Concat", ["h", "b"], ["out"], name="joined", axis=1),
    ]
    x = helper.make_tensor_value_info("x", _F, [1, 4])
    out = helper.make_tensor_value_info("out", _F, [1, 6])
    return model_of(helper.make_graph(nodes, "flat", [x], [out], [w, b]))


def loop_onnx() -> onnx.ModelProto:
    """A Loop of five trips with a carried state and a scan output."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "x"], ["next"], name="add"),
            helper.make_node("Identity", ["cond_in"], ["cond_out"], name="keep"),
            helper.make_node("Identity", ["next"], ["row"], name="row"),
        ],
        "body",
        [
            helper.make_tensor_value_info("iteration", _I, []),
            helper.make_tensor_value_info("cond_in", _B, []),
            helper.make_tensor_value_info("state", _F, [2]),
        ],
        [
            helper.make_tensor_value_info("cond_out", _B, []),
            helper.make_tensor_value_info("next", _F, [2]),
            helper.make_tensor_value_info("row", _F, [2]),
        ],
    )
    trips = numpy_helper.from_array(np.array(5, np.int64), "trips")
    go = numpy_helper.from_array(np.array(True), "go")
    node = helper.make_node("Loop", ["trips", "go", "x"], ["last", "rows"], name="loop", body=body)
    graph = helper.make_graph(
        [node],
        "loop",
        [helper.make_tensor_value_info("x", _F, [2])],
        [
            helper.make_tensor_value_info("last", _F, [2]),
            helper.make_tensor_value_info("rows", _F, [5, 2]),
        ],
        [trips, go],
    )
    return model_of(graph)


def if_onnx() -> onnx.ModelProto:
    """An If whose branches are one operation each."""

    def branch(name: str, op: str) -> Any:
        node = helper.make_node(op, ["x"], [name], name=op.lower())
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, _F, [2])])

    node = helper.make_node(
        "If",
        ["c"],
        ["y"],
        name="if",
        then_branch=branch("then_y", "Relu"),
        else_branch=branch("else_y", "Tanh"),
    )
    inputs = [
        helper.make_tensor_value_info("c", _B, []),
        helper.make_tensor_value_info("x", _F, [2]),
    ]
    outputs = [helper.make_tensor_value_info("y", _F, [2])]
    return model_of(helper.make_graph([node], "if", inputs, outputs))
