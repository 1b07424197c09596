"""Names the cause of a difference: the wire of a loop, the constant or the operation.

Both models run once more with all values recorded. The first recorded value that differs determines
the cause: a body parameter leads to its wire and back edge, a loop output to its wire, a constant
to its elements, any other value to the operation that computes it from equal inputs. Loops that run
a different number of times lead to their trip count or condition. A model that stops before
anything differs leads to the first wire in which corresponding loops differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.comparison.evidence import Cause, Evidence
from irloop.comparison.likeness import attribute_changes, may_correspond
from irloop.comparison.loop_causes import LOOPS, LoopCauses
from irloop.comparison.matching import output_positions
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import traced
from irloop.comparison.verdict import Verdict, verdict_of
from irloop.errors import IrloopError
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant

__all__ = ["Cause", "find_cause"]


def find_cause(
    first: Model,
    second: Model,
    arrays: tuple[Sequence[Any], Sequence[Any]],
    tolerance: Tolerance,
    *,
    seconds: float,
    widen: bool | None = None,
) -> Cause | None:
    """Find the cause of a difference on these inputs; None if it cannot be determined.

    `arrays` are the inputs of the first and of the second model, each in its own order.
    """
    seen = Evidence((first, second), tolerance)
    counts = []
    for model, given, recording in zip((first, second), arrays, seen.recordings, strict=True):
        try:
            counts.append(traced(model, given, recording, seconds, widen))
        except IrloopError:
            # A model that cannot run may still have wires that differ from those of the other
            # model.
            counts.append({})
    return _Search(seen).cause((counts[0], counts[1]))


class _Search:
    """Finds the first recorded value that differs, and the cause that it leads to."""

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        self._in_loops = LoopCauses(seen)

    def cause(self, counts: tuple[dict[Node, set[int]], dict[Node, set[int]]]) -> Cause | None:
        """The cause, from the recordings and the numbers of iterations."""
        seen: set[tuple[Value, tuple[int, ...]]] = set()
        for node, at in self._seen.recordings[1].events:
            for value in node.read_inputs:
                if value is None or value.producer.inputs or (value, at) in seen:
                    continue
                seen.add((value, at))
                found = self._in_loops.of_source(value, at)
                if found is not None:
                    return found
            found = self._in_loops.of_counts(node, at, counts) or self._of_outputs(node, at)
            if found is not None:
                return found
        return self._of_shapes() or self._in_loops.of_wires()

    def _of_outputs(self, node: Node, at: tuple[int, ...]) -> Cause | None:
        """The cause if a node is the first whose outputs differ."""
        found = self._in_loops.of_joined(node, at)
        if found is not None:
            return found
        for value in node.outputs:
            mine = self._seen.twin.get(value)
            if mine is None or not self._seen.differ(mine, value, at):
                continue
            found = self._in_loops.of_loop_output(mine, value)
            return found or self._of_operation(mine.producer, node, at)
        return None

    def _of_shapes(self) -> Cause | None:
        """The cause if an output has the same elements in another shape."""
        results = [model.graph.results for model in self._seen.models]
        for at, place in enumerate(output_positions(*(model.graph for model in self._seen.models))):
            if place is None:
                continue
            left, right = results[0][at].inputs[0], results[1][place].inputs[0]
            if left is None or right is None:
                continue
            held = [
                recording.values.get((value, ()))
                for recording, value in zip(self._seen.recordings, (left, right), strict=True)
            ]
            shapes = [() if item is None else np.shape(item) for item in held]
            if held[0] is None or held[1] is None or shapes[0] == shapes[1]:
                continue
            found = self._in_loops.of_loop_output(left, right)
            if found is None and self._seen.models[0].dialect == self._seen.models[1].dialect:
                found = self._in_loops.of_wires()
            if found is not None:
                return found
            name = results[1][place].name
            message = (
                f"output `{name}` has shape {list(shapes[1])} in {self._seen.labels[1]}, "
                f"{list(shapes[0])} in {self._seen.labels[0]}"
            )
            return self._seen.cause("output", message, left.producer, right.producer)
        return None

    def _of_operation(self, first: Node, second: Node, at: tuple[int, ...]) -> Cause:
        """The cause if two corresponding nodes compute different values from equal inputs."""
        place = f"`{second.name}` of {self._seen.place(1, second)}"
        other = f"in {self._seen.place(0, first)}"
        same_dialect = self._seen.models[0].dialect == self._seen.models[1].dialect
        types = first.op.type, second.op.type
        if types[0] != types[1] and (same_dialect or not may_correspond(*types)):
            message = f"{place} is {second.op.label}; {other} it is {first.op.label}"
            return self._seen.cause("operation", message, first, second)
        if len(first.inputs) == len(second.inputs):
            for number, (mine, its) in enumerate(zip(first.inputs, second.inputs, strict=True)):
                if mine is None or its is None:
                    continue
                found = self._of_input(number, (first, mine), (second, its), at)
                if found is not None:
                    return found
        if self._seen.loops.get(second) is first and isinstance(second.op, LOOPS):
            found = self._in_loops.of_starts(first, second, at)
            if found is not None:
                return found
        changed = "; ".join(
            f"{name} {after} instead of {before}"
            for name, before, after in attribute_changes(first, second)
        )
        if changed:
            message = f"{second.op.type} {place} has {changed} {other}"
            return self._seen.cause("operation", message, first, second)
        if self._drifts(first, second, at):
            message = (
                f"numeric drift: {place} is the first value that differs from the one {other} "
                "by more than the tolerance"
            )
            return self._seen.cause("drift", message, first, second)
        message = (
            f"{second.op.label} {place} returns other values than {first.op.label} "
            f"`{first.name}` {other}"
        )
        return self._seen.cause("operation", message, first, second)

    def _drifts(self, first: Node, second: Node, at: tuple[int, ...]) -> bool:
        """True when the outputs of two nodes differ only slightly, as by rounding."""
        for value in second.outputs:
            mine = self._seen.twin.get(value)
            if mine is None or mine.producer is not first or not self._seen.differ(mine, value, at):
                continue
            left, right = (
                np.asarray(recording.values[item, at])
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
        at: tuple[int, ...],
    ) -> Cause | None:
        """The cause if an input of two corresponding nodes differs, or the source of the input."""
        found = self._in_loops.of_loop_output(first[1], second[1])
        if found is not None:
            return found
        if not self._seen.differ(first[1], second[1], at):
            return None
        producers = first[1].producer, second[1].producer
        constants = [isinstance(item.op, Constant) for item in producers]
        if all(constants) and first[1].type == second[1].type:
            return self._in_loops.of_constants(*producers)
        message = (
            f"input {number} of `{second[0].name}` of {self._seen.place(1, second[0])} is "
            f"{self._seen.described(1, second[1])}; in {self._seen.place(0, first[0])} it is "
            f"{self._seen.described(0, first[1])}"
        )
        return self._seen.cause("input", message, first[0], second[0])
