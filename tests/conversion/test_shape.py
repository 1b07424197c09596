"""Conversion of shapes in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop

OPCONF_TYPES = "Broadcast Reshape ShapeOf Squeeze Tile Transpose Unsqueeze"

BACKEND_OPS = "Expand Flatten Reshape Shape Size Squeeze Tile Transpose Unsqueeze"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


@pytest.mark.parametrize("kind", ["Expand", "Tile"])
@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_scalar_stays_a_scalar(
    kind: str, is_constant: bool, in_loop: bool, tmp_path: Path
) -> None:
    """OpenVINO 2026.4 crashes in such a Broadcast, and does not compute such a Tile."""
    pytest.importorskip("openvino")
    value = helper.make_tensor_value_info
    x, sizes = value("x", TensorProto.FLOAT, []), value("sizes", TensorProto.INT64, [0])
    nodes = [helper.make_node(kind, ["x", "sizes"], ["y"])]
    y = value("y", TensorProto.FLOAT, [])
    if in_loop:
        i, go = value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, [])
        state, following = value("s", TensorProto.FLOAT, []), value("s2", TensorProto.FLOAT, [])
        inner = [
            helper.make_node(kind, ["s", "sizes"], ["t"]),
            helper.make_node("Add", ["t", "x"], ["s2"]),
            helper.make_node("Identity", ["go"], ["more"]),
        ]
        more = value("more", TensorProto.BOOL, [])
        body = helper.make_graph(inner, "body", [i, go, state], [more, following])
        nodes = [helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)]
    known = {"trips": np.array(3, np.int64)} if in_loop else {}
    known |= {"sizes": np.zeros(0, np.int64)} if is_constant else {}
    graph = helper.make_graph(
        nodes,
        "g",
        [x] if is_constant else [x, sizes],
        [y],
        [numpy_helper.from_array(array, name) for name, array in known.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    converted, _ = irloop.convert(tmp_path / "m.onnx")
    irloop.save_model(converted, tmp_path / "m.xml")
    given = [np.array(1.5, np.float32), np.zeros(0, np.int64)][: 1 if is_constant else 2]
    compiled = openvino_of(tmp_path / "m.xml")
    for _ in range(2):
        (found,) = compiled(given).values()
        assert (found.shape, float(found)) == ((), 6.0 if in_loop else 1.5)


def openvino_of(path: Path) -> Any:
    import openvino

    return openvino.Core().compile_model(path, "CPU")
