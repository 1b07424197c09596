"""A node whose number of results is known only when it runs, and is another than it declares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import irloop


@pytest.mark.parametrize("lengths", [[1, 3], [2, 2], [1, 1, 2], []])
@pytest.mark.parametrize("outputs", [["y"], ["y", "z", "w", "v"]])
def test_another_number_of_lengths_than_outputs_of_a_split(
    lengths: list[int], outputs: list[str], tmp_path: Path
) -> None:
    """ONNX Runtime 1.32 refuses it, too; equal parts must not become one array."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    sizes = helper.make_tensor_value_info("sizes", TensorProto.INT64, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(
        [helper.make_node("Split", ["x", "sizes"], outputs)], "g", [x, sizes], [y]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    inputs = [np.arange(4, dtype=np.float32), np.array(lengths, np.int64)]
    with pytest.raises(irloop.ExecutionError, match="lengths and outputs differ"):
        irloop.run(tmp_path / "m.onnx", inputs)
