"""Follows a difference in shapes from a value back towards the inputs, to find where it begins.

Values with the same elements in other shapes count as equal while values are compared, because an
IR keeps the axis of a slice. If nothing else explains a difference, the search follows the shapes
back through operations and loops, until it reaches inputs that have the same shapes in both
models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from irloop.comparison.causes.branch_causes import body_value_of
from irloop.comparison.causes.copies import unchanged
from irloop.comparison.causes.evidence import Cause, Evidence
from irloop.comparison.causes.likeness import handed_on, may_correspond, operands
from irloop.comparison.causes.loop_causes import untransposed
from irloop.comparison.verdict import LOOPS
from irloop.graph.loops import Carried, ScanInput, Sliced
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.walk import entry_of, invariant_of

__all__ = ["ShapeCauses"]

#: Maximum number of nodes that are searched for the decomposition of one operation.
MOST_NODES = 100

#: Two values that correspond, and the iterations in which they are compared.
_Pair = tuple[Value, Value, tuple[int, ...]]


class ShapeCauses:
    """Finds the place where the difference between two values of different shapes begins.

    From the two values it goes upwards to operands that correspond to each other, as long as their
    shapes differ. `definition` compares two constants, or two nodes of the same operation class. It
    returns the cause if they are defined differently, else None.
    """

    def __init__(self, seen: Evidence, definition: Callable[[Node, Node], Cause | None]) -> None:
        self._seen = seen
        self._definition = definition

    def of(self, first: Value, second: Value, iterations: tuple[int, ...]) -> Cause | None:
        """Return where the difference begins if two values have different shapes, else None.

        The values correspond to each other in the two models. `iterations` holds the iterations in
        which they are compared. A difference that exists only because of the formats does not
        count.
        """
        here: _Pair = first, second, iterations
        if not self._is_other(here):
            return None
        visited = {here}
        while True:
            found = self._defined(here)
            if found is not None:
                return found
            above = next((pair for pair in self._above(here) if self._is_other(pair)), None)
            if above is None or above in visited:
                return self._described_cause(here)
            visited.add(above)
            here = above

    def _shapes(self, pair: _Pair) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        held = [
            recording.values.get((value, pair[2]))
            for recording, value in zip(self._seen.recordings, pair[:2], strict=True)
        ]
        if held[0] is None or held[1] is None:
            return None
        return np.shape(held[0]), np.shape(held[1])

    def _is_other(self, pair: _Pair) -> bool:
        """Return whether two values differ in shape for a reason other than the formats.

        The formats may explain a difference because a slice keeps the sliced axis in an IR, but not
        in ONNX. They explain it if one model is an IR and the other is ONNX, the value in the IR is
        a slice, and both values have equally many elements. States after the first iteration are an
        exception: the formats never explain a difference between them. The result is also False if
        the shapes are equal, or if one of the values was not recorded.
        """
        shapes = self._shapes(pair)
        if shapes is None or shapes[0] == shapes[1]:
            return False
        dialects = {model.dialect for model in self._seen.models}
        if len(dialects) == 1 or self._carried(pair) is not None:
            return True
        kept = [
            _is_slice(value) and model.dialect == "openvino"
            for value, model in zip(pair[:2], self._seen.models, strict=True)
        ]
        return not any(kept) or np.prod(shapes[0]) != np.prod(shapes[1])

    def _defined(self, pair: _Pair) -> Cause | None:
        """Find constants or attributes that explain why the values in `pair` differ in shape.

        Compares the attributes of the two nodes that compute these values, and the constant
        operands of the nodes. Returns None if all are the same, or if the nodes have different
        types or have bodies.
        """
        first, second = pair[0].producer, pair[1].producer
        if first.op.type != second.op.type or first.bodies:
            return None
        for mine, its in zip(operands(first), operands(second), strict=False):
            if mine is None or its is None or not isinstance(mine.producer.op, Constant):
                continue
            found = self._definition(mine.producer, its.producer)
            if found is not None:
                return found
        return self._definition(first, second)

    def _above(self, pair: _Pair) -> Iterator[_Pair]:
        """Yield the pairs of corresponding operands from which a pair of values is computed.

        For results of loops, these are the body values; for body parameters, the outer values.
        """
        first, second, iterations = unchanged(pair[0]), unchanged(pair[1]), pair[2]
        pair = first, second, iterations
        nodes = first.producer, second.producer
        if all(isinstance(node.op, Parameter) for node in nodes):
            yield from self._outside(pair)
        elif nodes[0].bodies and self._seen.loops.get(nodes[1]) is nodes[0]:
            yield from self._inside(pair)
        elif _alike(*nodes):
            for mine, its in zip(nodes[0].inputs, nodes[1].inputs, strict=True):
                if mine is not None and its is not None:
                    yield mine, its, iterations
        else:
            left, right = untransposed(first)[0], untransposed(second)[0]
            owners = left.producer, right.producer
            same_loop = owners[0].bodies and self._seen.loops.get(owners[1]) is owners[0]
            if same_loop or all(isinstance(node.op, Parameter) for node in owners):
                yield left, right, iterations
            else:
                yield from self._decomposed(pair)

    def _decomposed(self, pair: _Pair) -> Iterator[_Pair]:
        """Yield the nearest pairs of corresponding values from which `pair` is computed.

        The two models may compute the values of `pair` by different nodes. Therefore the search
        goes back from each of them to the first values that correspond to each other. In one model,
        a slice may keep the sliced axis until a later operation removes it. Then the result of this
        operation is paired with the slice of the other model.
        """
        first, second, iterations = pair
        above = self._nearest(0, first), self._nearest(1, second)
        for its in above[1]:
            mine = self._seen.twin.get(its)
            if mine in above[0]:
                yield mine, its, iterations
        for side, partners in enumerate((self._seen.other, self._seen.twin)):
            for value in above[side]:
                source = handed_on(value)
                if source is None or value in partners or not _is_slice(source):
                    continue
                partner = partners.get(source)
                if partner in above[1 - side]:
                    yield (
                        (value, partner, iterations) if side == 0 else (partner, value, iterations)
                    )

    def _nearest(self, side: int, value: Value) -> dict[Value, None]:
        """Walk back from `value` to the nearest values with a counterpart in the other model.

        `side` is the model of `value`: 0 or 1. The walk does not go beyond a value with a
        counterpart. The result also has the values on the way that are a cast or reshape of a
        slice, even if they have no counterpart. It is a dict that serves as an ordered set.
        """
        partners = self._seen.other if side == 0 else self._seen.twin
        sources: dict[Value, None] = {}
        pending, seen = [value.producer], {value.producer}
        while pending and len(seen) < MOST_NODES:
            for operand in pending.pop().inputs:
                if operand is None or operand in sources:
                    continue
                source = handed_on(operand)
                if operand in partners or (source is not None and _is_slice(source)):
                    sources[operand] = None
                if operand not in partners and operand.producer not in seen:
                    seen.add(operand.producer)
                    pending.append(operand.producer)
        return sources

    def _outside(self, pair: _Pair) -> Iterator[_Pair]:
        """Yield the two values that a pair of corresponding body parameters receives.

        These are values outside the bodies or, for states after the first iteration, the values
        that the previous iteration carries back. Nothing is yielded if the bodies do not
        correspond.
        """
        carried = self._carried(pair)
        if carried is not None:
            yield carried
            return
        first, second, iterations = pair
        entry, other_entry = entry_of(first), entry_of(second)
        if entry is None or other_entry is None or not iterations:
            return
        (left, _, port), (right, _, other) = entry, other_entry
        outer = left.inputs[port.external], right.inputs[other.external]
        if self._seen.loops.get(right) is not left or outer[0] is None or outer[1] is None:
            return
        yield outer[0], outer[1], iterations[:-1] if isinstance(right.op, LOOPS) else iterations

    def _carried(self, pair: _Pair) -> _Pair | None:
        """Return the values that the previous iteration carried to two states, one of each model.

        `pair` holds the two states and the iteration number of each enclosing loop. The result
        holds the two values, which the bodies return, and the iteration numbers of the previous
        iteration. It is None in the first iteration, or if one of the two values is not a state.
        """
        iterations = pair[2]
        if not iterations or not iterations[-1]:
            return None
        values = []
        for value in pair[:2]:
            entry = entry_of(value)
            if entry is None or not isinstance(entry[2], Carried):
                return None
            source = entry[1].graph.results[entry[2].result].inputs[0]
            if source is None:
                return None
            values.append(source)
        return values[0], values[1], (*iterations[:-1], iterations[-1] - 1)

    def _inside(self, pair: _Pair) -> Iterator[_Pair]:
        """Yield the pairs of body values from which a pair of outputs is made.

        The outputs belong to two loops or branches, one per model. Bodies with the same label form
        a pair. For loops, there is one pair of values for each iteration that both loops run.
        """
        for first in pair[0].producer.bodies:
            for second in pair[1].producer.bodies:
                if first.label != second.label:
                    continue
                left, right = (
                    body_value_of(first, pair[0].index),
                    body_value_of(second, pair[1].index),
                )
                if left is None or right is None or self._joined(pair) is not None:
                    continue
                yield from ((left, right, at) for at in self._iterations(pair))

    def _iterations(self, pair: _Pair) -> Iterator[tuple[int, ...]]:
        """Yield the iteration numbers for which the bodies of two nodes have to be compared.

        For two loops, these are all iterations that both run, because a state may change its shape
        in any of them. A node other than a loop has no iterations of its own, so the numbers of the
        pair are yielded as they are.
        """
        at = pair[2]
        if not isinstance(pair[1].producer.op, LOOPS):
            yield at
            return
        counts = [
            recording.count(value.producer, at)[0]
            for recording, value in zip(self._seen.recordings, pair[:2], strict=True)
        ]
        yield from ((*at, number) for number in range(min(counts)))

    def _joined(self, pair: _Pair) -> Cause | None:
        """Return the cause if two outputs differ because the loops join parts on different axes.

        `pair` holds the two loop outputs. Only loops of different operation classes are compared,
        for example of different formats: one may stack the parts, and the other may concatenate the
        same parts with an additional axis of size 1. In all other cases, the result is None.
        """
        first, second, iterations = pair
        nodes = first.producer, second.producer
        if self._seen.loops.get(nodes[1]) is not nodes[0] or not isinstance(nodes[1].op, LOOPS):
            return None
        if type(nodes[0].op) is type(nodes[1].op):
            return None
        bodies = nodes[0].bodies[0], nodes[1].bodies[0]
        left, right = body_value_of(bodies[0], first.index), body_value_of(bodies[1], second.index)
        if left is None or right is None:
            return None
        shapes = self._shapes((left, right, (*iterations, 0)))
        if shapes is None or not _fit(*shapes):
            return None
        wires = self._seen.wires(nodes, bodies)
        found = wires.joined(first.index, second.index, shapes)
        return None if found is None else self._seen.worded("output", found)

    def _described_cause(self, pair: _Pair) -> Cause | None:
        """Describe the cause if the difference in shape begins at the values in `pair`.

        If two loops join parts along different axes, that is the cause. Otherwise the description
        names the values and their shapes. The result is None if a shape is not known, or if both
        values are parameters.
        """
        joined = self._joined(pair)
        shapes = self._shapes(pair)
        if joined is not None or shapes is None:
            return joined
        first, second = pair[0].producer, pair[1].producer
        if isinstance(first.op, Parameter) and isinstance(second.op, Parameter):
            return None
        message = (
            f"`{pair[1].name}` of {self._seen.place(1, second)} has shape {list(shapes[1])}; in "
            f"{self._seen.place(0, first)} `{pair[0].name}` has shape {list(shapes[0])}"
        )
        return self._seen.cause("shape", message, first, second)


def _alike(first: Node, second: Node) -> bool:
    """Return whether the inputs of two nodes correspond by position.

    The nodes must have the same number of inputs. Two elementwise operations must also satisfy
    `may_correspond`, and other operations must have the same type.
    """
    if len(first.inputs) != len(second.inputs):
        return False
    if first.op.elementwise and second.op.elementwise:
        return may_correspond(first.op, second.op)
    return first.op.type == second.op.type


def _is_slice(value: Value) -> bool:
    """Return whether `value` is a body parameter that receives a slice of a loop's input.

    This includes a slice of an outer loop, if the inner body captures it.
    """
    entry, source = entry_of(value), invariant_of(value)
    if entry is not None and isinstance(entry[2], Sliced | ScanInput):
        return True
    return source is not None and _is_slice(source)


def _fit(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Return whether one of two shapes is the other shape with an additional axis of size 1.

    If these are the shapes of the parts of a loop output in two models, one loop may concatenate
    the parts along this axis, and the other loop may stack parts without it.
    """
    shorter, longer = sorted((first, second), key=len)
    return any(
        size == 1 and longer[:axis] + longer[axis + 1 :] == shorter
        for axis, size in enumerate(longer)
    )
