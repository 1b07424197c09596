"""Passes that change one loop at a time.

The base class visits all loops of a model, inner loops first, and gives each to the pass.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Set
from typing import ClassVar

from irloop.graph.model import Graph, Model, Node
from irloop.graph.op import Op
from irloop.passes.base import ModelPass, failures_named
from irloop.passes.loop_wires import LOOPS, LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["EachLoop", "LoopPass"]


class EachLoop(ModelPass):
    """Base of passes that change the loops of a model, inner loops first.

    In `change_loop`, `self.model` is the whole model, and `self.session` holds the inferred types
    of its values and the names in use.
    """

    loops: ClassVar[tuple[type[Op], ...]] = LOOPS

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        # Most models have no loops, and there finding the types and names of all nodes would be a
        # waste of time.
        return any(issubclass(kind, self.loops) for kind in kinds)

    def run_on_model(self, model: Model) -> bool:
        self.model = model
        self.session = Session.of(model, self.config.facts)
        return self._visit(model.graph)

    def _visit(self, graph: Graph) -> bool:
        rewriter = self.session.rewriter(graph)
        for node in graph.nodes:
            for body in node.bodies:
                rewriter.modified |= self._visit(body.graph)
            if isinstance(node.op, self.loops) and not self.transformation_callback(node):
                with failures_named(self.name, node):
                    self.change_loop(node, rewriter)
        return rewriter.modified

    @abstractmethod
    def change_loop(self, node: Node, rewriter: MatchRewriter) -> None:
        """Change one loop of the rewriter's graph, if the pass applies to it."""


class LoopPass(EachLoop):
    """Base of passes that change the loops of a model by their wires, inner loops first.

    A subclass implements `change`, which is called for each operation of the types in `loops`. In
    `change`, `self.model` is the whole model, and `self.session` holds the inferred types of its
    values and the names in use.
    """

    def change_loop(self, node: Node, rewriter: MatchRewriter) -> None:
        wires = LoopWires.of(node)
        if wires is not None:
            self.change(node, wires, rewriter)

    @abstractmethod
    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        """Change one loop of the rewriter's graph, if the pass applies to it."""
