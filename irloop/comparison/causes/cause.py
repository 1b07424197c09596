"""Finds the cause of a difference: a constant, an operation or a loop's wire (port or back edge).

Both models run once more with all values recorded. The first recorded value that differs determines
the cause. If the value is a body parameter, the cause is its input port or its back edge; if it is
a loop output, its output port; if it is a constant, its elements. For any other value, the cause is
the operation that computes the value from equal inputs. If loops run a different number of times,
the cause is the trip count or the condition. If a model stops before any value differs, the cause
is the first wire in which corresponding loops differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.comparison.agreement import agree
from irloop.comparison.causes.branch_causes import BranchCauses
from irloop.comparison.causes.evidence import Cause, Evidence
from irloop.comparison.causes.likeness import attribute_changes, content, may_correspond, operands
from irloop.comparison.causes.loop_causes import LoopCauses
from irloop.comparison.causes.shape_causes import ShapeCauses
from irloop.comparison.matching import output_positions
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import traced
from irloop.comparison.verdict import LOOPS, Verdict, verdict_of
from irloop.errors import IrloopError, UsageError
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.walk import all_nodes

__all__ = ["Cause", "find_cause"]

#: A loop of the second model may run at most this many iterations more than that of the first
#: model.
MORE = 10

#: Maximum number of nodes that are searched for the decomposition of one operation.
MOST_NODES = 100

#: Maximum number of parts of a decomposition that are named.
MOST_PARTS = 8

#: The nodes that a run could not compute, with the reasons.
_Failures = list[tuple[Node, str]]


def find_cause(
    first: Model,
    second: Model,
    arrays: tuple[Sequence[Any], Sequence[Any]],
    tolerance: Tolerance,
    *,
    seconds: float,
    widen: bool | None = None,
    iterations: int | None = None,
) -> Cause | None:
    """Find the cause of a difference on these inputs; None if it cannot be determined.

    `arrays` are the inputs of the first and of the second model, each in its own order. Each model
    runs once, for at most `seconds`; `iterations` limits the iterations of each loop. With `widen`,
    half precision is computed in single precision (see `Session`).
    """
    seen = Evidence((first, second), tolerance)
    most = iterations
    failures: tuple[_Failures, _Failures] = ([], [])
    sides = zip((first, second), arrays, seen.recordings, failures, strict=True)
    for model, inputs, recording, failed in sides:
        try:
            counts = traced(
                model, inputs, recording, seconds, widen, iterations=most, failures=failed
            )
        except UsageError:
            # The inputs of one model do not fit the other, so their values do not correspond.
            return None
        except IrloopError:
            # A model that cannot run may still have wires that differ from those of the other
            # model.
            counts = {}
        if counts:
            # A loop of the second model that never ends is followed only for MORE iterations beyond
            # those of the first.
            most = MORE + max(max(item, default=0) for item in counts.values())
    try:
        return _Search(seen, failures).cause()
    finally:
        # The parts of a search refer to each other, so the next garbage collection would be the
        # first to release the values.
        for recording in seen.recordings:
            recording.clear()


class _Search:
    """Finds the first recorded value that differs, and from it the cause of the difference."""

    def __init__(self, seen: Evidence, failures: tuple[_Failures, _Failures]) -> None:
        self._seen = seen
        self._failures = failures
        self._in_loops = LoopCauses(seen)
        self._in_branches = BranchCauses(seen)
        self._of_other_shape = ShapeCauses(seen, self._of_either).of

    def cause(self) -> Cause | None:
        """Return the first cause of the difference, or None.

        The recorded values are searched first. If they show no cause, these are examined in turn:
        the iteration counts of loops that did not end, the shapes of the outputs, the wires of
        loops, the definitions of nodes, and the nodes that failed.
        """
        seen: set[tuple[Value, tuple[int, ...]]] = set()
        for event in self._seen.recordings[1].events:
            node, iterations = event.node, event.at
            read = node.bodies[0].graph.inputs if event.is_iteration else node.read_inputs
            for value in read:
                if value is None or value.producer.inputs or (value, iterations) in seen:
                    continue
                seen.add((value, iterations))
                known = self._in_loops.of_source(value, iterations)
                if known is not None:
                    return known
            if event.is_iteration:
                continue
            known = self._in_loops.of_counts(node, iterations) or self._of_outputs(node, iterations)
            if known is not None:
                return known
        return (
            self._in_loops.of_endless()
            or self._of_shapes()
            or self._in_loops.of_wires()
            or self._of_nodes()
            or self._of_failure()
        )

    def _of_failure(self) -> Cause | None:
        """Return the failing node as the cause, if only one of the two models has such nodes.

        A failing node is one that cannot be computed. If the models have different formats, an
        earlier difference in a shape is returned instead. The result is None if no node fails, or
        if nodes of both models fail.
        """
        sides = [side for side, found in enumerate(self._failures) if found]
        if len(sides) != 1:
            return None
        if self._seen.models[0].dialect != self._seen.models[1].dialect:
            found = self._of_first_other_shape()
            if found is not None:
                return found
        (side,) = sides
        node, reason = self._failures[side][0]
        twins = self._seen.other if side == 0 else self._seen.twin
        twin = next((twins[value].producer for value in node.outputs if value in twins), node)
        message = f"`{node.name}` of {self._seen.place(side, node)} cannot be computed: {reason}"
        nodes = (node, twin) if side == 0 else (twin, node)
        return self._seen.cause("failure", message, *nodes)

    def _of_first_other_shape(self) -> Cause | None:
        """Find the cause of the first difference in shape between corresponding values.

        The recorded values of the second model are examined in the order of the run. Returns None
        if no cause is found.
        """
        for event in self._seen.recordings[1].events:
            for value in () if event.is_iteration else event.node.outputs:
                mine = self._seen.twin.get(value)
                found = None if mine is None else self._of_other_shape(mine, value, event.at)
                if found is not None:
                    return found
        return None

    def _of_nodes(self) -> Cause | None:
        """Find the cause in the definitions of the models, because no recorded value differs.

        The cause is the first constant or node that is defined differently; None if there is none.
        """
        for node in all_nodes(self._seen.models[1].graph):
            mine = None if not node.outputs else self._seen.twin.get(node.outputs[0])
            if mine is None:
                continue
            found = self._of_either(mine.producer, node)
            if found is not None:
                return found
        return None

    def _of_outputs(self, node: Node, iterations: tuple[int, ...]) -> Cause | None:
        """Return the cause of the first difference in the outputs of `node`, or None.

        None means that no output differs, or that a difference comes from a body parameter, which
        has its own cause. `iterations` holds the iteration numbers of the enclosing loops. The
        nodes are visited in the order in which they run, so the caller stops at the first cause it
        gets.
        """
        cause = self._in_loops.of_joined(node, iterations)
        if cause is not None:
            return cause
        for value in node.outputs:
            mine = self._seen.twin.get(value)
            if mine is None or not self._seen.differ(mine, value, iterations):
                continue
            cause = self._in_loops.of_loop_output(mine, value)
            cause = cause or self._in_branches.of(mine.producer, node)
            cause = cause or self._in_loops.of_source(value, iterations)
            if cause is None and isinstance(mine.producer.op, Parameter):
                # The node returns a parameter of the body. A difference in that parameter has a
                # cause of its own.
                continue
            if cause is None and node.bodies:
                cause = self._of_other_shape(mine, value, iterations)
            return cause or self._of_operation(mine.producer, node, iterations)
        return None

    def _of_shapes(self) -> Cause | None:
        """The cause if an output has the same elements in a different shape, else None."""
        results = [model.graph.results for model in self._seen.models]
        places = output_positions(*(model.graph for model in self._seen.models))
        for index, place in enumerate(places):
            if place is None:
                continue
            left, right = results[0][index].inputs[0], results[1][place].inputs[0]
            if left is None or right is None:
                continue
            held = [
                recording.values.get((value, ()))
                for recording, value in zip(self._seen.recordings, (left, right), strict=True)
            ]
            shapes = [() if item is None else np.shape(item) for item in held]
            if held[0] is None or held[1] is None or shapes[0] == shapes[1]:
                continue
            cause = self._in_loops.of_loop_output(left, right)
            cause = cause or self._in_loops.of_loop_output(left, right, exact=True)
            cause = cause or self._in_branches.of(left.producer, right.producer)
            if cause is None and self._seen.models[0].dialect == self._seen.models[1].dialect:
                cause = self._in_loops.of_wires()
            cause = cause or self._of_other_shape(left, right, ())
            if cause is not None:
                return cause
            name = results[1][place].name
            message = (
                f"output `{name}` has shape {list(shapes[1])} in {self._seen.labels[1]}, "
                f"{list(shapes[0])} in {self._seen.labels[0]}"
            )
            return self._seen.cause("output", message, left.producer, right.producer)
        return None

    def _of_operation(self, first: Node, second: Node, iterations: tuple[int, ...]) -> Cause:
        """Explain why two corresponding nodes compute different values.

        The cause may be, for example, another operation, another attribute, another input, or
        numeric drift. If nothing more precise is found, the cause only names the two nodes.
        `iterations` holds the iteration numbers of the enclosing loops.
        """
        place = f"`{second.name}` of {self._seen.place(1, second)}"
        other = f"in {self._seen.place(0, first)}"
        cause = self._of_type(first, second)
        if cause is not None:
            return cause
        common = self._common_inputs(first, second, iterations)
        for number, mine, its in common:
            cause = self._of_input(number, (first, mine), (second, its), iterations)
            if cause is not None:
                return cause
        for number, mine, its in common:
            if not self._seen.may_be_paired(mine, its):
                return self._of_other_input(number, (first, mine), (second, its))
        if self._seen.loops.get(second) is first and isinstance(second.op, LOOPS):
            cause = self._in_loops.of_starts(first, second, iterations)
            cause = cause or self._in_loops.of_wires_between(first, second)
            if cause is not None:
                return cause
        cause = self._of_attributes(first, second)
        if cause is not None:
            return cause
        if not isinstance(second.op, type(first.op)):
            cause = self._of_decomposed(first, second)
            if cause is not None:
                return cause
        if self._drifts(first, second, iterations):
            message = (
                f"numeric drift: {place} is the first value that differs from the one {other} "
                "by more than the tolerance"
            )
            return self._seen.cause("drift", message, first, second)
        for _, mine, its in common:
            cause = self._of_other_shape(mine, its, iterations)
            if cause is not None:
                return cause
        message = (
            f"{second.op.label} {place}{self._parts(second, 1)} returns different values than "
            f"{first.op.label} `{first.name}` {other}{self._parts(first, 0)}"
        )
        return self._seen.cause("operation", message, first, second)

    def _common_inputs(
        self, first: Node, second: Node, iterations: tuple[int, ...]
    ) -> list[tuple[int, Value, Value]]:
        """Pair the inputs that have the same role in two corresponding nodes.

        Each item is the position of the input in the second node, its value in the first, and its
        value in the second. If the nodes have different numbers of inputs, only values with equally
        many elements are paired, because an input in one format, such as the axis of a Gather, may
        be an attribute in the other. `iterations` holds the iteration numbers of the enclosing
        loops.
        """
        pairs = [
            (second.inputs.index(its), mine, its)
            for mine, its in zip(operands(first), operands(second), strict=False)
            if mine is not None and its is not None
        ]
        if len(first.inputs) == len(second.inputs):
            return pairs
        if first.op.type != second.op.type or first.bodies:
            return []
        # An attribute in one format may be an input in the other, such as the axis of a Gather.
        sizes = self._seen.size
        return [
            item for item in pairs if sizes(0, item[1], iterations) == sizes(1, item[2], iterations)
        ]

    def _of_decomposed(self, first: Node, second: Node) -> Cause | None:
        """Find a wrong constant of a node for which the other model has several simpler nodes.

        `first` and `second` are corresponding nodes of the two models. Each of them is tried as the
        undivided node. Its constants are compared with the constants from which the other node is
        computed, without regard to the order of the elements. If it has at least two constants, and
        exactly one of them has no equal on the other side, that constant is the cause. Otherwise
        the result is None.
        """
        for side, (node, other) in enumerate(((first, second), (second, first))):
            own = [item.producer for item in node.inputs if item is not None]
            constants = [item for item in own if isinstance(item.op, Constant)]
            theirs = [_sorted(item) for item in self._constants_above(other, 1 - side)]
            wrong = [
                item
                for item in constants
                if not any(agree(_sorted(item), held, self._seen.tolerance) for held in theirs)
            ]
            if len(constants) < 2 or len(wrong) != 1:
                continue
            message = (
                f"constant `{wrong[0].name}` of {self._seen.place(side, wrong[0])}, an input of "
                f"`{node.name}`, has elements that no constant above `{other.name}` of "
                f"{self._seen.labels[1 - side]} has"
            )
            nodes = (wrong[0], other) if side == 0 else (other, wrong[0])
            return self._seen.cause("constant", message, *nodes)
        return None

    def _parts(self, node: Node, side: int) -> str:
        """Describe in words the operations and one-element constants that compute `node`.

        The search stops at values that have a counterpart in the other model. The result is empty
        if there are no operations to name, or too many.
        """
        known = self._seen.other if side == 0 else self._seen.twin
        parts: dict[Node, None] = {}
        pending = [node]
        while pending and len(parts) <= MOST_PARTS:
            for value in pending.pop().inputs:
                if value is None or value in known or value.producer in parts:
                    continue
                if not isinstance(value.producer.op, Parameter):
                    parts[value.producer] = None
                    pending.append(value.producer)
        if all(isinstance(item.op, Constant) for item in parts) or len(parts) > MOST_PARTS:
            return ""
        words = [
            f"{item.op.label} `{item.name}`" for item in parts if not isinstance(item.op, Constant)
        ]
        words += [
            f"{content(item.outputs[0])} (`{item.name}`)"
            for item in parts
            if isinstance(item.op, Constant) and item.op.tensor.count == 1
        ]
        return f" [computed with {', '.join(words)}]"

    def _constants_above(self, node: Node, side: int) -> list[Node]:
        """Find the constants from which `node` is computed.

        `side` is 0 if the node belongs to the first model, 1 for the second. The search does not go
        beyond values that have a counterpart in the other model, nor beyond `MOST_NODES` nodes.
        """
        known = self._seen.other if side == 0 else self._seen.twin
        constants: list[Node] = []
        pending, seen = [node], {node}
        while pending and len(seen) < MOST_NODES:
            for value in pending.pop().inputs:
                if value is None or value.producer in seen:
                    continue
                seen.add(value.producer)
                if isinstance(value.producer.op, Constant):
                    constants.append(value.producer)
                elif value not in known:
                    pending.append(value.producer)
        return constants

    def _of_type(self, first: Node, second: Node) -> Cause | None:
        """Return a cause if two corresponding nodes have different operation types, else None.

        If the models have different dialects, types that may correspond do not count as different.
        """
        same_dialect = self._seen.models[0].dialect == self._seen.models[1].dialect
        if first.op.type == second.op.type:
            return None
        if not same_dialect and may_correspond(first.op, second.op):
            return None
        message = (
            f"`{second.name}` of {self._seen.place(1, second)} is {second.op.label}; "
            f"in {self._seen.place(0, first)} it is {first.op.label}"
        )
        return self._seen.cause("operation", message, first, second)

    def _of_attributes(self, first: Node, second: Node) -> Cause | None:
        """Return the cause if two nodes of the same operation type differ in attributes.

        Returns None if their attributes are equal, or if their types differ.
        """
        changed = "; ".join(
            f"{name} {after} instead of {before}"
            for name, before, after in attribute_changes(first, second)
        )
        if not changed:
            return None
        message = (
            f"{second.op.type} `{second.name}` of {self._seen.place(1, second)} has {changed} "
            f"in {self._seen.place(0, first)}"
        )
        return self._seen.cause("operation", message, first, second)

    def _of_either(self, first: Node, second: Node) -> Cause | None:
        """Return the cause if two constants or two nodes of one format are defined differently.

        The result is None for equal definitions, and for operations of different formats.
        """
        cause = self._in_loops.of_constants(first, second)
        if cause is None and self._seen.models[0].dialect == self._seen.models[1].dialect:
            cause = self._of_definition(first, second)
        return cause

    def _of_definition(self, first: Node, second: Node) -> Cause | None:
        """The cause if two nodes of one format differ in type or attributes, else None."""
        if isinstance(second.op, Constant | Parameter) or isinstance(
            first.op, Constant | Parameter
        ):
            return None
        return self._of_type(first, second) or self._of_attributes(first, second)

    def _drifts(self, first: Node, second: Node, iterations: tuple[int, ...]) -> bool:
        """Return whether the outputs of two nodes differ only as much as rounding may explain.

        Only one execution of the nodes is compared: `iterations` holds the iteration numbers of the
        enclosing loops.
        """
        for value in second.outputs:
            mine = self._seen.twin.get(value)
            if (
                mine is None
                or mine.producer is not first
                or not self._seen.differ(mine, value, iterations)
            ):
                continue
            left, right = (
                np.asarray(recording.values[item, iterations])
                for recording, item in zip(self._seen.recordings, (mine, value), strict=True)
            )
            if verdict_of(left, right, self._seen.tolerance)[0] is not Verdict.DRIFT:
                return False
        return True

    def _of_input(
        self,
        number: int,
        first: tuple[Node, Value],
        second: tuple[Node, Value],
        iterations: tuple[int, ...],
    ) -> Cause | None:
        """Return the cause if two corresponding nodes read different values as input `number`.

        `first` holds the node of the first model and the value that this node reads; `second` holds
        the same of the second model. `iterations` holds the iteration numbers of the enclosing
        loops. If the values are parameters of a loop body, the cause is searched for outside that
        loop. Returns None if no difference is found.
        """
        if self._seen.is_exchanged(first[1], second[1], iterations):
            return self._of_other_input(number, first, second)
        cause = self._in_loops.of_loop_output(first[1], second[1])
        if cause is not None:
            return cause
        if not self._seen.differ(first[1], second[1], iterations):
            return None
        if self._seen.twin.get(second[1]) is first[1] and not second[1].producer.inputs:
            # Both nodes read the same parameter, so the cause is at its source.
            cause = self._in_loops.of_source(second[1], iterations)
            cause = cause or self._of_other_shape(first[1], second[1], iterations)
            if cause is not None:
                return cause
        producers = first[1].producer, second[1].producer
        constants = [isinstance(item.op, Constant) for item in producers]
        if all(constants) and first[1].type == second[1].type:
            return self._in_loops.of_constants(*producers)
        cause = None
        if self._seen.may_be_paired(first[1], second[1]):
            cause = self._of_other_shape(first[1], second[1], iterations)
        return cause or self._of_other_input(number, first, second)

    def _of_other_input(
        self, number: int, first: tuple[Node, Value], second: tuple[Node, Value]
    ) -> Cause:
        message = (
            f"input {number} of `{second[0].name}` of {self._seen.place(1, second[0])} is "
            f"{self._seen.described(1, second[1])}; in {self._seen.place(0, first[0])} it is "
            f"{self._seen.described(0, first[1])}"
        )
        return self._seen.cause("input", message, first[0], second[0])


def _sorted(node: Node) -> Any:
    """Return the elements of a constant as a sorted vector; comparisons then ignore their order."""
    assert isinstance(node.op, Constant)
    return np.sort(node.op.tensor.numpy().reshape(-1))
