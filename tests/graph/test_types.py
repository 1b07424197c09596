"""Shapes: refining, widening and broadcasting, with property tests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Dim,
    DynamicDim,
    ElementType,
    Shape,
    TensorType,
    broadcast_shapes,
    widen_types,
)

dims: st.SearchStrategy[Dim] = st.one_of(st.integers(0, 3), st.just(UNKNOWN_DIM))
shapes: st.SearchStrategy[Shape] = st.one_of(
    st.just(UNKNOWN_SHAPE), st.lists(dims, max_size=3).map(lambda item: Shape(tuple(item)))
)


@given(shapes, shapes)
def test_widening_and_refining_commute(left: Shape, right: Shape) -> None:
    assert left.widen(right) == right.widen(left)
    assert left.refine(right) == right.refine(left)


@given(shapes)
def test_a_shape_is_its_own_bound(shape: Shape) -> None:
    assert shape.widen(shape) == shape
    assert shape.refine(shape) == shape


@given(shapes, shapes)
def test_widened_shapes_contradict_neither(left: Shape, right: Shape) -> None:
    both = left.widen(right)
    assert both.refine(left) is not None
    assert both.refine(right) is not None


@pytest.mark.parametrize(
    ("given_shapes", "expected"),
    [
        ([(2, 3), (3,)], (2, 3)),
        ([(2, 1), (1, 3)], (2, 3)),
        ([(), (4,)], (4,)),
        ([(0, 1), (1,)], (0, 1)),
    ],
)
def test_broadcasting_known_shapes(
    given_shapes: list[tuple[int, ...]], expected: tuple[int, ...]
) -> None:
    assert broadcast_shapes(Shape(item) for item in given_shapes) == Shape(expected)


def test_shapes_that_do_not_broadcast() -> None:
    assert broadcast_shapes([Shape.of(2), Shape.of(3)]) is None


def test_an_unknown_dimension_broadcasts_to_the_known_one() -> None:
    assert broadcast_shapes([Shape.of(None, 2), Shape.of(5, 1)]) == Shape.of(5, 2)
    assert broadcast_shapes([Shape.of(None), Shape.of(1)]) == Shape.of(None)


def test_the_union_of_two_shapes_covers_both() -> None:
    left = TensorType(ElementType.F32, Shape.of(2, 3))
    right = TensorType(ElementType.F32, Shape.of(2, 4))
    assert widen_types(left, right) == TensorType(ElementType.F32, Shape.of(2, None))


def test_shapes_are_written_as_openvino_writes_them() -> None:
    shape = Shape((2, UNKNOWN_DIM, DynamicDim(1, 5), DynamicDim(3), DynamicDim(symbol="N")))
    assert str(shape) == "[2,?,1..5,3..,N]"
    assert str(UNKNOWN_SHAPE) == "[...]"


def test_bits_of_packed_types_round_up_to_bytes() -> None:
    assert ElementType.U1.nbytes(9) == 2
    assert ElementType.I4.nbytes(3) == 2
    assert ElementType.F64.nbytes(3) == 24
