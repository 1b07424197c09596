"""ONNX's node tests with their small inputs as constants, as axes and shapes usually are."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.execution.session import Session
from irloop.formats.onnx import reader as onnx_reader

onnx = pytest.importorskip("onnx")

OPS = """
    ArgMax ArgMin BlackmanWindow CenterCropPad Col2Im Compress Concat ConstantOfShape CumProd CumSum
    DepthToSpace Expand EyeLike Flatten Gather GatherElements GatherND HammingWindow HannWindow
    NonZero OneHot Pad Range Reshape ReverseSequence Scatter ScatterElements ScatterND Shape Size
    Slice SpaceToDepth Split Squeeze TensorScatter Tile TopK Transpose Trilu Unsqueeze
"""

#: Inputs with more elements remain inputs.
SMALL = 64


@cache
def _tests() -> dict[str, Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    wanted = set(OPS.split())
    single = {}
    for test in tests:
        nodes = [] if test.model is None else list(test.model.graph.node)
        if len(nodes) == 1 and nodes[0].op_type in wanted:
            single[test.name] = test
    return single


def _with_constants(test: Any) -> tuple[Any, list[Any]]:
    """The model with its small inputs, except the first, as initializers; and the remaining
    inputs.
    """
    model, inputs = onnx.ModelProto(), []
    model.CopyFrom(test.model)
    del model.graph.input[:]
    for index, info in enumerate(test.model.graph.input):
        array = np.asarray(test.data_sets[0][0][index])
        if index and array.size <= SMALL:
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, info.name))
        else:
            model.graph.input.append(info)
            inputs.append(array)
    return model, inputs


@pytest.mark.parametrize("opset", [7, 15])
@pytest.mark.parametrize("name", sorted(_tests()))
def test_constants_use_the_simpler_forms(name: str, opset: int) -> None:
    test = _tests()[name]
    proto, inputs = _with_constants(test)
    model, _ = pipelines.to_openvino(onnx_reader.from_proto(proto), opset=opset)
    newest = max((node.op.since for node in model.graph.nodes), default=0)
    assert newest <= opset
    found = list(Session(model).run(inputs).values())
    for array, expected in zip(found, test.data_sets[0][1], strict=True):
        wanted = np.asarray(expected)
        assert array.shape == wanted.shape
        assert array.dtype == wanted.dtype
        reference = wanted.astype(np.float64)
        np.testing.assert_allclose(array.astype(np.float64), reference, rtol=1e-4, atol=1e-6)
