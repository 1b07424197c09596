"""Contains `Rewriter`, the only way to change a graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as replace_dataclass
from typing import Any

from irloop.diagnostics import NOWHERE
from irloop.errors import VerifyError
from irloop.graph.model import (
    Body,
    Graph,
    Node,
    Value,
    change_bodies,
    change_op,
    link,
    make_node,
    unlink,
)
from irloop.graph.op import Op
from irloop.graph.types import ElementType, ValueType

__all__ = ["Rewriter"]


class Rewriter:
    """Changes one graph and keeps values, uses and order consistent.

    `modified` is true once anything has changed; a pass returns it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.modified = False
        #: The inserted nodes that have not yet replaced another node.
        self._new: set[Node] = set()

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
        """Insert a new node before the node `before`; None appends it at the end."""
        location = NOWHERE if before is None else before.location
        node = make_node(op, name, inputs, n_outputs, types, names, bodies, location)
        link(self.graph, node, before)
        self._new.add(node)
        self.modified = True
        return node

    def insert_constant(
        self,
        data: Any,
        *,
        before: Node | None,
        name: str,
        element: str | ElementType | None = None,
    ) -> Value:
        """Insert a new constant before a node, or at the end of the graph if `before` is None.

        `data` is an array, a number, a string, a (nested) list, or a `Tensor`, and `element` its
        type, such as "f32"; by default the type of the array, or i64 for integers, f32 for other
        numbers and boolean for bool.

        Raises:
            UsageError: when the data cannot be elements of this type.
        """
        from irloop.graph.constants import tensor_of
        from irloop.graph.op import Constant

        tensor = tensor_of(data, element)
        return self.insert(
            Constant(tensor), (), before=before, name=name, types=(tensor.type,)
        ).output

    def set_input(self, node: Node, position: int, value: Value | None) -> None:
        """Make input `position` of `node` read `value`."""
        old = node.inputs[position]
        if old is value:
            return
        if old is not None:
            del old._uses[(node, position)]
        inputs = list(node.inputs)
        inputs[position] = value
        node.inputs = tuple(inputs)
        if value is not None:
            value._uses[(node, position)] = None
        self.modified = True

    def set_inputs(self, node: Node, values: tuple[Value | None, ...]) -> None:
        """Replace the inputs of `node` by a list of any length."""
        for position, old in enumerate(node.inputs):
            if old is not None:
                del old._uses[(node, position)]
        node.inputs = values
        for position, value in enumerate(values):
            if value is not None:
                value._uses[(node, position)] = None
        self.modified = True

    def replace_value(self, old: Value, new: Value, *, keep_names: bool = True) -> None:
        """Make every reader of `old` read `new` instead.

        With `keep_names`, the tensor names of `old` move to `new`.
        """
        if old is new:
            return
        for node, position in old.uses:
            self.set_input(node, position, new)
        if keep_names and old.names:
            new.names = tuple(dict.fromkeys((*old.names, *new.names)))
            old.names = ()
        self.modified = True

    def replace_node(self, old: Node, values: Iterable[Value]) -> None:
        """Replace every output of `old` by the value at its position and erase the node.

        The producers of the new values take over the runtime information. Producers that this
        rewriter inserted are renamed: a single producer takes the name of the old node, several
        take this name with the number of the output. Other producers keep their names.

        Raises:
            VerifyError: if the number of values is not the number of outputs.
        """
        new = tuple(values)
        if len(new) != len(old.outputs):
            raise VerifyError(
                f"{old!r} has {len(old.outputs)} outputs and was given {len(new)} replacements",
                location=old.location,
            )
        for before, after in zip(old.outputs, new, strict=True):
            self.replace_value(before, after)
        self.erase(old)
        self._carry(old, new)

    def _carry(self, old: Node, values: tuple[Value, ...]) -> None:
        """Move the runtime information of an erased node to the producers of its replacements.

        Those producers that this rewriter inserted also take over the name (see `replace_node`).
        """
        first: dict[Node, int] = {}
        for index, value in enumerate(values):
            first.setdefault(value.producer, index)
        for producer, index in first.items():
            if old.info and producer.graph is self.graph:
                producer.info = {**producer.info, **old.info}
            if producer in self._new:
                producer.name = old.name if len(first) == 1 else f"{old.name}.{index}"
                self._new.discard(producer)

    def replace_op(self, node: Node, op: Op) -> None:
        """Give `node` another operation with the same inputs and outputs."""
        if node.op == op:
            return
        change_op(node, op)
        self.modified = True

    def set_attributes(self, node: Node, **changes: object) -> None:
        """Change attributes of the operation of `node`."""
        self.replace_op(node, replace_dataclass(node.op, **changes))

    def set_bodies(self, node: Node, bodies: tuple[Body, ...]) -> None:
        """Give `node` other bodies or other port maps."""
        change_bodies(node, bodies)
        self.modified = True

    def set_outputs(self, node: Node, n_outputs: int) -> None:
        """Give `node` more outputs, or drop unused ones at the end.

        Raises:
            VerifyError: when a dropped output is still used.
        """
        if any(value.is_used for value in node.outputs[n_outputs:]):
            raise VerifyError(
                f"an output of {node!r} that would be removed is still used",
                location=node.location,
                fix="replace the value in its readers first",
            )
        kept = node.outputs[:n_outputs]
        extra = tuple(Value(node, index) for index in range(len(kept), n_outputs))
        node.outputs = kept + extra
        self.modified = True

    def drop_outputs(self, node: Node, positions: set[int]) -> None:
        """Remove unused outputs of `node`; the others move up."""
        for position in positions:
            if node.outputs[position].is_used:
                raise VerifyError(
                    f"output {position} of {node!r} is still used",
                    location=node.location,
                    fix="replace the value in its readers first",
                )
        kept = [value for value in node.outputs if value.index not in positions]
        for index, value in enumerate(kept):
            value.index = index
        node.outputs = tuple(kept)
        self.modified = True

    def erase(self, node: Node) -> None:
        """Remove a node without readers.

        Raises:
            VerifyError: when one of its outputs is still used.
        """
        used = [value for value in node.outputs if value.is_used]
        if used:
            raise VerifyError(
                f"{node!r} is still used",
                location=node.location,
                fix="replace its outputs in their readers first",
            )
        self._forget_inputs(node)
        unlink(node)
        self.modified = True

    def erase_parameter(self, node: Node) -> None:
        """Remove an unused parameter; the caller must adapt port maps."""
        if node.outputs[0].is_used:
            raise VerifyError(
                f"{node!r} is still used",
                location=node.location,
                fix="replace its output in its readers first",
            )
        self.graph.parameters.remove(node)
        node.graph = None
        self.modified = True

    def erase_result(self, node: Node) -> None:
        """Remove a result; the caller must adapt port maps."""
        self._forget_inputs(node)
        self.graph.results.remove(node)
        node.graph = None
        self.modified = True

    def move_before(self, node: Node, anchor: Node | None) -> None:
        """Move a node before `anchor`, or to the end of the graph if `anchor` is None."""
        graph = self.graph
        unlink(node)
        link(graph, node, anchor)
        self.modified = True

    def rename(self, node: Node, name: str) -> None:
        """Give a node another name."""
        if node.name != name:
            node.name = name
            self.modified = True

    def _forget_inputs(self, node: Node) -> None:
        for position, value in enumerate(node.inputs):
            if value is not None:
                del value._uses[(node, position)]
        node.inputs = ()
