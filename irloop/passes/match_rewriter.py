"""The rewriter that callbacks of a graph rewrite receive; it records the nodes that they insert."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irloop.dialects.openvino.state import Assign, Assign6
from irloop.graph.builder import Names
from irloop.graph.inference import Inference
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Constant, Op, Parameter, Result
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ValueType
from irloop.passes.folding import folded

__all__ = ["MatchRewriter", "copy_info", "has_fixed_name", "is_unread"]


#: Operations with an effect although nothing reads them.
SINKS = (Assign, Assign6, Result)


def is_unread(node: Node) -> bool:
    """Return whether nothing depends on a node: nothing reads its outputs, and it writes no
    variable.

    A loop without outputs is unread, too.
    """
    for value in node.outputs:
        if value.is_used:
            return False
    return not isinstance(node.op, SINKS)


class MatchRewriter(Rewriter):
    """A rewriter that infers the types of inserted nodes, and collects these nodes.

    `take_inserted` returns the collected nodes.
    """

    def __init__(self, graph: Graph, inference: Inference, names: Names) -> None:
        super().__init__(graph)
        self.inference = inference
        self.names = names
        self._inserted: list[Node] = []

    def insert(
        self,
        op: Op,
        inputs: tuple[Value | None, ...],
        *,
        before: Node | None,
        name: str,
        n_outputs: int = 1,
        types: tuple[ValueType, ...] = (),
        names: tuple[tuple[str, ...], ...] = (),
        bodies: tuple[Body, ...] = (),
    ) -> Node:
        node = super().insert(
            op,
            inputs,
            before=before,
            name=self.names.fresh(name),
            n_outputs=n_outputs,
            types=types,
            names=names,
            bodies=bodies,
        )
        self.inference.visit(node)
        self._inserted.append(node)
        return node

    def replace_value(self, old: Value, new: Value, *, keep_names: bool = True) -> None:
        """Make every reader of `old` read `new` instead; an input of the graph keeps its own names.

        With `keep_names`, the tensor names of `old` move to `new`. If `new` is an input of the
        graph, its own names come before the names of `old`; if it has no names, it gets none.
        """
        own = new.names
        super().replace_value(old, new, keep_names=keep_names)
        if isinstance(new.producer.op, Parameter):
            new.names = (*own, *(name for name in new.names if name not in own)) if own else ()

    def take_inserted(self) -> list[Node]:
        """Return the nodes that were inserted since the last call, in order of creation.

        Nodes that have been removed from the graph again are left out.
        """
        if not self._inserted:
            return []
        made = self.inserted
        self._inserted = []
        return made

    @property
    def inserted(self) -> list[Node]:
        """The nodes inserted since the last call of `take_inserted` that are still in the graph.

        They are in the order of creation.
        """
        return [node for node in self._inserted if node.graph is self.graph]

    def fold(self, value: Value) -> Value:
        """Fold `value` if it depends on constants only; else return `value` itself.

        Constant expressions that a callback builds are thus folded immediately, and no later pass
        sees them.
        """
        tensor = folded(value)
        if tensor is None or isinstance(value.producer.op, Constant):
            return value
        before = value.producer
        return self.insert_constant(tensor, before=before, name=f"{before.name}/folded")

    def erase_unread(self, nodes: Iterable[Node]) -> None:
        """Erase the unread nodes in `nodes`, and all producers that become unread by this."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            gone = node.graph is not self.graph or isinstance(node.op, Parameter)
            if gone or not is_unread(node):
                continue
            waiting += [value.producer for value in node.inputs if value is not None]
            self.erase(node)

    def eliminate(self, node: Node, value: Value) -> bool:
        """Replace the only output of `node` by `value`, which takes over the names of the output.

        Returns False and changes nothing if the output is an output of the model and its name
        cannot move: `value` is an output of the model, too, or its producer is a Parameter or has
        several outputs. Outputs of a body are known by their places, not by their names.
        """
        is_output = node.output.is_output and self.graph.owner is None
        if is_output and (has_fixed_name(value.producer) or value.is_output):
            return False
        if is_output:
            value.producer.name, node.name = node.name, value.producer.name
        self.replace_node(node, (value,))
        return True


def has_fixed_name(node: Node) -> bool:
    """Return whether a node cannot take over the name of an output that it is going to give."""
    return isinstance(node.op, Parameter) or len(node.outputs) > 1


def copy_info(sources: Node | Sequence[Node], targets: Node | Iterable[Node]) -> None:
    """Copy the runtime information of one or more sources to one or more targets.

    A target gets the information of all sources; a later source overrides an earlier one. A target
    loses its own information unless it is one of the sources (as in nGraph's copy_runtime_info).
    """
    given = [sources] if isinstance(sources, Node) else list(sources)
    merged = {key: value for node in given for key, value in node.info.items()}
    for target in [targets] if isinstance(targets, Node) else targets:
        target.info = dict(merged)
