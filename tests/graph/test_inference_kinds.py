"""An error of inference has a kind, which determines the code of the rule that reports it."""

from __future__ import annotations

import pytest

from irloop.dialects.openvino import activation, elementwise
from irloop.errors import InferenceError
from irloop.graph.inference import Inference
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType

#: The bad examples of the rules IRL403, IRL404 and IRL405.
CASES = [
    (elementwise.Add(), ("f32", (1, 2)), ("i64", (1, 2)), "elements", "IRL403"),
    (elementwise.Add(), ("f32", (1, 2)), ("f32", (1, 3)), "operands", "IRL404"),
    (activation.SoftMax8(axis=2), ("f32", (1, 2)), None, "range", "IRL405"),
]


@pytest.mark.parametrize(("op", "left", "right", "kind", "code"), CASES)
def test_the_kind_determines_the_code(
    op: Op,
    left: tuple[str, tuple[int, ...]],
    right: tuple[str, tuple[int, ...]] | None,
    kind: str,
    code: str,
) -> None:
    graph = Graph("net")
    inputs = [
        graph.add_parameter(name, TensorType(ElementType(item[0]), Shape(item[1])))
        for name, item in (("x", left), ("y", right))
        if item is not None
    ]
    graph.add_node(op, "node", tuple(inputs), 1)
    with pytest.raises(InferenceError) as caught:
        Inference().run(graph)
    assert caught.value.kind == kind
    assert caught.value.diagnostics[0].code == code
