"""Sequence and optional operations against the outputs that ONNX stores for its own tests."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from irloop.dialects.onnx.sequence import (
    ConcatFromSequence,
    Optional,
    OptionalGetElement,
    OptionalHasElement,
    SequenceAt,
    SequenceConstruct,
    SequenceEmpty,
    SequenceErase,
    SequenceInsert,
    SequenceLength,
    SplitToSequence,
)
from irloop.errors import InferenceError
from irloop.formats.onnx import reader
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import (
    UNKNOWN_TYPE,
    DynamicDim,
    ElementType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
    widen_types,
)

FAMILY = {
    cls.type
    for cls in (
        ConcatFromSequence,
        Optional,
        OptionalGetElement,
        OptionalHasElement,
        SequenceAt,
        SequenceConstruct,
        SequenceEmpty,
        SequenceErase,
        SequenceInsert,
        SequenceLength,
        SplitToSequence,
    )
}


@cache
def cases() -> dict[str, Any]:
    """The node tests of the installed onnx package that contain only these operations."""
    with warnings.catch_warnings():
        # The generators of some cases overflow.
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        found = load_model_tests(kind="node")
    return {
        case.name: case
        for case in found
        if case.model is not None
        and FAMILY & {node.op_type for node in case.model.graph.node}
        and all(node.op_type in {*FAMILY, "Constant"} for node in case.model.graph.node)
    }


def computed(graph: Graph, inputs: list[Any]) -> list[Any]:
    """The outputs of a graph without bodies, computed by one kernel after another."""
    values: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            values[node.output] = node.op.tensor.numpy()
            continue
        given = [None if value is None else values[value] for value in node.inputs]
        values[node.output] = node.op.kernel()(*given)
    return [values[value] for value in graph.outputs]


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            assert_same(*pair)
        return
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.asarray(expected).dtype
    assert found.shape == np.asarray(expected).shape


def test_every_stored_case() -> None:
    names = cases()
    assert len(names) >= 15
    for name, case in names.items():
        graph = reader.from_proto(case.model).graph
        for inputs, outputs in case.data_sets:
            found = computed(graph, list(inputs))
            for pair in zip(found, outputs, strict=True):
                assert_same(*pair)
        assert name


F32 = TensorType(ElementType.F32, Shape.of(2, 6))


def inferred(op: Op, *types: ValueType | list[int] | int | None) -> ValueType:
    b = Builder(Graph("g"))
    values = [
        b.i64(item)
        if isinstance(item, int | list)
        else None
        if item is None
        else b.parameter("p", item)
        for item in types
    ]
    node: Node = b.emit(op, *values)
    return node.output.type


def sequence(*dims: int | None, length: int | None = None, mixed: bool = False) -> SequenceType:
    return SequenceType(TensorType(ElementType.F32, Shape.of(*dims)), length, mixed)


def test_construct_widens_its_items() -> None:
    other = TensorType(ElementType.F32, Shape.of(3, 6))
    assert inferred(SequenceConstruct(), F32, F32) == sequence(2, 6, length=2)
    assert inferred(SequenceConstruct(), F32, other) == sequence(None, 6, length=2, mixed=True)
    with pytest.raises(InferenceError, match="differ in element type"):
        inferred(SequenceConstruct(), F32, TensorType(ElementType.I64, Shape.of(2)))


def test_items_are_inserted_and_read() -> None:
    assert inferred(SequenceInsert(), sequence(2, 6), F32) == sequence(2, 6)
    assert inferred(SequenceErase(), sequence(2, 6), 0) == sequence(2, 6)
    assert inferred(SequenceAt(), sequence(2, 6), 0) == F32
    assert inferred(SequenceLength(), sequence(2, 6)) == TensorType(ElementType.I64, Shape.of())
    empty = inferred(SequenceEmpty(ElementType.I32))
    assert empty == SequenceType(TensorType(ElementType.I32, Shape(None)), 0)


def test_lengths_and_shapes_are_inferred() -> None:
    three = sequence(2, 6, length=3)
    assert inferred(SequenceInsert(), three, F32) == sequence(2, 6, length=4)
    assert inferred(SequenceErase(), three) == sequence(2, 6, length=2)
    longer = TensorType(ElementType.F32, Shape.of(2, 7))
    assert inferred(SequenceInsert(), three, longer) == sequence(2, None, length=4, mixed=True)
    # The first item of an empty sequence determines the shape of all items.
    empty = SequenceType(TensorType(ElementType.F32, Shape(None)), 0)
    assert inferred(SequenceInsert(), empty, F32) == sequence(2, 6, length=1)
    # One branch may return the sequence unchanged, and another one with more items.
    assert widen_types(empty, three) == widen_types(three, empty) == sequence(2, 6)
    assert widen_types(three, sequence(2, 7, length=3)) == sequence(2, None, length=3, mixed=True)


def test_values_that_are_not_sequences_are_refused() -> None:
    with pytest.raises(InferenceError, match="not a sequence"):
        inferred(SequenceLength(), F32)
    assert inferred(SequenceAt(), UNKNOWN_TYPE, 0) == UNKNOWN_TYPE
    with pytest.raises(InferenceError, match="not a scalar"):
        inferred(SequenceAt(), sequence(2), [0, 1])


@pytest.mark.parametrize(
    ("op", "parts", "expected"),
    [
        (SplitToSequence(axis=1), None, sequence(2, 1, length=6)),
        (SplitToSequence(axis=-1, keepdims=0), None, sequence(2, length=6)),
        (SplitToSequence(axis=1, keepdims=0), 3, sequence(2, 3, length=2)),
        (SplitToSequence(axis=1), 4, sequence(2, None, length=2, mixed=True)),
        (SplitToSequence(axis=1), [2, 2, 2], sequence(2, 2, length=3)),
        (SplitToSequence(axis=1), [1, 5], sequence(2, None, length=2, mixed=True)),
    ],
)
def test_parts_of_a_split(op: Op, parts: Any, expected: SequenceType) -> None:
    assert inferred(op, F32, parts) == expected


def test_a_split_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InferenceError, match="do not add up to the axis"):
        inferred(SplitToSequence(axis=1), F32, [1, 2])
    with pytest.raises(InferenceError, match="axis is out of range"):
        inferred(SplitToSequence(axis=2), F32)


def test_concatenation_of_a_sequence() -> None:
    assert inferred(ConcatFromSequence(axis=-1), sequence(2, 6)) == TensorType(
        ElementType.F32, Shape.of(2, None)
    )
    stacked = inferred(ConcatFromSequence(axis=-1, new_axis=1), sequence(2, 6))
    assert stacked == TensorType(ElementType.F32, Shape((2, 6, DynamicDim())))
    with pytest.raises(InferenceError, match="axis is out of range"):
        inferred(ConcatFromSequence(axis=2), sequence(2, 6))


def test_optionals() -> None:
    assert inferred(Optional(), F32) == OptionalType(F32)
    assert inferred(OptionalGetElement(), OptionalType(F32)) == F32
    assert inferred(OptionalGetElement(), F32) == F32
    assert inferred(OptionalHasElement()) == TensorType(ElementType.BOOLEAN, Shape.of())
    assert not OptionalHasElement().kernel()()
    assert OptionalHasElement().kernel()(np.zeros(2))
    with pytest.raises(ValueError, match="the optional is empty"):
        OptionalGetElement().kernel()(None)


@pytest.mark.parametrize(
    ("position", "expected"), [(0, "xab"), (1, "axb"), (2, "abx"), (-1, "axb"), (-2, "xab")]
)
def test_positions_of_an_insertion(position: int, expected: str) -> None:
    # SequenceInsert-11: -n..n, a negative position counts from the back.
    given = ["a", "b"]
    found = SequenceInsert().kernel()(given, "x", np.array(position))
    assert "".join(found) == expected
    assert given == ["a", "b"]


@pytest.mark.parametrize("position", [3, -3])
def test_positions_that_do_not_exist(position: int) -> None:
    with pytest.raises(ValueError, match=r"expected -2\.\.2"):
        SequenceInsert().kernel()(["a", "b"], "x", np.array(position))
    with pytest.raises(ValueError, match=r"expected -2\.\.1"):
        SequenceAt().kernel()(["a", "b"], np.array(position))


def test_splits_of_strings_and_of_empty_tensors() -> None:
    texts = np.array(["a", "b"], dtype=object)
    parts = SplitToSequence(keepdims=0).kernel()(texts)
    assert [part.shape for part in parts] == [(), ()]
    assert [part.item() for part in parts] == ["a", "b"]
    assert SplitToSequence().kernel()(np.zeros((0, 2)), np.array(2)) == []
    with pytest.raises(ValueError, match="parts of"):
        SplitToSequence().kernel()(np.zeros(3), np.array([1, 1]))
    with pytest.raises(ValueError, match="empty sequence"):
        ConcatFromSequence(axis=0).kernel()([])
