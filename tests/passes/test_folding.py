"""Folded constants equal the results of running the model, also in half precision."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.dialects.onnx.elementwise import Mul
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Multiply
from irloop.execution.session import run
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.op import Constant
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import Manager
from irloop.passes.common import ConstantFolding, DeadCode

F16 = TensorType(ElementType.F16, Shape.of(1))


def product(left: float, right: float, dialect: str = "openvino") -> Model:
    """x * (left * right), all in half precision"""
    op = Multiply if dialect == "openvino" else Mul
    b = Builder(Graph("g"))
    x = b.parameter("x", F16)
    constants = [b.constant([number], ElementType.F16) for number in (left, right)]
    b.result(b(op(), x, b(op(), *constants, name="k"), name="y"), "out")
    return Model(b.graph, dialect, 11, {} if dialect == "openvino" else {"": 17})


def folds(model: Model) -> bool:
    Manager([ConstantFolding(), DeadCode()], check=True).run_passes(model)
    return all(node.name == "y" or isinstance(node.op, Constant) for node in model.graph.nodes)


def test_half_precision_is_folded_only_if_nothing_is_rounded() -> None:
    # 2 * 3 is exact in half precision, but 0.1 * 0.3 (each rounded to half precision) is not.
    assert folds(product(2, 3))
    assert not folds(product(0.1, 0.3))
    # ONNX rounds after each operation, so folding may round, too.
    assert folds(product(0.1, 0.3, "onnx"))


@pytest.mark.parametrize("numbers", [(2.0, 3.0), (0.1, 0.3), (300.0, 300.0)])
def test_folding_keeps_the_numbers(numbers: tuple[float, float]) -> None:
    x = [np.array([0.01], np.float16)]
    wanted = list(run(product(*numbers), x).values())
    model = product(*numbers)
    Manager([ConstantFolding()]).run_passes(model)
    np.testing.assert_array_equal(list(run(model, x).values()), wanted)


def test_a_conversion_that_rounds_stays() -> None:
    for number, folded in ((0.5, True), (0.1, False)):
        b = Builder(Graph("g"))
        x = b.parameter("x", F16)
        k = b.constant([number], ElementType.F32)
        b.result(b(Multiply(), x, b(Convert(ElementType.F16), k), name="y"), "out")
        assert folds(Model(b.graph, "openvino", 11)) is folded
