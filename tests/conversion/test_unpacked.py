"""Constants of types that the requested opset lacks; expected values are worked out by hand."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from irloop.conversion import pipelines
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.openvino.convert import Convert
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import writer
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType


def model_of(dialect: str, op: Op, element: ElementType, elements: Any) -> Model:
    builder = Builder(Graph("g"))
    weights = builder.tensor(ArrayTensor(elements, element))
    builder.result(builder(op, weights), "y")
    return Model(builder.graph, dialect, 10, {"": 25} if dialect == "onnx" else {}, {})


def stored(model: Model) -> set[ElementType]:
    ops = [node.op for node in model.graph.nodes]
    return {op.tensor.element for op in ops if isinstance(op, Constant)}


@pytest.mark.parametrize(
    ("element", "elements", "since", "replacement", "expected"),
    [
        (ElementType.U4, np.array([0, 15], ml_dtypes.uint4), 21, ElementType.U8, [0, 15]),
        (ElementType.I4, np.array([-8, 7], ml_dtypes.int4), 21, ElementType.I8, [-8, 7]),
        (ElementType.BF16, np.array([1.5, -2], ml_dtypes.bfloat16), 13, ElementType.F32, [1.5, -2]),
        (
            ElementType.F8E5M2,
            np.array([57344, 2**-16], ml_dtypes.float8_e5m2),
            19,
            ElementType.F16,
            [57344, 2**-16],
        ),
        (ElementType.U1, np.array([1, 0], np.uint8), None, ElementType.U8, [1, 0]),
        # The first, the middle and the last code of nf4.
        (ElementType.NF4, np.array([0, 7, 15], np.uint8), None, ElementType.F32, [-1, 0, 1]),
    ],
)
def test_a_type_stays_if_the_opset_has_it(
    element: ElementType,
    elements: Any,
    since: int | None,
    replacement: ElementType,
    expected: list[float],
) -> None:
    for opset in (11, 25):
        model = model_of("openvino", Convert(ElementType.F32), element, elements)
        (source,) = Session(model).run([]).values()
        assert source.tolist() == expected
        target, _ = pipelines.to_onnx(model, opset=opset)
        stays = since is not None and opset >= since
        assert stored(target) == {element if stays else replacement}
        (result,) = Session(target).run([]).values()
        assert result.tolist() == expected
        onnx.checker.check_model(writer.to_proto_model(target), full_check=True)


@pytest.mark.parametrize(
    ("element", "elements", "replacement"),
    [
        (ElementType.I2, np.array([-2, 1], ml_dtypes.int2), ElementType.I8),
        (ElementType.F8E4M3FNUZ, np.array([-2, 1], ml_dtypes.float8_e4m3fnuz), ElementType.F16),
    ],
)
def test_types_that_openvino_lacks(
    element: ElementType, elements: Any, replacement: ElementType
) -> None:
    target, _ = pipelines.to_openvino(model_of("onnx", Cast6(ElementType.F32), element, elements))
    assert stored(target) == {replacement}
    (result,) = Session(target).run([]).values()
    assert result.tolist() == [-2, 1]


def test_computation_in_such_a_type_is_refused() -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.U4, Shape.of(2)))
    builder.result(builder(Convert(ElementType.F32), x), "y")
    with pytest.raises(UnsupportedError, match="opset 21"):
        pipelines.to_onnx(Model(builder.graph, "openvino", 10, {}, {}), opset=17)
