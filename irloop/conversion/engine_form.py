"""Defines `Form`: a pass for an engine, and a test for the nodes that the pass rewrites.

The pass rewrites nodes that the engine refuses or computes wrongly.
"""

from __future__ import annotations

from collections.abc import Callable

from irloop.graph.inference import Inference
from irloop.graph.model import Node
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.hazards.catalogue import hazards
from irloop.passes.base import Pass
from irloop.passes.graph_rewrite import MatcherPass

__all__ = ["Form", "Known", "Test", "has", "is_constant", "single"]


class Known(Record):
    """Facts about a model that `Form.test` needs; they are computed once."""

    inference: Inference
    #: The names of loops that depend on constants only, and of Ifs whose condition does so.
    constant: frozenset[str]


#: Whether a node has the form that a pass rewrites.
Test = Callable[[Node, Known], bool]


class Form(Record):
    """A pass for an engine, and tests for the nodes that it rewrites.

    Before `transform` runs any pass, it calls `test` for each node. The pass `item` then does not
    rewrite the nodes for which `test` was true. If `test` is None, the pass may rewrite every node.
    If `tidies` is true, the pass only cleans up after other passes in a conversion, and `transform`
    does not run it.

    If `item` is a `MatcherPass` for single operations, `matches` is true for the nodes that it
    rewrites; for other passes, `matches` is None. The pass is skipped if the model has no operation
    of the types in `beside`.
    """

    item: Pass
    test: Test | None = None
    tidies: bool = False
    matches: Callable[[Node], bool] | None = None
    beside: tuple[type[Op], ...] = (Op,)


def has(*codes: str) -> Test:
    """Make a test that is true for nodes with the pattern of one of these hazards."""

    def test(node: Node, _: Known) -> bool:
        return any(True for code in codes for _ in hazards()[code]().find(node))

    return test


def single(
    item: MatcherPass,
    matches: Callable[[Node], bool],
    *,
    always: bool = False,
    beside: tuple[type[Op], ...] = (Op,),
) -> Form:
    """Make the form of a pass that rewrites single operations.

    `item` is the pass, and `matches` is true for the operations that it rewrites. The pass is
    skipped in models without an operation of the types in `beside`. If an operation has the form
    before `transform` runs any pass, `transform` does not change it, unless `always` is true.
    """
    test = None if always else lambda node, _: matches(node)
    return Form(item, test, matches=matches, beside=beside)


def is_constant(node: Node, known: Known) -> bool:
    """Return whether a loop depends on constants only, or the condition of an If does.

    The result is False for all other nodes.
    """
    return node.name in known.constant
