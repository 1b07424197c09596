"""Assembles ONNX Loops and Scans in the forms of the target opset.

Before opset 11 a Loop has at least one state. Scan-8 has a batch axis in front, scans the first
axis of each item and concatenates forwards only; the builder uses it with a batch of one item.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.forms import onnx_shape_forms as shape_forms
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx import convert, elementwise, search
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Carried,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    ScanInput,
    ScanOutput,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["OnnxLoopBuilder", "OnnxScanBuilder", "numbers_below", "reverse_axis"]

I64_SCALAR = TensorType(ElementType.I64, Shape(()))
BOOL_SCALAR = TensorType(ElementType.BOOLEAN, Shape(()))

#: A slice bound that is before the first element of every tensor.
BEFORE_THE_START = -(2**63)


class OnnxLoopBuilder:
    """Assembles an ONNX Loop.

    The order of calls is fixed: `state` for each state, then `capture` for outer values, then
    `finish`.
    """

    def __init__(self, c: Conversion, label: str) -> None:
        self.c = c
        self.inner = c.nested(label)
        self.iteration = self.inner.parameter("iteration", I64_SCALAR)
        self.inner.parameter("condition_in", BOOL_SCALAR)
        self._initial: list[Value] = []
        self._captured: dict[Value, Value] = {}
        #: The unused state of an opset that requires at least one state.
        self._unused: Value | None = None

    def state(self, initial: Value, type: ValueType, name: str) -> Value:
        """Add a state; return the body parameter that holds it."""
        assert not self._captured, "states come before captures"
        self._initial.append(initial)
        return self.inner.parameter(name, type)

    def _have_a_state(self) -> None:
        if not self._initial and self.c.opset < onnx.STATELESS:
            self._unused = self.state(self.c.i64(0), I64_SCALAR, "unused")

    def capture(self, value: Value) -> Value:
        """Return the body parameter that holds an invariant outer value; add it if missing."""
        self._have_a_state()
        if value not in self._captured:
            name = value.producer.name
            self._captured[value] = self.inner.parameter(name, value.type)
        return self._captured[value]

    def finish(
        self,
        limit: Value | None,
        starts: Value | None,
        condition: Value,
        states: list[Value],
        scans: list[Value],
    ) -> list[Value]:
        """Make the Loop; return the states, then the stacked scan outputs.

        `limit` is the maximum trip count and `starts` the condition before the first iteration;
        None leaves the input out. `condition`, `states` and `scans` are values of the body.
        """
        self._have_a_state()
        if self._unused is not None:
            states = [self.inner(convert.Identity(), self._unused)]
        for value in (condition, *states, *scans):
            self.inner.result(value, self.inner.names.fresh(f"{value.producer.name}/out"))
        node = _emit_loop(self.c, self.inner, limit, starts, self._initial, self._captured, scans)
        return list(node.outputs[0 if self._unused is None else 1 :])


def _emit_loop(
    c: Conversion,
    inner: Conversion,
    limit: Value | None,
    starts: Value | None,
    initial: list[Value],
    captured: dict[Value, Value],
    scans: list[Value],
) -> Node:
    """Emit an ONNX Loop node; its body is the graph of `inner`, which must be complete.

    `limit` is the maximum trip count and `starts` the condition before the first iteration; None
    omits the input. `initial` holds the initial values of the states, `captured` the body parameter
    for each outer value that the body reads, and `scans` the body values that are stacked.
    """
    first_capture = 2 + len(initial)
    inputs: list[InputPort] = [Carried(1, 1, 0)]
    inputs += [Carried(2 + k, 2 + k, 1 + k) for k in range(len(initial))]
    inputs += [Invariant(first_capture + k, first_capture + k) for k in range(len(captured))]
    outputs: list[OutputPort] = [LastValue(1 + k, k) for k in range(len(initial))]
    outputs += [ScanOutput(1 + len(initial) + k, len(initial) + k) for k in range(len(scans))]
    ports = PortMap(tuple(inputs), tuple(outputs), iteration=0, condition=0)
    node = c.graph.add_node(
        onnx.Loop(),
        c.names.fresh(f"{c.prefix}/Loop"),
        (limit, starts, *initial, *captured),
        len(outputs),
        bodies=(Body("body", inner.graph, ports),),
        location=c.location,
    )
    c.inference.visit(node)
    return node


class OnnxScanBuilder:
    """Assembles an ONNX Scan: make states, then scanned inputs, then captures, then `finish`."""

    def __init__(self, c: Conversion, label: str) -> None:
        self.c = c
        self.inner = c.nested(label)
        self._initial: list[Value] = []
        self._scanned: list[tuple[Value, int, bool]] = []
        self._captured: dict[Value, Value] = {}
        #: True for Scan-8, which has a batch axis, scans the first axis and concatenates forwards.
        self._batched = c.opset < onnx.Scan.since

    def state(self, initial: Value, type: ValueType, name: str) -> Value:
        """Add a state; return the body parameter that receives it."""
        assert not self._scanned, "states come before scanned inputs"
        assert not self._captured, "states come before captures"
        self._initial.append(initial)
        return self.inner.parameter(name, type)

    def scan(self, value: Value, axis: int, reverse: bool, name: str) -> Value:
        """Add a scan input; return the body parameter for one element of `value` along `axis`."""
        assert not self._captured, "scanned inputs come before captures"
        if self._batched:
            value, axis = self._axis_first(value, axis), 0
        self._scanned.append((value, axis, reverse))
        shape = shape_of(value)
        if shape.dims is not None:
            shape = Shape(shape.dims[:axis] + shape.dims[axis + 1 :])
        return self.inner.parameter(name, TensorType(element_of(value), shape))

    def _axis_first(self, value: Value, axis: int) -> Value:
        rank = shape_of(value).rank
        if rank is None:
            raise self.c.refuse("Scan-8 scans the first axis, and the rank is not known", opset=9)
        order = [axis, *(at for at in range(rank) if at != axis)]
        return shape_forms.transpose(self.c, value, order)

    def capture(self, value: Value) -> Value:
        """Return the body parameter for an outer value that is the same in every iteration."""
        if value not in self._captured:
            self._captured[value] = self.inner.parameter(value.producer.name, value.type)
        return self._captured[value]

    def finish(self, states: list[Value], scans: list[tuple[Value, int, bool]]) -> list[Value]:
        """Make the Scan; return its final states, then its scan outputs.

        Each item of `scans` is (body value, axis, reverse).
        """
        for value in (*states, *(value for value, _, _ in scans)):
            self.inner.result(value, self.inner.names.fresh(f"{value.producer.name}/out"))
        if self._batched:
            return self._batch_of_one(scans)
        placed = [(axis, reverse) for _, axis, reverse in scans]
        scanned = [value for value, _, _ in self._scanned]
        return self._emit(onnx.Scan(), [*self._initial, *scanned], placed)

    def _batch_of_one(self, scans: list[tuple[Value, int, bool]]) -> list[Value]:
        """Emit a Scan-8 over a batch of one item; return its outputs without the batch axis.

        Each item of `scans` is (body value, axis, reverse). Scan-8 can only concatenate forwards
        along the first axis, so its scan outputs are then reversed and transposed as `scans`
        requires.
        """
        c = self.c
        items = [*self._initial, *(value for value, _, _ in self._scanned)]
        batch = [shape_forms.unsqueeze(c, value, [0]) for value in items]
        made = self._emit(onnx.Scan8(), [None, *batch], [(0, False)] * len(scans))
        values = [shape_forms.squeeze(c, value, [0]) for value in made]
        held = len(self._initial)
        placed = zip(values[held:], scans, strict=True)
        return [*values[:held], *(self._placed(value, *scan[1:]) for value, scan in placed)]

    def _placed(self, value: Value, axis: int, reverse: bool) -> Value:
        """Move axis 0 of `value`, the axis of the iterations, to `axis`.

        If `reverse`, the order of the iterations is reversed first.
        """
        if reverse:
            value = reverse_axis(self.c, value, 0)
        if axis == 0:
            return value
        rank = shape_of(value).rank
        if rank is None:
            raise self.c.refuse("Scan-8 joins along the first axis, and the rank is not known")
        order = list(range(1, rank))
        return shape_forms.transpose(self.c, value, [*order[:axis], 0, *order[axis:]])

    def _emit(
        self,
        op: onnx.Scan | onnx.Scan8,
        given: Sequence[Value | None],
        placed: list[tuple[int, bool]],
    ) -> list[Value]:
        """Emit a Scan node with the inputs `given`, and return its outputs.

        `given` holds the initial states and the scanned inputs; for a Scan-8, the lengths of the
        items come first (None if omitted). The captured values are appended. `placed` holds, for
        each scan output, the axis along which it is joined, and whether it is joined in reverse
        order.
        """
        held, seen = len(self._initial), len(self._scanned)
        # The first input of a Scan-8 holds the lengths of the items.
        first = len(given) - held - seen
        inputs: list[InputPort] = [Carried(first + k, k, k) for k in range(held)]
        inputs += [
            ScanInput(first + held + k, held + k, axis, reverse)
            for k, (_, axis, reverse) in enumerate(self._scanned)
        ]
        inputs += [Invariant(len(given) + k, held + seen + k) for k in range(len(self._captured))]
        outputs: list[OutputPort] = [LastValue(k, k) for k in range(held)]
        outputs += [ScanOutput(held + k, held + k, *place) for k, place in enumerate(placed)]
        c = self.c
        c.require(op)
        node = c.graph.add_node(
            op,
            c.names.fresh(f"{c.prefix}/Scan"),
            (*given, *self._captured),
            len(outputs),
            bodies=(Body("body", self.inner.graph, PortMap(tuple(inputs), tuple(outputs))),),
            location=c.location,
        )
        c.inference.visit(node)
        return list(node.outputs)


def reverse_axis(c: Conversion, value: Value, axis: int) -> Value:
    """Reverse the elements along `axis`.

    Before opset 10, Slice only goes forward, so the elements are gathered if the axis has an
    unknown length.
    """
    shape = shape_of(value)
    if c.opset >= 10 or shape.dims is None or isinstance(shape.dims[axis], int):
        return shape_forms.slice_(c, value, [-1], [BEFORE_THE_START], [axis], [-1])
    length = shape_forms.gather(c, shape_forms.shape(c, value), c.i64(axis), 0)
    last = c(elementwise.Sub(), length, c.i64(1))
    places = c(elementwise.Sub(), last, numbers_below(c, length))
    return shape_forms.gather(c, value, places, axis)


def numbers_below(c: Conversion, count: Value) -> Value:
    """Make 0, 1, ... count - 1 as an i64 list, for opsets without Range; `count` is an i64 scalar.

    Uses NonZero, and before opset 9 the iteration numbers of a Loop.
    """
    if c.opset >= 9:
        length = shape_forms.reshape(c, count, [1])
        ones = shape_forms.constant_of_shape(c, length, 1, ElementType.I64)
        return shape_forms.reshape(c, c(search.NonZero(), ones), [-1])
    loop = OnnxLoopBuilder(c, "numbers")
    truth, inner = ElementType.BOOLEAN, loop.inner
    number = inner(convert.Identity(), loop.iteration)
    starts, goes_on = c.constant(True, truth), inner.constant(True, truth)
    return loop.finish(count, starts, goes_on, [], [number])[0]
