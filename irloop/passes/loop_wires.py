"""Lets passes change the wires of a loop, see `irloop.dialects.wires`.

`LoopWires.of` reads the wires of a loop node, which a pass edits. From the edited wires,
`LoopWires.replace` makes a node of any loop operation of the dialect, and replaces the old node.

A wire does not store the value that it passes on, but a use of this value: an input of a node that
reads it, such as an input of the loop node or of a body result. Therefore, if a rewriter replaces
the value while a pass runs, the wire passes on the new value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import Ends, Entering, Leaving, passed_on
from irloop.dialects.wires import LooseEndError, Wires
from irloop.graph.model import Body, Graph, Node, Use, Value, change_bodies, make_node
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.trips import kept_for_count

__all__ = ["LOOPS", "LoopWires", "is_passed_on"]

#: The loops that passes work on; a Scan-8 becomes a Scan first.
LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan)


class _Held(Op, type="Held", inputs=1, outputs=0):
    """An operation that acts as a reader of a value, so that the value counts as used.

    It is needed for values to which only a wire refers.
    """


class _Ends(Ends):
    """Keeps values in use until the new loop reads them.

    A pass that changes the wires of a loop may connect a value that no node of the graph reads yet.
    For each such value, `hold` creates a node outside the graph that reads it. `release`
    disconnects these nodes once the new loop exists.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []

    def hold(self, value: Value) -> Use:
        """Create a use of `value` that a wire can store instead of the value itself.

        The use is the input of a new node that is in no graph.
        """
        node = make_node(_Held(), "held", (value,), 0)
        self._nodes.append(node)
        return node, 0

    def release(self) -> None:
        """Disconnect the nodes that `hold` created, so that they no longer read any value."""
        for node in self._nodes:
            Rewriter(Graph()).set_inputs(node, ())
        self._nodes.clear()


class LoopWires(Wires):
    """All wires into and out of the body of the loop `node`."""

    def __init__(self, node: Node, graph: Graph) -> None:
        super().__init__(graph, node.location, shares=True)
        self.node = node
        #: Nodes between the loop and the readers of its outputs.
        self.after: list[Node] = []
        self._ends: _Ends = _Ends()

    @classmethod
    def of(cls, node: Node) -> LoopWires | None:
        """Read the wires of a loop.

        Returns None if a required input or a result of the body is not connected, or if the body
        reads a parameter that receives no value.
        """
        wires = cls(node, node.body().graph)
        try:
            wires.read(node)
        except LooseEndError:
            return None
        return wires

    def _parameters(self) -> list[Value]:
        first = [] if self.iteration is None else [self.iteration]
        return [*first, *(item.parameter for item in self.inputs)]

    def change_output(
        self, leaving: Leaving, rewriter: MatchRewriter, change: Callable[[Value], Value]
    ) -> None:
        """Insert nodes after a loop that change one of its outputs, and redirect its readers.

        `leaving` is the output. `change` gets the output value, adds the nodes and returns their
        result. The former readers of the output then read this result, which also takes over the
        names of the output.
        """
        old = leaving.output
        before = old.uses
        new = change(old)
        for node, position in before:
            rewriter.set_input(node, position, new)
        if new is not old:
            new.names, old.names = old.names, ()
        chain: list[Node] = []
        value: Value | None = new
        while value is not old and value is not None:
            chain.append(value.producer)
            value = value.producer.inputs[0]
        self.after += reversed(chain)

    def replace(self, op: Op, rewriter: MatchRewriter) -> Node:
        """Create a node of `op` with these wires, and replace the loop by it.

        An output that was removed from `outputs` must have no readers.
        """
        node = self.node
        new, shown = self.insert(op, rewriter, before=node)
        new.info, new.location = node.info, node.location
        if type(op) is type(node.op):
            new.attributes = node.attributes
        for old, output in zip(shown, new.outputs, strict=True):
            for leaving in old:
                output.info = leaving.output.info
                rewriter.replace_value(leaving.output, output)
        name = node.name
        rewriter.erase(node)
        new.name = name
        for follower in self.after:
            # The types of these nodes were inferred from the outputs of the old loop.
            rewriter.inference.visit(follower)
        return new

    def insert(
        self, op: Op, rewriter: MatchRewriter, *, before: Node | None
    ) -> tuple[Node, list[list[Leaving]]]:
        """Insert a node with the operation `op`, and move the body of the old loop to it.

        Return the node and, for each of its outputs, the wires that lead to it.
        """
        made = self.numbered(op)
        self._ends.release()
        self.graph.parameters[:] = [value.producer for value in made.parameters]
        self._set_results(made.results)
        change_bodies(self.node, ())
        new = rewriter.insert(
            op,
            made.externals,
            before=before,
            name=self.node.name,
            n_outputs=len(made.shown),
            bodies=(Body("body", self.graph, made.ports),),
        )
        return new, made.shown

    def _set_results(self, values: Sequence[Value]) -> None:
        """Make these values the results of the body, in this order."""
        rewriter = Rewriter(self.graph)
        names = {result.inputs[0]: result.name for result in self.graph.results}
        for result in list(self.graph.results):
            rewriter.erase_result(result)
        taken: set[str] = set()
        for value in values:
            name = names.get(value, f"{value.producer.name}/out")
            while name in taken:
                name += "_1"
            taken.add(name)
            self.graph.add_result(value, name, self.location)

    def remove(self, op: Op, unread: Iterable[Entering | Leaving]) -> bool:
        """Remove wires that nothing reads; return True if any was removed.

        `op` is the operation of the loop. One wire is kept if nothing else determines the trip
        count.
        """
        items: list[Entering | Leaving] = [*self.inputs, *self.outputs]
        gone = set(unread)
        removed = {at for at, item in enumerate(items) if item in gone}
        kept = kept_for_count(op, [item.port for item in items], removed)
        if kept is not None:
            gone.remove(items[kept])
        self.inputs = [item for item in self.inputs if item not in gone]
        self.outputs = [item for item in self.outputs if item not in gone]
        return bool(gone)

    def drop_unread(self, op: Op) -> bool:
        """Remove slices and invariants that the body does not read; see `remove`.

        An unread iteration number of an OpenVINO Loop is removed, too. Returns True if anything was
        removed.
        """
        unread = [
            item for item in self.inputs if item.result is None and not item.parameter.is_used
        ]
        changed = self.remove(op, unread)
        if isinstance(op, ov.Loop) and self.iteration is not None and not self.iteration.is_used:
            self.iteration, changed = None, True
        return changed


def is_passed_on(state: Entering) -> bool:
    """Return whether `state` is one that the body returns unchanged, directly or through
    Identity operations.
    """
    return state.result is not None and passed_on(state.result) is state.parameter
