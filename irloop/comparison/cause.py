"""Names the cause of a difference: the wire of a loop, the constant or the operation.

Both models run once more with all values recorded. The first recorded value that differs determines
the cause: a body parameter leads to its wire and back edge, a loop output to its wire, a constant
to its elements, any other value to the operation that computes it from equal inputs. Loops that run
a different number of times lead to their trip count or condition. A model that stops before
anything differs leads to the first wire in which corresponding loops differ.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.comparison.likeness import (
    apart,
    attribute_changes,
    constants_agree,
    content,
    may_correspond,
    origin,
)
from irloop.comparison.matching import output_positions
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import Pairs, agree, traced
from irloop.comparison.recording import Recording
from irloop.comparison.verdict import Verdict, verdict_of
from irloop.comparison.wire_words import WireDifference, Wires, WireSide
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.errors import IrloopError
from irloop.formats.openvino.wire_places import WirePlaces
from irloop.graph.loops import Carried
from irloop.graph.model import Body, Model, Node, Value
from irloop.graph.op import Constant, Parameter

__all__ = ["Cause", "find_cause"]


#: Parts of a message that change while a model is reduced: names, places and numbers.
_CHANGING = re.compile(r"`[^`]*`|\([^)]*\)|, line \d+|; so it runs.*|: .* elements.*|[\d.]+")


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a difference.

    `kind` is one of state, wire, output, constant, operation, input, trip count, condition,
    initial condition and drift. `path` is the place in the second model; `lines` are the lines in
    the IR files, if known.
    """

    kind: str
    message: str
    path: str
    lines: tuple[int | None, int | None] = (None, None)

    @property
    def signature(self) -> str:
        """The part of the cause that does not change while the models are reduced."""
        name = "" if self.kind == "output" else self.path.rpartition("/")[2]
        words = _CHANGING.sub("", self.message)
        return f"{self.kind} {name} {words}"

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for JSON."""
        return {
            "kind": self.kind,
            "message": self.message,
            "path": self.path,
            "lines": list(self.lines),
        }


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
    search = _Search((first, second), tolerance)
    counts = []
    for model, given, recording in zip((first, second), arrays, search.recordings, strict=True):
        try:
            counts.append(traced(model, given, recording, seconds, widen))
        except IrloopError:
            # A model that cannot run may still have wires that differ from those of the other
            # model.
            counts.append({})
    return search.cause((counts[0], counts[1]))


def _labels(models: tuple[Model, Model]) -> tuple[str, str]:
    """Short names of both models: their file names if these differ."""
    sources = [model.source for model in models]
    names = [None if source is None else os.path.basename(source) for source in sources]
    if names[0] == names[1]:
        names = sources
    if None in names or names[0] == names[1]:
        return "the first model", "the second model"
    return str(names[0]), str(names[1])


class _Search:
    def __init__(self, models: tuple[Model, Model], tolerance: Tolerance) -> None:
        self._models = models
        self._labels = _labels(models)
        self._tolerance = tolerance
        self._pairs = Pairs(*models)
        self._found_places: tuple[WirePlaces, WirePlaces] | None = None
        by_name = self._pairs.first_by_name
        self._twin = {value: by_name[name] for value, name in self._pairs.of_second.items()}
        self._other = {own: value for value, own in self._twin.items()}
        self._loops = {second: first for first, second in self._pairs.loops()}
        self.recordings = (Recording(), Recording())

    def cause(self, counts: tuple[dict[Node, set[int]], dict[Node, set[int]]]) -> Cause | None:
        """The cause, from the recordings and the numbers of iterations."""
        seen: set[tuple[Value, tuple[int, ...]]] = set()
        for node, at in self.recordings[1].events:
            for value in node.read_inputs:
                if value is None or value.producer.inputs or (value, at) in seen:
                    continue
                seen.add((value, at))
                found = self._of_source(value, at)
                if found is not None:
                    return found
            found = self._of_counts(node, at, counts) or self._of_outputs(node, at)
            if found is not None:
                return found
        return self._of_shapes() or self._of_wires()

    def _differ(self, first: Value | None, second: Value | None, at: tuple[int, ...]) -> bool:
        if first is None or second is None:
            return False
        left, right = (
            recording.values.get((value, at))
            for recording, value in zip(self.recordings, (first, second), strict=True)
        )
        if left is None or right is None:
            return False
        return not agree(left, right, self._tolerance)

    def _same(self, first: Value | None, second: Value | None) -> bool:
        """True when two values correspond: they are paired, or are constants of equal elements."""
        if first is None or second is None:
            return first is second
        ops = first.producer.op, second.producer.op
        if isinstance(ops[0], Constant) and isinstance(ops[1], Constant):
            return constants_agree(ops[0], ops[1], self._tolerance)
        if self._twin.get(second) is first:
            return True
        left, right = origin(first), origin(second)
        if (left, right) != (first, second):
            return self._same(left, right)
        return False

    def _of_source(self, value: Value, at: tuple[int, ...]) -> Cause | None:
        """The cause if a body parameter differs."""
        mine = self._twin.get(value)
        if mine is None:
            return None
        if not isinstance(value.producer.op, Parameter) or not self._differ(mine, value, at):
            return None
        node = value.producer.graph.owner if value.producer.graph is not None else None
        first = self._loops.get(node) if node is not None else None
        if node is None or first is None or mine.producer.graph not in _graphs(first):
            return None
        body = next(body for body in node.bodies if body.graph is value.producer.graph)
        other = next(body for body in first.bodies if body.graph is mine.producer.graph)
        numbers = other.graph.inputs.index(mine), body.graph.inputs.index(value)
        wires = self._wires((first, node), (other, body))
        starts = not at or at[-1] == 0
        found = wires.input(*numbers, start=starts)
        if starts:
            outer = self._of_start((first, node), (other, body), numbers)
            if outer is not None:
                return outer
        elif found is not None and self._is_computed_wrong(other, body, numbers, at):
            return None
        if found is None:
            return None
        return self._worded("state" if not starts else "wire", found)

    def _of_start(
        self, nodes: tuple[Node, Node], bodies: tuple[Body, Body], numbers: tuple[int, int]
    ) -> Cause | None:
        """The differing constant from which two loops start a state, if there is one."""
        outer = []
        for node, body, at in zip(nodes, bodies, numbers, strict=True):
            port = body.ports.by_parameter.get(at)
            value = None if port is None else node.inputs[port.external]
            if value is None:
                return None
            outer.append(value.producer)
        return self._of_constants(outer[0], outer[1])

    def _is_computed_wrong(
        self, first: Body, second: Body, numbers: tuple[int, int], at: tuple[int, ...]
    ) -> bool:
        """True when the back edges correspond but the value they carry was computed wrongly."""
        port = first.ports.by_parameter.get(numbers[0])
        other = second.ports.by_parameter.get(numbers[1])
        if not isinstance(port, Carried) or not isinstance(other, Carried):
            return False
        before = (*at[:-1], at[-1] - 1)
        source = first.graph.results[port.result].inputs[0]
        if source is None:
            return False
        twin = self._other.get(source)
        if twin is not None:
            return self._differ(source, twin, before)
        values = [*second.graph.inputs, *(v for node in second.graph.nodes for v in node.outputs)]
        return all(self._differ(source, value, before) for value in values)

    def _of_constants(self, first: Node, second: Node) -> Cause | None:
        left, right = first.op, second.op
        if not isinstance(left, Constant) or not isinstance(right, Constant):
            return None
        if constants_agree(left, right, self._tolerance):
            return None
        message = (
            f"constant `{second.name}` of {self._at(1, second)} is another than in "
            f"{self._at(0, first)}: {apart(left, right)}"
        )
        return self._cause("constant", message, first, second)

    def _of_counts(
        self,
        node: Node,
        at: tuple[int, ...],
        counts: tuple[dict[Node, set[int]], dict[Node, set[int]]],
    ) -> Cause | None:
        """The cause if two loops run a different number of times."""
        first = self._loops.get(node)
        if first is None:
            return None
        left, right = counts[0].get(first), counts[1].get(node)
        if not left or not right or left == right:
            return None
        bodies = _bodies(first, node)
        wires = self._wires((first, node), bodies)
        # The number of slices decides how often a loop runs; without slices the condition decides.
        found = wires.condition()
        if found is None:
            found = next(wires.slices(), None)
        ran = [f"{_number(item)} times" for item in (left, right)]
        if found is not None:
            cause = self._worded("condition" if found.name == "condition" else "wire", found)
            message = f"{cause.message}; so it runs {ran[1]}, not {ran[0]}"
            return Cause(cause.kind, message, cause.path, cause.lines)
        for place, what in enumerate(("trip count", "initial condition")):
            if not isinstance(node.op, ov.Loop | onnx.Loop):
                break
            if not isinstance(first.op, ov.Loop | onnx.Loop):
                break
            values = [_input(item, place) for item in (first, node)]
            given = values[0] is not None and values[1] is not None
            if given and not self._differ(values[0], values[1], at):
                continue
            words = [content(value) for value in values]
            message = (
                f"the {what} of `{node.name}` is {words[1]} in {self._at(1, node)}, "
                f"{words[0]} in {self._at(0, first)}; so it runs {ran[1]}, not {ran[0]}"
            )
            return self._cause(what, message, first, node)
        message = (
            f"`{node.name}` runs {ran[1]} in {self._at(1, node)}, {ran[0]} in {self._at(0, first)}"
        )
        return self._cause("trip count", message, first, node)

    def _of_outputs(self, node: Node, at: tuple[int, ...]) -> Cause | None:
        """The cause if a node is the first whose outputs differ."""
        found = self._of_joined(node, at)
        if found is not None:
            return found
        for value in node.outputs:
            mine = self._twin.get(value)
            if mine is None or not self._differ(mine, value, at):
                continue
            found = self._of_loop_output(mine, value)
            return found or self._of_operation(mine.producer, node, at)
        return None

    def _of_joined(self, node: Node, at: tuple[int, ...]) -> Cause | None:
        """The cause if two loops of one format concatenate the same parts into different shapes."""
        first = self._loops.get(node)
        if first is None or type(first.op) is not type(node.op):
            return None
        for mine, value in zip(first.outputs, node.outputs, strict=False):
            left, right = (
                recording.values.get((item, at))
                for recording, item in zip(self.recordings, (mine, value), strict=True)
            )
            if left is None or right is None or np.shape(left) == np.shape(right):
                continue
            found = self._of_loop_output(mine, value)
            if found is not None:
                return found
        return None

    def _of_loop_output(self, first: Value, second: Value) -> Cause | None:
        """The cause if two outputs of corresponding loops are produced differently."""
        first, second = origin(first), origin(second)
        turned = [isinstance(value.producer.op, _TRANSPOSES) for value in (first, second)]
        first, second = (
            origin(value.producer.inputs[0]) if turned[side] and value.producer.inputs[0] else value
            for side, value in enumerate((first, second))
        )
        nodes = first.producer, second.producer
        if not isinstance(nodes[1].op, _LOOPS) or self._loops.get(nodes[1]) is not nodes[0]:
            return None
        wires = self._wires(nodes, _bodies(*nodes))
        found = wires.output(first.index, second.index, axes=turned == [False, False])
        return None if found is None else self._worded("output", found)

    def _of_shapes(self) -> Cause | None:
        """The cause if an output has the same elements in another shape."""
        results = [model.graph.results for model in self._models]
        for at, place in enumerate(output_positions(*(model.graph for model in self._models))):
            if place is None:
                continue
            left, right = results[0][at].inputs[0], results[1][place].inputs[0]
            if left is None or right is None:
                continue
            held = [
                recording.values.get((value, ()))
                for recording, value in zip(self.recordings, (left, right), strict=True)
            ]
            shapes = [() if item is None else np.shape(item) for item in held]
            if held[0] is None or held[1] is None or shapes[0] == shapes[1]:
                continue
            found = self._of_loop_output(left, right)
            if found is None and self._models[0].dialect == self._models[1].dialect:
                found = self._of_wires()
            if found is not None:
                return found
            name = results[1][place].name
            message = (
                f"output `{name}` has shape {list(shapes[1])} in {self._labels[1]}, "
                f"{list(shapes[0])} in {self._labels[0]}"
            )
            return self._cause("output", message, left.producer, right.producer)
        return None

    def _of_operation(self, first: Node, second: Node, at: tuple[int, ...]) -> Cause:
        """The cause if two corresponding nodes compute different values from equal inputs."""
        place = f"`{second.name}` of {self._at(1, second)}"
        other = f"in {self._at(0, first)}"
        same_dialect = self._models[0].dialect == self._models[1].dialect
        types = first.op.type, second.op.type
        if types[0] != types[1] and (same_dialect or not may_correspond(*types)):
            message = f"{place} computes {second.op.label}, {first.op.label} {other}"
            return self._cause("operation", message, first, second)
        if len(first.inputs) == len(second.inputs):
            for number, (mine, its) in enumerate(zip(first.inputs, second.inputs, strict=True)):
                if mine is None or its is None:
                    continue
                found = self._of_input(number, (first, mine), (second, its), at)
                if found is not None:
                    return found
        if self._loops.get(second) is first and isinstance(second.op, _LOOPS):
            found = self._of_starts(first, second, at)
            if found is not None:
                return found
        changed = "; ".join(
            f"{name} {after} instead of {before}"
            for name, before, after in attribute_changes(first, second)
        )
        if changed:
            message = f"{second.op.type} {place} has {changed} {other}"
            return self._cause("operation", message, first, second)
        if self._drifts(first, second, at):
            message = (
                f"numeric drift: {place} is the first value to be further from that "
                f"{other} than the tolerance"
            )
            return self._cause("drift", message, first, second)
        message = (
            f"{second.op.label} {place} gives other values than {first.op.label} "
            f"`{first.name}` {other}"
        )
        return self._cause("operation", message, first, second)

    def _drifts(self, first: Node, second: Node, at: tuple[int, ...]) -> bool:
        """True when the outputs of two nodes differ only slightly, as by rounding."""
        for value in second.outputs:
            mine = self._twin.get(value)
            if mine is None or mine.producer is not first or not self._differ(mine, value, at):
                continue
            left, right = (
                np.asarray(recording.values[item, at])
                for recording, item in zip(self.recordings, (mine, value), strict=True)
            )
            if verdict_of(left, right, self._tolerance)[0] is not Verdict.DRIFT:
                return False
        return True

    def _of_starts(self, first: Node, second: Node, at: tuple[int, ...]) -> Cause | None:
        """The cause if loops that may not have run at all start from different values."""
        bodies = _bodies(first, second)
        wires = self._wires((first, second), bodies)
        for numbers in wires.inputs():
            ports = [
                body.ports.by_parameter.get(at) for body, at in zip(bodies, numbers, strict=True)
            ]
            outer = [
                None if port is None else _input(node, port.external)
                for node, port in zip((first, second), ports, strict=True)
            ]
            if not isinstance(ports[1], Carried) or not self._differ(outer[0], outer[1], at):
                continue
            found = wires.input(*numbers, start=True)
            constants = self._of_start((first, second), bodies, numbers)
            if constants is not None:
                return constants
            if found is not None:
                return self._worded("wire", found)
        return None

    def _of_input(
        self,
        number: int,
        first: tuple[Node, Value],
        second: tuple[Node, Value],
        at: tuple[int, ...],
    ) -> Cause | None:
        """The cause if an input of two corresponding nodes differs, or the source of the input."""
        found = self._of_loop_output(first[1], second[1])
        if found is not None:
            return found
        if not self._differ(first[1], second[1], at):
            return None
        producers = first[1].producer, second[1].producer
        constants = [isinstance(item.op, Constant) for item in producers]
        if all(constants) and first[1].type == second[1].type:
            return self._of_constants(*producers)
        message = (
            f"input {number} of `{second[0].name}` of {self._at(1, second[0])} is "
            f"{self._described(1, second[1])}; in {self._at(0, first[0])} it is "
            f"{self._described(0, first[1])}"
        )
        return self._cause("input", message, first[0], second[0])

    def _described(self, side: int, value: Value) -> str:
        """A value, and where a parameter of a body comes from."""
        graph = value.producer.graph
        if isinstance(value.producer.op, Constant):
            return f"constant `{value.name}`"
        if graph is None or graph.owner is None or not isinstance(value.producer.op, Parameter):
            return f"`{value.name}`"
        owner = graph.owner
        body = next(body for body in owner.bodies if body.graph is graph)
        place = WireSide(owner, body, self._places()[side])
        return f"`{value.name}`, which {place.described(graph.inputs.index(value))}"

    def _of_wires(self) -> Cause | None:
        """The first wire that differs between corresponding loops."""
        for second, first in self._loops.items():
            if not isinstance(first.op, _LOOPS) or not isinstance(second.op, _LOOPS):
                continue
            bodies = _bodies(first, second)
            places = self._places()
            # Within one format a value in another shape is another value.
            wires = Wires.between((first, second), bodies, places, self._paired)
            alike = type(first.op) is type(second.op)
            found = next(wires.all() if alike else wires.unfed(), None)
            if found is None and not alike:
                # Between two formats other wires are a matter of translation, but not another
                # value where the one that is meant is there, too.
                known = Wires.between((first, second), bodies, places, self._may_be_paired)
                found = next(known.carried(wires.inputs()), None) or known.condition()
            if found is not None:
                return self._worded("wire", found)
        return None

    def _paired(self, first: Value | None, second: Value | None) -> bool:
        """True when two values are paired, or constants of equal elements."""
        if first is None or second is None:
            return first is second
        if isinstance(first.producer.op, Constant) and isinstance(second.producer.op, Constant):
            return self._same(first, second)
        return self._twin.get(second) is first

    def _may_be_paired(self, first: Value | None, second: Value | None) -> bool:
        """True unless the first value is known to correspond to another one."""
        if first is None or second is None:
            return True
        twin = self._other.get(first)
        return twin is None or twin is second

    def _wires(self, nodes: tuple[Node, Node], bodies: tuple[Body, Body]) -> Wires:
        return Wires.between(nodes, bodies, self._places(), self._same)

    def _places(self) -> tuple[WirePlaces, WirePlaces]:
        if self._found_places is None:
            files = [item.source if item.dialect == "openvino" else None for item in self._models]
            self._found_places = WirePlaces.of(files[0]), WirePlaces.of(files[1])
        return self._found_places

    def _worded(self, kind: str, found: WireDifference) -> Cause:
        message = (
            f"in {self._labels[1]} `{found.name}` of loop `{found.loop}` {found.second}; "
            f"in {self._labels[0]} it {found.first}"
        )
        return Cause(kind, message, f"{found.loop}/{found.name}", found.lines)

    def _at(self, side: int, node: Node) -> str:
        """The model of a node, and the line in its file if known."""
        line = node.location.line
        return self._labels[side] + ("" if line is None else f", line {line}")

    @staticmethod
    def _cause(kind: str, message: str, first: Node, second: Node) -> Cause:
        lines = first.location.line, second.location.line
        return Cause(kind, message, second.name, lines)


_TRANSPOSES = classes_of("Transpose")
_LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan, onnx.Scan8)


def _graphs(node: Node) -> list[Any]:
    return [body.graph for body in node.bodies]


def _bodies(first: Node, second: Node) -> tuple[Body, Body]:
    return first.bodies[0], second.bodies[0]


def _input(node: Node, place: int) -> Value | None:
    return node.inputs[place] if place < len(node.inputs) else None


def _number(counts: set[int]) -> str:
    return "/".join(map(str, sorted(counts)[:4]))
