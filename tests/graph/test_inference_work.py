"""What inference and passes look at: no weights that cannot be sizes, no types without a loop."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.conversion.loops.scan_axes import ScanAlongFront
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.builder import Builder
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.base import PassConfig


class Unreadable(ArrayTensor):
    """Weights that must not be read."""

    __slots__ = ()

    def numpy(self) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        raise AssertionError("the weights were read")


def graph_of(tensor: ArrayTensor, element: ElementType, *, weights_first: bool) -> Graph:
    """The sum of an input and a constant."""
    graph = Graph("sum")
    x = graph.add_parameter("x", TensorType(element, Shape.of(4)))
    weights = graph.add_constant(tensor, "weights")
    operands = (weights, x) if weights_first else (x, weights)
    graph.add_result(Builder(graph)(Add(), *operands), "y")
    return graph


@pytest.mark.parametrize("weights_first", [True, False])
def test_float_weights_are_not_read(weights_first: bool) -> None:
    tensor = Unreadable(np.ones(4, np.float32))
    graph = graph_of(tensor, ElementType.F32, weights_first=weights_first)
    Inference().run(graph)
    assert str(graph.results[0].inputs[0].type) == "f32[4]"  # type: ignore[union-attr]


def test_integers_that_may_be_sizes_are_read() -> None:
    graph = graph_of(ArrayTensor(np.array([1, 2, 3, 4])), ElementType.I64, weights_first=False)
    inference = Inference()
    inference.run(graph)
    weights = next(iter(graph.nodes)).outputs[0]
    assert inference.dims(weights) == (1, 2, 3, 4)


def test_a_loop_pass_without_loops_infers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(ArrayTensor(np.ones(4, np.float32)), ElementType.F32, weights_first=False)

    def refuse(*_: object) -> None:
        raise AssertionError("types were inferred")

    monkeypatch.setattr(Inference, "run", refuse)
    assert not ScanAlongFront().run(Model(graph, "onnx", 8, {"": 17}), PassConfig())
