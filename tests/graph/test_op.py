"""Operations are frozen dataclasses: construction, equality, replacement, printing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from irloop.graph.op import Op, UnknownOp, attribute


class Window(Op):
    """An operation with a field of each kind."""

    axis: int
    size: int = 1
    mode: str = attribute(default="same", name="auto-mode")


class WideWindow(Window):
    """A subclass whose fields follow those of its base class."""

    dilation: int = 1


class Plain(Op):
    """An operation without fields."""


def _any(item: Any) -> Any:
    return item


def test_fields_are_given_by_position_or_name_or_have_defaults() -> None:
    assert Window(2) == Window(axis=2, size=1, mode="same")
    assert Window(2, 3).size == 3
    assert WideWindow(2, dilation=4).dilation == 4
    assert [item.name for item in fields(_any(WideWindow))] == ["axis", "size", "mode", "dilation"]
    assert fields(_any(Window))[2].metadata["name"] == "auto-mode"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (_any(Window), "missing: axis; unknown: none"),
        (lambda: _any(Window)(1, 2, "x", 4), "4 given by position"),
        (lambda: _any(Window)(1, axis=1), "unknown: none; 1 given by position"),
        (lambda: _any(Window)(1, sise=2), "unknown: sise"),
        (lambda: _any(Window)(sise=2), "missing: axis; unknown: sise"),
        (lambda: _any(Plain)(1), "has the attributes none"),
    ],
)
def test_a_wrong_call_names_missing_and_unknown_attributes(
    call: Callable[[], Op], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_an_operation_never_changes() -> None:
    op = Window(1)
    with pytest.raises(FrozenInstanceError, match="axis"):
        _any(op).axis = 2
    with pytest.raises(FrozenInstanceError, match="axis"):
        del _any(op).axis
    with pytest.raises(FrozenInstanceError, match="other"):
        _any(op).other = 2
    assert replace(op, axis=2) == Window(2)
    assert op.axis == 1


def test_equality_and_hash_go_by_class_and_fields() -> None:
    assert Window(1) != Window(2)
    assert WideWindow(1) != Window(1)
    assert {Window(1), Window(1), Window(2), Plain(), Plain()} == {Window(1), Window(2), Plain()}
    assert Window(1) != 1


def test_printing_copying_and_pickling() -> None:
    assert repr(Window(1)) == "Window(axis=1, size=1, mode='same')"
    assert copy.deepcopy(Window(1)) == Window(1)
    assert pickle.loads(pickle.dumps(Window(1))) == Window(1)  # noqa: S301


def test_matching_takes_fields_by_position_and_name() -> None:
    match Window(1, 5):
        case Window(axis, size=size):
            assert (axis, size) == (1, 5)


def test_mutable_defaults_are_not_shared() -> None:
    first, second = UnknownOp("Foo", "opset1"), UnknownOp("Foo", "opset1")
    assert first.attributes == {}
    assert first.attributes is not second.attributes
