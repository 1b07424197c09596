"""Conversion of models whose shapes are unknown gives the same results, or a precise refusal."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.openvino import reader as ir_reader
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.types import UNKNOWN_SHAPE, Shape, TensorType
from irloop.graph.walk import all_nodes
from tests.archives import opconf_cases

onnx = pytest.importorskip("onnx")


TYPES = """
    BatchToSpace Broadcast Concat CumSum DepthToSpace Gather GatherElements GatherND NonZero OneHot
    Pad Range Reshape Reverse ReverseSequence Roll ScatterElementsUpdate ScatterNDUpdate
    ScatterUpdate ShapeOf ShuffleChannels Slice SliceScatter SpaceToBatch SpaceToDepth Split
    StridedSlice Tile TopK Transpose Unsqueeze VariadicSplit
"""

OPS = """
    ArgMax ArgMin Compress Concat CumSum DepthToSpace Expand Flatten Gather GatherElements GatherND
    OneHot Pad Reshape ReverseSequence ScatterElements ScatterND Shape Size Slice SpaceToDepth Split
    Squeeze Tile TopK Transpose Trilu Unsqueeze
"""

#: Texts that a refusal may contain; each names the missing fact.
REASONS = (
    "not known",
    "no known rank",
    "unknown rank",
    "may cover only a part",
    "are computed",
    "is computed",
)


def forget(model: Model, *, keep_ranks: bool) -> None:
    """Remove the dimensions and, unless `keep_ranks`, the ranks from the types of all values but
    constants.
    """
    for value in model.graph.inputs:
        value.type = _forgotten(value.type, keep_ranks)
    for node in all_nodes(model.graph):
        for value in node.outputs if not isinstance(node.op, Constant) else ():
            value.type = _forgotten(value.type, False)


def _forgotten(type: Any, keep_rank: bool) -> Any:
    if not isinstance(type, TensorType):
        return type
    rank = type.shape.rank
    shape = Shape.of_rank(rank) if keep_rank and rank is not None else UNKNOWN_SHAPE
    return TensorType(type.element, shape)


def converted(convert: Callable[[Model], tuple[Model, Any]], model: Model) -> Model | None:
    """The model in the other dialect, or None if it is refused because a fact is unknown."""
    refusal = ""
    try:
        return convert(model)[0]
    except UnsupportedError as error:
        refusal = str(error)
    assert any(reason in refusal for reason in REASONS)
    return None


def agree(found: Any, expected: list[Any]) -> None:
    for array, wanted in zip(found, expected, strict=True):
        assert array.shape == wanted.shape
        reference = wanted.astype(np.float64)
        np.testing.assert_allclose(array.astype(np.float64), reference, rtol=1e-2, atol=2e-3)


def _cases() -> list[Any]:
    wanted = set(TYPES.split())
    folders = [path.parent for path in sorted(opconf_cases().glob("*/*/meta.json"))]
    chosen = [item for item in folders if item.parent.name.split("_", 1)[1] in wanted]
    return [pytest.param(item, id=f"{item.parent.name}-{item.name}") for item in chosen]


@pytest.mark.parametrize("keep_ranks", [True, False], ids=["ranks", "nothing"])
@pytest.mark.parametrize("case", _cases())
def test_exports(case: Path, keep_ranks: bool) -> None:
    model = ir_reader.read(case / "model.xml")
    forget(model, keep_ranks=keep_ranks)
    meta = json.loads((case / "meta.json").read_text(encoding="utf-8"))
    target = converted(pipelines.to_onnx, model)
    if target is None:
        return
    with np.load(case / "data.npz") as data:
        inputs = [data[f"in{index}"] for index in range(len(meta["inputs"]))]
        outputs = [data[f"out{index}"] for index in range(len(meta["outputs"]))]
    if outputs[0].shape == (1, 1) and not inputs[0].shape:
        pytest.skip("NonZero of a scalar differs, and only its rank tells that it is one")
    agree(Session(target).run(inputs).values(), outputs)


@cache
def _tests() -> dict[str, Any]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    single = {}
    for test in tests:
        nodes = [] if test.model is None else list(test.model.graph.node)
        if len(nodes) == 1 and nodes[0].op_type in OPS.split():
            single[test.name] = test
    return single


@pytest.mark.parametrize("keep_ranks", [True, False], ids=["ranks", "nothing"])
@pytest.mark.parametrize("name", sorted(_tests()))
def test_imports(name: str, keep_ranks: bool) -> None:
    test = _tests()[name]
    proto = onnx.ModelProto()
    proto.CopyFrom(test.model)
    del proto.graph.input[:]
    inputs = []
    for index, info in enumerate(test.model.graph.input):
        array = np.asarray(test.data_sets[0][0][index])
        if index and array.size <= 64:
            proto.graph.initializer.append(onnx.numpy_helper.from_array(array, info.name))
        else:
            proto.graph.input.append(info)
            inputs.append(array)
    model = onnx_reader.from_proto(proto)
    forget(model, keep_ranks=keep_ranks)
    target = converted(pipelines.to_openvino, model)
    if target is None:
        return
    agree(Session(target).run(inputs).values(), [np.asarray(a) for a in test.data_sets[0][1]])
