"""Nodes that lack inputs or contradict their operation are named; no internal errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import irloop

F = TensorProto.FLOAT


def _node(kind: str, inputs: list[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, ["y"], **attributes)


def _branch(name: str) -> onnx.GraphProto:
    node = helper.make_node("Identity", ["x"], [name])
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, F, None)])


def _empty() -> onnx.TensorProto:
    return helper.make_tensor("v", F, [0], [])


NODES: dict[str, Callable[[], onnx.NodeProto]] = {
    "too few inputs": lambda: _node("BatchNormalization", ["x"]),
    "no inputs": lambda: _node("Softmax", []),
    "inputs left out": lambda: _node("MatMul", ["", "x"]),
    "too many inputs": lambda: _node("Relu", ["x", "x", "x"]),
    "sizes left out": lambda: _node("Tile", ["x", ""]),
    "a branch left out": lambda: _node("If", ["c"], then_branch=_branch("a")),
    "a body left out": lambda: _node("Loop", ["", "c", "x"]),
    "heads of none": lambda: _node("Attention", ["x", "x", "x"], q_num_heads=0, kv_num_heads=0),
    "heads that do not fit": lambda: _node("Attention", ["q", "k", "k"]),
    "a value of none": lambda: _node("ConstantOfShape", ["n"], value=_empty()),
    "an axis far away": lambda: _node("Squeeze", ["x", "far"]),
    "axes that are infinite": lambda: _node("Squeeze", ["x", "infinite"]),
    "strides of too few": lambda: _node("Col2Im", ["x", "n", "n"], strides=[1]),
    "strides of too many": lambda: _node("MaxPool", ["x"], kernel_shape=[1], strides=[1] * 9),
    "a type that is none": lambda: _node("Cast", ["x"], to=99),
    "scales of none": lambda: _node("Resize", ["x"]),
    "a scale of zero": lambda: _node("RoiAlign", ["x", "x", "n"], spatial_scale=0.0),
    "a shape of huge rank": lambda: _node("Expand", ["x", "long"]),
    "a huge size": lambda: _node("Expand", ["x", "huge"]),
    "a state of huge batch": lambda: _node("GRU", ["wide", "w", "w"], hidden_size=5),
    "sizes beyond 64 bits": lambda: _node("Flatten", ["beyond"], axis=2),
    "a negative block": lambda: _node("DepthToSpace", ["x"], blocksize=-1),
    "a block of zero": lambda: _node("SpaceToDepth", ["x"], blocksize=0),
    "groups of zero": lambda: _node("Conv", ["x", "x"], group=0),
    "no number of parts": lambda: _node("Split", ["x"], num_outputs=0),
}


@pytest.fixture
def broken(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    node = NODES[request.param]()
    inputs = {
        "x": [1, 4, 4], "q": [2, 10**9, 4, 8], "k": [2, 3, 6, 8], "wide": [1, 10**9, 3],
        "w": [1, 15, 3], "beyond": [2**40, 2**40, 3],
    }  # fmt: skip
    constants = {
        "n": np.array([1, 1]), "far": np.array([2**62]), "infinite": np.array([np.inf], np.float32),
        "huge": np.array([2**40]), "c": np.array(True),
    }  # fmt: skip
    infos = [helper.make_tensor_value_info(name, F, dims) for name, dims in inputs.items()]
    infos.append(helper.make_tensor_value_info("long", TensorProto.INT64, [10**9]))
    graph = helper.make_graph(
        [node], "g", infos, [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    # Only the inputs that the node reads are declared.
    used = set(node.input) | {"x"}
    for items in (graph.input, graph.initializer):
        for item in [item for item in items if item.name not in used]:
            items.remove(item)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("broken", NODES, indirect=True)
def test_a_contradiction_is_named(broken: Path) -> None:
    steps: list[Callable[[], object]] = [
        lambda: irloop.validate(broken),
        lambda: irloop.infer(irloop.read_model(broken)),
        lambda: irloop.convert(broken),
        lambda: irloop.run(broken, irloop.random_inputs(broken)),
        lambda: irloop.draw(broken),
        lambda: irloop.transform(broken, ["constant_folding", "fold_shapes"]),
    ]
    refused = 0
    for step in steps:
        try:
            step()
        except irloop.InternalError:
            raise
        except irloop.IrloopError:
            refused += 1
    assert refused > 0 or irloop.validate(broken).has_errors
