"""Inference reads no weights that cannot be sizes; loop passes infer no types without a loop."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import Gather
from irloop.dialects.openvino.shape import Reshape, ShapeOf3
from irloop.faults.repairs.scan_axes import ScanAlongFront
from irloop.graph.arguments import Arguments
from irloop.graph.builder import Builder
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.passes.manager import Manager


class Unreadable(ArrayTensor):
    """Weights that raise an error if they are read."""

    __slots__ = ()

    def numpy(self) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
        raise AssertionError("the weights were read")


def graph_of(tensor: ArrayTensor, element: ElementType, *, weights_first: bool) -> Graph:
    """A graph that adds a constant to an input."""
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


def test_a_loop_pass_infers_nothing_if_there_are_no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(ArrayTensor(np.ones(4, np.float32)), ElementType.F32, weights_first=False)

    def refuse(*_: object) -> None:
        raise AssertionError("types were inferred")

    monkeypatch.setattr(Inference, "run", refuse)
    assert not Manager([ScanAlongFront()]).run_passes(Model(graph, "onnx", 8, {"": 17}))


def test_equal_operations_are_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph("chain")
    last = graph.add_parameter("x", TensorType(ElementType.F32, Shape.of(4)))
    for number in range(5):
        weights = graph.add_constant(ArrayTensor(np.ones(4, np.float32)), f"w{number}")
        last = graph.add_node(Add(), f"y{number}", (last, weights), 1).output
    graph.add_result(last, "y")
    calls: list[Add] = []
    infer = Add.infer

    def counted(op: Add, args: Arguments) -> list[ValueType]:
        calls.append(op)
        return infer(op, args)

    monkeypatch.setattr(Add, "infer", counted)
    Inference().run(graph)
    assert len(calls) == 1
    assert {str(node.outputs[0].type) for node in graph.nodes} == {"f32[4]"}


def test_equal_operations_with_other_constants_get_their_own_shapes() -> None:
    graph = Graph("reshapes")
    x = graph.add_parameter("x", TensorType(ElementType.F32, Shape.of(6)))
    made = []
    for number, shape in enumerate(([2, 3], [3, 2], [6, 1])):
        pattern = graph.add_constant(ArrayTensor(np.array(shape)), f"shape{number}")
        made.append(graph.add_node(Reshape(True), f"y{number}", (x, pattern), 1).output)
        graph.add_result(made[-1], f"result{number}")
    Inference().run(graph)
    assert [str(value.type) for value in made] == ["f32[2,3]", "f32[3,2]", "f32[6,1]"]


def test_equal_operations_of_constants_are_each_folded() -> None:
    graph = Graph("sums")
    x = graph.add_parameter("x", TensorType(ElementType.I64, Shape.of(2)))
    one, two = (graph.add_constant(ArrayTensor(np.array([n, n])), f"c{n}") for n in (1, 2))
    sums = [
        graph.add_node(Add(), f"y{number}", operands, 1).output
        for number, operands in enumerate(((x, one), (one, one), (one, two), (x, two)))
    ]
    for value in sums:
        graph.add_result(value, f"{value.name}/result")
    inference = Inference()
    inference.run(graph)
    assert [inference.dims(value) for value in sums] == [None, (2, 2), (3, 3), None]


def test_known_sizes_do_not_mix_with_an_equal_operation_of_unknown_sizes() -> None:
    graph = Graph("sizes")
    numbers = graph.add_parameter("numbers", TensorType(ElementType.I64, Shape.of(2)))
    x = graph.add_parameter("x", TensorType(ElementType.F32, Shape.of(None, 7)))
    sizes = graph.add_node(ShapeOf3(), "sizes", (x,), 1).output
    second = graph.add_constant(ArrayTensor(np.array([1])), "second")
    axis = graph.add_constant(ArrayTensor(np.array(0)), "axis")
    found = [
        graph.add_node(Gather(), f"y{place}", (source, second, axis), 1).output
        for place, source in enumerate((numbers, sizes, numbers))
    ]
    for value in found:
        graph.add_result(value, f"{value.name}/result")
    inference = Inference()
    inference.run(graph)
    assert [inference.dims(value) for value in found] == [None, (7,), None]
