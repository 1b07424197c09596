"""The builder of graphs shares equal constants."""

from __future__ import annotations

from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.rewriter import Rewriter


def test_equal_small_constants_are_shared() -> None:
    c = Builder(Graph("g"))
    assert c.i64([1, 2]) is c.i64([1, 2])
    assert c.i64([1]) is not c.i64([[1]])


def test_an_erased_constant_is_created_again() -> None:
    c = Builder(Graph("g"))
    first = c.i64([1, 2])
    Rewriter(c.graph).erase(first.producer)
    second = c.i64([1, 2])
    assert second is not first
    assert list(c.graph.nodes) == [second.producer]
