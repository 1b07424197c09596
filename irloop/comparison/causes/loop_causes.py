"""Finds the causes of differences in loops.

Causes are port maps, initial values, trip counts and conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irloop.comparison.causes.evidence import Cause, Evidence
from irloop.comparison.causes.likeness import apart, constants_agree, content, origin
from irloop.comparison.causes.slice_ways import is_backwards
from irloop.comparison.causes.wire_comparison import WireDifference, Wires
from irloop.comparison.causes.wire_side import Moved, WireSide
from irloop.comparison.verdict import LOOPS
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Carried
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.walk import body_around, entry_of, invariant_of

__all__ = ["LoopCauses", "untransposed"]

_TRANSPOSES = classes_of("Transpose")
_SLICES = classes_of("Slice", "StridedSlice")


#: Trip counts without a limit, as `content` describes them: -1, the largest i32 or i64, or no trip
#: count.
_UNLIMITED = {"-1", str(2**31 - 1), str(2**63 - 1), "absent"}


class LoopCauses:
    """Finds out whether a difference between two models comes from a loop.

    The methods compare the wires, initial values and iteration counts of corresponding loops.
    """

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen

    def of_source(self, value: Value, iterations: tuple[int, ...]) -> Cause | None:
        """Return the cause if `value` differs and enters a loop body from outside, else None.

        `value` is a parameter of the body, or a slice that the body gathers from a parameter.
        `iterations` holds the iteration numbers of the enclosing loops.
        """
        mine = self._seen.twin.get(value)
        if mine is None or not self._seen.differ(mine, value, iterations):
            return None
        if not any(isinstance(item.producer.op, Parameter) for item in (mine, value)):
            return None
        around, other = body_around(value.producer), body_around(mine.producer)
        if around is None or other is None or self._seen.loops.get(around[0]) is not other[0]:
            return None
        nodes, bodies = (other[0], around[0]), (other[1], around[1])
        wires = self._seen.wires(nodes, bodies)
        numbers = wires.positions(mine, value)
        if numbers is None:
            return None
        starts = not iterations or iterations[-1] == 0
        difference = wires.input(*numbers, start=starts)
        if starts:
            outer = self.of_start(nodes, bodies, numbers)
            if outer is not None:
                return outer
        elif difference is not None and self.is_computed_wrong(*bodies, numbers, iterations):
            return None
        if difference is None:
            return self.of_outer(nodes, bodies, numbers, iterations)
        return self._seen.worded("state" if not starts else "wire", difference)

    def of_start(
        self, nodes: tuple[Node, Node], bodies: tuple[Body, Body], numbers: tuple[int, int]
    ) -> Cause | None:
        """Return the cause if two body parameters get different constants, else None.

        `numbers` holds the position of each of the two parameters in its body. The constants come
        from outside the loops: for example, two loops start the same state from different
        constants.
        """
        outer = _outer(nodes, bodies, numbers)
        return None if outer is None else self.of_constants(outer[0].producer, outer[1].producer)

    def of_outer(
        self,
        nodes: tuple[Node, Node],
        bodies: tuple[Body, Body],
        numbers: tuple[int, int],
        iterations: tuple[int, ...],
    ) -> Cause | None:
        """Return the cause, outside the loops, of a difference between two body parameters.

        `numbers` holds the positions of the parameters in `bodies`. `iterations` holds the numbers
        of the iterations, from the outermost loop to the innermost. The result is None if no such
        cause is found.
        """
        port = bodies[1].ports.by_parameter.get(numbers[1])
        later = isinstance(port, Carried) and bool(iterations) and iterations[-1] > 0
        outer = _outer(nodes, bodies, numbers)
        if outer is None or later or not isinstance(outer[1].producer.op, Parameter):
            return None
        cause = self.of_source(
            outer[1], iterations[:-1] if isinstance(nodes[1].op, LOOPS) else iterations
        )
        return cause or self._of_captured(*outer)

    def _of_captured(self, first: Value, second: Value) -> Cause | None:
        """Return the cause if two body values come from outer values that cannot correspond.

        A body value comes from an outer value if it is an invariant: a parameter with the same
        value in every iteration. Returns None if neither value is an invariant, if the outer values
        may correspond, or if the loops do not correspond.
        """
        (left, mine), (right, its) = self._entered(0, first), self._entered(1, second)
        shown = its or mine
        if shown is None or self._seen.may_be_paired(left, right):
            return None
        if mine and its and self._seen.loops.get(its[0].node) is not mine[0].node:
            return None
        words = [
            (f"is `{value.name}`, which the body reads from outside", None)
            if entered is None
            else entered[0].begun(entered[1])
            for value, entered in ((left, mine), (right, its))
        ]
        side, number = shown
        wire = WireDifference(
            side.body.graph.input(number).producer.name,
            side.node.name,
            words[0][0],
            words[1][0],
            (words[0][1], words[1][1]),
            mine[0].body.graph.input(mine[1]).producer.name if mine and its else "",
            side.owner,
        )
        return self._seen.worded("wire", wire)

    def _entered(self, side: int, value: Value) -> tuple[Value, tuple[WireSide, int] | None]:
        """Follow an invariant of a loop or branch to the outer value that it receives.

        If the outer value is an invariant of an enclosing loop, it is followed further out. Returns
        the outer value at the end, and a pair for the place where this value enters: the wires of
        the outermost of these loops, and the number of the parameter in its body. If `value` is not
        an invariant, returns `value` and None. `side` is 0 for the first model and 1 for the
        second.
        """
        entered = None
        while (entry := entry_of(value)) and (outer := invariant_of(value)):
            node, body, port = entry
            entered = WireSide(node, body, self._seen.places()[side]), port.parameter
            value = outer
        return value, entered

    def is_computed_wrong(
        self, first: Body, second: Body, numbers: tuple[int, int], iterations: tuple[int, ...]
    ) -> bool:
        """Return whether the two bodies compute different next values for a state.

        `numbers` holds the positions of the state's parameters in the two bodies. The next value in
        `first` is compared with its counterpart in `second`, in the iteration before `iterations`.
        If no counterpart is known, the result is True only if the value differs from every value in
        `second`. It is False if one of the parameters is not a state.
        """
        port = first.ports.by_parameter.get(numbers[0])
        other = second.ports.by_parameter.get(numbers[1])
        if not isinstance(port, Carried) or not isinstance(other, Carried):
            return False
        before = (*iterations[:-1], iterations[-1] - 1)
        source = first.graph.results[port.result].inputs[0]
        if source is None:
            return False
        twin = self._seen.other.get(source)
        if twin is not None:
            return self._seen.differ(source, twin, before)
        values = [*second.graph.inputs, *(v for node in second.graph.nodes for v in node.outputs)]
        return all(self._seen.differ(source, value, before) for value in values)

    def of_constants(self, first: Node, second: Node) -> Cause | None:
        left, right = first.op, second.op
        if not isinstance(left, Constant) or not isinstance(right, Constant):
            return None
        if constants_agree(left, right, self._seen.tolerance):
            return None
        message = (
            f"constant `{second.name}` of {self._seen.place(1, second)} differs from that in "
            f"{self._seen.place(0, first)}: {apart(left, right)}"
        )
        return self._seen.cause("constant", message, first, second)

    def of_endless(self) -> Cause | None:
        """Return the cause if a loop runs a different number of times in the two models.

        A trace may stop before a loop of the second model ends. Such a loop counts only if it has
        already run more iterations than the loop of the first model. Returns None if no loop
        differs.
        """
        for second, first in self._seen.loops.items():
            places = {event.at for event in self._seen.recordings[0].events if event.node is first}
            for at in sorted(places):
                found = self.of_counts(second, at)
                if found is not None:
                    return found
        return None

    def of_counts(self, node: Node, iterations: tuple[int, ...]) -> Cause | None:
        """Return a cause if a loop runs more or fewer times than its counterpart, else None.

        `node` is the loop of the second model. Only one execution of the two loops is compared:
        `iterations` holds the iteration numbers of the enclosing loops.
        """
        first = self._seen.loops.get(node)
        if first is None or not isinstance(first.op, LOOPS) or not isinstance(node.op, LOOPS):
            return None
        left, right = (
            recording.count(loop, iterations)
            for recording, loop in zip(self._seen.recordings, (first, node), strict=True)
        )
        # A loop that has not ended proves a difference only if it has already run more iterations
        # than the other loop.
        goes_on = not right[1]
        if not left[1] or left[0] == right[0] or (goes_on and right[0] < left[0]):
            return None
        ran = [_times(left[0]), ("at least " if goes_on else "") + _times(right[0])]
        cause = self._of_end((first, node), iterations)
        if cause is not None:
            message = f"{cause.message}; so it runs {ran[1]}, not {ran[0]}"
            return Cause(cause.kind, message, cause.path, cause.lines)
        places = self._seen.place(1, node), self._seen.place(0, first)
        message = f"`{node.name}` runs {ran[1]} in {places[0]}, {ran[0]} in {places[1]}"
        return self._seen.cause("trip count", message, first, node)

    def _of_end(self, nodes: tuple[Node, Node], iterations: tuple[int, ...]) -> Cause | None:
        """Find why two loops run a different number of times; None if no reason is found.

        Compares the trip counts, the initial conditions, the conditions in the bodies, and the
        slices.
        """
        first, node = nodes
        bodies = _bodies(first, node)
        wires = self._seen.wires(nodes, bodies)
        for place, what in enumerate(("trip count", "initial condition")):
            if not isinstance(node.op, ov.Loop | onnx.Loop):
                break
            if not isinstance(first.op, ov.Loop | onnx.Loop):
                break
            values = [_input(item, place) for item in (first, node)]
            given = values[0] is not None and values[1] is not None
            if given and not self._seen.differ(values[0], values[1], iterations):
                continue
            words = [self._value_in_words(side, value) for side, value in enumerate(values)]
            if words[0] == words[1] or (place == 0 and {*words} <= _UNLIMITED):
                continue
            message = (
                f"the {what} of `{node.name}` is {words[1]} in {self._seen.place(1, node)}, "
                f"{words[0]} in {self._seen.place(0, first)}"
            )
            return self._seen.cause(what, message, first, node)
        ends = [_condition(body) for body in bodies]
        if ends[0] is not None and ends[1] is not None:
            constants = self.of_constants(ends[0].producer, ends[1].producer)
            constants = constants or self._of_constant_condition(nodes, (ends[0], ends[1]))
            if constants is not None:
                return replace(constants, kind="condition")
        # The number of slices determines how often a loop runs; if it has no slices, the condition
        # does.
        condition = wires.condition()
        if condition is not None:
            return self._seen.worded("condition", condition)
        slices = next(wires.slices(), None)
        return None if slices is None else self._seen.worded("wire", slices)

    def _value_in_words(self, side: int, value: Value | None) -> str:
        """Return the text for a value in a message: a number, "absent" for None, or the name.

        If no value of the other model corresponds to it, the type of its operation precedes the
        name.
        """
        partners = self._seen.other if side == 0 else self._seen.twin
        text = content(value)
        if value is None or value in partners or not value.producer.inputs:
            return text
        return f"{value.producer.op.label} {text}"

    def _of_constant_condition(
        self, nodes: tuple[Node, Node], ends: tuple[Value, Value]
    ) -> Cause | None:
        """Return a cause if either loop's condition is the constant False, else None."""
        for side, value in enumerate(ends):
            op = value.producer.op
            if not isinstance(op, Constant) or op.tensor.numpy().any():
                continue
            message = (
                f"the condition of `{nodes[1].name}` is the constant `{value.name}`, False, in "
                f"{self._seen.place(side, value.producer)}, and `{ends[1 - side].name}` in "
                f"{self._seen.place(1 - side, ends[1 - side].producer)}"
            )
            return self._seen.cause("condition", message, ends[0].producer, ends[1].producer)
        return None

    def of_joined(self, node: Node, iterations: tuple[int, ...]) -> Cause | None:
        """Return why an output of a loop has another shape than that of the corresponding loop.

        `iterations` holds the iteration numbers of the enclosing loops. The result is None if the
        loops are of different types, if all outputs have equal shapes, or if both loops produce the
        outputs that differ in the same way.
        """
        first = self._seen.loops.get(node)
        if first is None or type(first.op) is not type(node.op):
            return None
        for mine, value in zip(first.outputs, node.outputs, strict=False):
            left, right = (
                recording.values.get((item, iterations))
                for recording, item in zip(self._seen.recordings, (mine, value), strict=True)
            )
            if left is None or right is None or np.shape(left) == np.shape(right):
                continue
            found = self.of_loop_output(mine, value)
            if found is not None:
                return found
        return None

    def of_loop_output(self, first: Value, second: Value, *, exact: bool = False) -> Cause | None:
        """Return the cause of a difference between two outputs of corresponding loops.

        The result is None if the loops produce both outputs in the same way, or if the loops do not
        correspond. With `exact`, values that differ only in shape count as different.
        """
        (first, left), (second, right) = untransposed(first), untransposed(second)
        nodes = first.producer, second.producer
        if not isinstance(nodes[1].op, LOOPS) or self._seen.loops.get(nodes[1]) is not nodes[0]:
            return None
        bodies, places = _bodies(*nodes), self._seen.places()
        same = self._seen.nearly_paired if exact else self._seen.same
        wires = Wires.between(nodes, bodies, places, same)
        output = wires.output(first.index, second.index, after=(left, right))
        if output is None:
            return None
        state = wires.state_of_output(first.index, second.index)
        if state is not None:
            return self._seen.worded("state", state)
        return self._seen.worded("output", output)

    def of_starts(self, first: Node, second: Node, iterations: tuple[int, ...]) -> Cause | None:
        """Return a cause if two loops give a state different initial values, else None.

        The comparison uses the outer values that enter the loops, so it also works if a loop runs
        zero iterations.
        """
        bodies = _bodies(first, second)
        wires = self._seen.wires((first, second), bodies)
        for numbers in wires.inputs():
            ports = [
                body.ports.by_parameter.get(number)
                for body, number in zip(bodies, numbers, strict=True)
            ]
            outer = [
                None if port is None else _input(node, port.external)
                for node, port in zip((first, second), ports, strict=True)
            ]
            if not isinstance(ports[1], Carried) or not self._seen.differ(
                outer[0], outer[1], iterations
            ):
                continue
            constants = self.of_start((first, second), bodies, numbers)
            if constants is not None:
                return constants
            if isinstance(ports[0], Carried):
                return self._seen.worded("wire", wires.start(*numbers))
        return None

    def of_wires(self) -> Cause | None:
        """Return the first wire that differs between corresponding loops as a cause, or None."""
        for second, first in self._seen.loops.items():
            if isinstance(first.op, LOOPS) and isinstance(second.op, LOOPS):
                found = self.of_wires_between(first, second)
                if found is not None:
                    return found
        return None

    def of_wires_between(self, first: Node, second: Node) -> Cause | None:
        """Return the first wire that differs between `first` and `second` as a cause, or None."""
        bodies = _bodies(first, second)
        places = self._seen.places()
        # Within one format, values that differ only in shape count as different.
        wires = Wires.between((first, second), bodies, places, self._seen.paired)
        alike = type(first.op) is type(second.op)
        difference = next(wires.all() if alike else wires.unfed(), None)
        if difference is None and not alike:
            # Loops of two formats may be wired differently, so report a different value only if the
            # value in the first model also has a counterpart in the second.
            known = Wires.between((first, second), bodies, places, self._seen.may_be_paired)
            difference = (
                next(known.carried(wires.inputs()), None)
                or known.condition()
                or next(known.slices(), None)
            )
        if difference is not None:
            return self._seen.worded("wire", difference)
        return None if alike else self._of_outputs_between(first, second)

    def _of_outputs_between(self, first: Node, second: Node) -> Cause | None:
        """Return the cause of the first difference between the outputs of two matching loops.

        This is for loops of models in different formats. Returns None if the outputs do not differ.
        """
        for value in second.outputs:
            mine = self._seen.twin.get(value)
            found = None if mine is None else self.of_loop_output(mine, value)
            if found is not None:
                return found
        return None


def untransposed(value: Value) -> tuple[Value, Moved]:
    """Follow Transposes, Reshapes and Slices back to the value that they start from.

    Returns that value, and how these operations transpose and reverse it. In converted models they
    often follow a loop: for example, a Slice reverses the outputs of the iterations.
    """
    order: Sequence[int] | None = None
    turned = False
    while True:
        value = origin(value)
        node = value.producer
        if isinstance(node.op, _SLICES) and node.inputs[0] is not None:
            turned ^= is_backwards(node)
            value = node.inputs[0]
        elif isinstance(node.op, _TRANSPOSES) and node.inputs[0] is not None and order is None:
            order = _order(node) or None
            value = node.inputs[0]
        else:
            return value, Moved(order, turned)


def _order(transpose: Node) -> Sequence[int]:
    """Return the constant permutation of a Transpose; empty if it is computed or omitted."""
    if len(transpose.inputs) < 2 or transpose.inputs[1] is None:
        return getattr(transpose.op, "perm", None) or ()
    given = transpose.inputs[1].producer.op
    return [int(item) for item in given.tensor.numpy()] if isinstance(given, Constant) else ()


def _outer(
    nodes: tuple[Node, Node], bodies: tuple[Body, Body], numbers: tuple[int, int]
) -> tuple[Value, Value] | None:
    """The outer values that feed one body parameter in each of two loops.

    `numbers` holds the positions of the two parameters in their bodies. The result is None if one
    of the parameters is not fed by an outer value.
    """
    values = []
    for node, body, number in zip(nodes, bodies, numbers, strict=True):
        port = body.ports.by_parameter.get(number)
        value = None if port is None else _input(node, port.external)
        if value is None:
            return None
        values.append(value)
    return values[0], values[1]


def _bodies(first: Node, second: Node) -> tuple[Body, Body]:
    return first.bodies[0], second.bodies[0]


def _input(node: Node, place: int) -> Value | None:
    return node.inputs[place] if place < len(node.inputs) else None


def _condition(body: Body) -> Value | None:
    """The value inside a body that decides whether the loop continues."""
    at = body.ports.condition
    return None if at is None else body.graph.results[at].inputs[0]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
