"""Tells within which bounds the integers lie that a model computes, in both dialects.

This is the only place that derives them: from constants, types, sizes, iteration numbers, limits,
remainders, and comparisons that guard a branch. Repairs and conversions ask it whether a short form
is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from irloop.analysis.bounds import ANYTHING, Bounds, joined, of_dim, of_type, only
from irloop.analysis.free_sizes import size_given_by
from irloop.analysis.operands import known
from irloop.analysis.range_rules import MOVES, deciding, of_result
from irloop.dialects.classes import classes_of
from irloop.dialects.openvino.control_flow import Loop
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Carried, Invariant
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.types import UNKNOWN_DIM
from irloop.graph.walk import body_around

if TYPE_CHECKING:
    from irloop.analysis.operands import Array

__all__ = [
    "MOST_ELEMENTS",
    "bounds_of",
    "certainly_runs",
    "is_never_negative",
    "may_be_large",
    "may_not_run",
]

#: At most so many values are looked at.
MOST = 32
#: At most so often the bounds of a state are widened.
MOST_ROUNDS = 3
#: The elements of larger constants are not read.
MOST_ELEMENTS = 2**16

_BRANCHES = classes_of("If")
_SHAPES = classes_of("Shape", "ShapeOf")
#: Operations that give their first input another shape.
_RESHAPING = classes_of("Identity", "Reshape", "Squeeze", "Unsqueeze")
_SUMS = classes_of("Add")
_DIFFERENCES = classes_of("Sub", "Subtract")
_NOT = classes_of("LogicalNot", "Not")
_BOTH = classes_of("And", "LogicalAnd")
_EITHER = classes_of("LogicalOr", "Or")

#: The comparison of exchanged operands.
_EXCHANGED: dict[object, object] = {gt: lt, ge: le, lt: gt, le: ge, eq: eq, ne: ne}
#: The comparison that holds where another one does not.
_OPPOSITE: dict[object, object] = {gt: le, ge: lt, lt: ge, le: gt, eq: ne, ne: eq}


def bounds_of(value: Value | None, constant: Callable[[Value], Array | None] = known) -> Bounds:
    """The bounds of the elements of a value in every run; those of its type if no others are known.

    `constant` returns what is known of a constant. At most `MOST` values are looked at.
    """
    return _Walk(constant).of(value)


def is_never_negative(value: Value) -> bool:
    """Return whether integers are 0 or more in every run. False if this is not known."""
    return bounds_of(value).low >= 0


def may_be_large(value: Value) -> bool:
    """Return whether a value may hold integers with more than 24 bits, which f32 rounds.

    Sizes and positions count as small, and so do the results of operations on them.
    """
    return element_of(value).is_integer and not bounds_of(value).is_small


def certainly_runs(
    trip: Value | None,
    starts: Value | None,
    constant: Callable[[Value], Array | None] = known,
) -> bool:
    """Return whether an OpenVINO Loop certainly runs at least one iteration.

    `trip` is the trip count, which a negative number leaves open, and `starts` the first condition.
    `constant` returns what is known of a constant.
    """
    if starts is not None and bounds_of(starts, constant).low < 1:
        return False
    bounds = None if trip is None else bounds_of(trip, constant)
    return bounds is None or bounds.low > 0 or bounds.high < 0


def may_not_run(node: Node) -> bool:
    """Return whether `node` is an OpenVINO Loop that may run zero iterations."""
    return isinstance(node.op, Loop) and not certainly_runs(node.inputs[0], node.inputs[1])


class _Walk:
    """Derives the bounds of a value from those of the values that it is computed from."""

    def __init__(self, constant: Callable[[Value], Array | None]) -> None:
        self.constant = constant
        self.left = MOST
        self.known: dict[Value, Bounds] = {}

    def of(self, value: Value | None) -> Bounds:
        if value is None:
            return ANYTHING
        if value not in self.known:
            # A state is anything of its type while its own next value is looked at.
            widest = self.known[value] = of_type(element_of(value))
            self.left -= 1
            if self.left >= 0:
                self.known[value] = self._computed(value).within(widest)
        return self.known[value]

    def _computed(self, value: Value) -> Bounds:
        node, count = value.producer, shape_of(value).count()
        is_read = count is not None and count <= MOST_ELEMENTS
        if isinstance(node.op, Constant) and not is_read:
            return Bounds(*ANYTHING[:2], counts=not element_of(value).is_integer)
        array = self.constant(value) if is_read else None
        if array is not None and array.dtype.kind in "biuf":
            return _of_array(array)
        if isinstance(node.op, Parameter):
            return self._entering(value)
        if node.bodies:
            return self._leaving(node, node.outputs.index(value))
        if isinstance(node.op, _SHAPES):
            data = node.inputs[0]
            dims = None if data is None else shape_of(data).dims
            return joined(map(of_dim, dims or [UNKNOWN_DIM]))
        if isinstance(node.op, MOVES) and count == 1:
            sizes = size_given_by(value, 0)
            if sizes:
                return joined(of_dim(shape_of(data).dim(axis)) for data, axis in sizes)
        return of_result(value, [self.of(operand) for operand in deciding(value)])

    def _entering(self, value: Value) -> Bounds:
        """The bounds of a parameter."""
        around = body_around(value.producer)
        if around is None:
            return ANYTHING
        owner, body = around
        position = body.graph.parameters.index(value.producer)
        if position == body.ports.iteration:
            return self._iteration(owner)
        port = body.ports.by_parameter.get(position)
        if port is None:
            return ANYTHING
        outer = owner.inputs[port.external]
        if isinstance(port, Carried):
            return self._state(value, self.of(outer), body.graph.output(port.result))
        if outer is None or not isinstance(port, Invariant) or not isinstance(owner.op, _BRANCHES):
            return self.of(outer)
        return self._guarded(owner, body, outer)

    def _iteration(self, loop: Node) -> Bounds:
        trip = loop.inputs[0]
        count = ANYTHING if trip is None else self.of(trip)
        if count.low < 0 or not count.is_small:
            return of_dim(UNKNOWN_DIM)
        return Bounds(0, max(count.high - 1, 0), count.counts)

    def _state(self, value: Value, initial: Bounds, following: Value) -> Bounds:
        """The bounds of a state, which counts if each iteration adds 1 to it, or subtracts 1."""
        step = self._step(following, value) if initial.is_small else 0
        low, high, _ = of_type(element_of(value))
        if step:
            return Bounds(*((initial.low, high) if step > 0 else (low, initial.high)), True)
        return self._kept(value, initial, following) or joined([initial, self.of(following)])

    def _kept(self, value: Value, initial: Bounds, following: Value) -> Bounds | None:
        """Bounds that a state keeps: those of its next value are within them; None if not known."""
        known, bounds = self.known, initial
        for _ in range(MOST_ROUNDS):
            self.known = {**known, value: bounds}
            wider = joined([bounds, self.of(following)])
            if wider == bounds:
                return bounds
            bounds = wider
        self.known = known
        return None

    def _step(self, following: Value, state: Value) -> int:
        """1 or -1 if this is added to a state to get its next value, else 0."""
        node = _unmoved(following).producer
        if not isinstance(node.op, _SUMS + _DIFFERENCES):
            return 0
        left, right = (_unmoved(each) for each in node.inputs if each is not None)
        if isinstance(node.op, _SUMS) and right is state:
            left, right = right, left
        number = self.of(right)
        if left is not state or number.low != number.high or number.magnitude != 1:
            return 0
        return int(-number.low if isinstance(node.op, _DIFFERENCES) else number.low)

    def _leaving(self, node: Node, position: int) -> Bounds:
        """The bounds of an output of a loop or an If."""
        bounds = []
        for body in node.bodies:
            ports = [port for port in body.ports.outputs if port.external == position]
            bounds += [self.of(body.graph.output(port.result)) for port in ports]
            results = {port.result for port in ports}
            # A loop that does not run returns its initial states.
            bounds += [
                self.of(node.inputs[state.external])
                for state in body.ports.carried
                if state.result in results
            ]
        return joined(bounds) if bounds else ANYTHING

    def _guarded(self, owner: Node, body: Body, outer: Value) -> Bounds:
        """The bounds of a captured value in the branch of an If that a comparison of it guards."""
        bounds = self.of(outer)
        if shape_of(outer).count() != 1 or not element_of(outer).is_integer:
            return bounds
        for node, holds in _tests(owner.inputs[0], holds=body is owner.bodies[0]):
            bounds = self._limited(bounds, outer, node, holds=holds)
        return bounds

    def _limited(self, bounds: Bounds, outer: Value, test: Node, *, holds: bool) -> Bounds:
        """The bounds of `outer` if a comparison holds, or does not hold."""
        for position, operand in enumerate(test.inputs):
            if operand is None or _unmoved(operand) is not outer:
                continue
            comparator: object = type(test.op).comparator
            comparator = comparator if position == 0 else _EXCHANGED[comparator]
            comparator = comparator if holds else _OPPOSITE[comparator]
            bounds = _restricted(bounds, self.of(test.inputs[1 - position]), comparator)
        return bounds


def _tests(condition: Value | None, *, holds: bool) -> Iterator[tuple[Node, bool]]:
    """Yield the comparisons that a condition consists of, and whether each of them holds.

    `holds` tells whether the condition does.
    """
    pending = [(condition, holds)]
    while pending:
        value, holds = pending.pop()
        if value is None:
            continue
        node = _unmoved(value).producer
        if isinstance(node.op, _NOT):
            pending.append((node.inputs[0], not holds))
        elif isinstance(node.op, _BOTH if holds else _EITHER):
            pending += [(operand, holds) for operand in node.inputs]
        elif type(node.op).comparator is not None:
            yield node, holds


def _unmoved(value: Value) -> Value:
    """The value that a value is in another shape."""
    while isinstance(value.producer.op, _RESHAPING) and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value


def _restricted(bounds: Bounds, limit: Bounds, comparator: object) -> Bounds:
    """The bounds of an integer that compares as `comparator` says with another one."""
    low, high, counts = bounds
    if comparator in (lt, le, eq):
        high = min(high, limit.high - (comparator is lt))
    if comparator in (gt, ge, eq):
        low = max(low, limit.low + (comparator is gt))
    return Bounds(low, high, counts) if low <= high else bounds


def _of_array(array: Array) -> Bounds:
    """The bounds of the elements of a constant."""
    if not array.size:
        return only(0)
    return Bounds(array.min().item() + 0, array.max().item() + 0)
