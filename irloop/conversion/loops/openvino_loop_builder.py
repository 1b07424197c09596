"""Builds Loops and TensorIterators that OpenVINO's CPU plugin computes correctly.

The builder avoids these faults of OpenVINO:

- The plugin executes back edges one after another: a state whose next value is another state is
  copied.
- A Loop that runs zero iterations returns the concatenated outputs of its last run, in another
  inference or another iteration of an outer loop: these outputs are sliced to zero length.
- A last value gets the shape bounds of the body result, which the initial value may violate: a
  state whose size may change gets a size that the plugin does not know.
- The plugin then assumes that the state keeps its initial size: the initial value gets a size of
  its own.
- OpenVINO 2021 cannot read bodies with parameters that nothing reads: these are left out.

The passes at the end of the conversion copy captured values (`body_barriers`), fold loops of
constants (`constant_loops`), protect growing states without an output (`growing_states`), and let
bodies read their states (`unread_states`).
"""

from __future__ import annotations

from dataclasses import replace

from irloop.analysis.shared_memory import needs_barrier, shares_memory_with
from irloop.analysis.states import inputs_of_unknown_size, unknown_axes
from irloop.conversion.forms import openvino_forms as forms
from irloop.conversion.forms import openvino_shape_forms as shape_forms
from irloop.conversion.framework.translation import Conversion
from irloop.conversion.loops.loop_bounds import runs_at_all
from irloop.conversion.loops.state_sizes import (
    CarriedValue,
    changing_axes,
    only_grows,
    unstable_axes,
    with_hidden_sizes,
)
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.search import CumSum
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant
from irloop.graph.record import Record
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType, ValueType
from irloop.passes.forms import copy_of

__all__ = ["OpenVinoLoopBuilder", "Scanned", "copied", "refuse_strings"]

#: Bounds of a slice that goes from the last element to the first.
BACKWARDS = ([-1], [-(2**31 - 1)], [-1])

SCALAR = Shape(())


class Scanned(Record):
    """A body value that is concatenated over all iterations along its axis `axis`."""

    value: Value
    axis: int
    reverse: bool = False


class _Input(Record):
    """An input of the loop: an outer value, and the body parameter that gets it.

    A slice has the sliced `axis`, a state its number `state`; an invariant has neither.
    """

    external: Value
    parameter: Value
    axis: int | None = None
    reverse: bool = False
    state: int | None = None


def refuse_strings(c: Conversion) -> None:
    """Refuse an ONNX loop that carries, slices or joins strings: OpenVINO's CPU runs none of them.

    Raises:
        RefusedError: naming the state, the slice or the scan output.
    """
    body = c.node.body()
    kinds = {Carried: "carries", ScanInput: "slices", ScanOutput: "joins"}
    for port in (*body.ports.inputs, *body.ports.outputs):
        if isinstance(port, ScanOutput):
            value = body.graph.output(port.result)
        elif isinstance(port, Carried | ScanInput):
            value = body.graph.input(port.parameter)
        else:
            continue
        if element_of(value) is ElementType.STRING:
            raise c.refuse(
                f"it {kinds[type(port)]} strings ({value.name!r}), which no loop of OpenVINO's CPU "
                "plugin can",
                "carry their positions in a list of strings instead, and gather after the loop",
            )


class OpenVinoLoopBuilder:
    """Collects the inputs and states of one loop body, then makes a Loop or a TensorIterator."""

    def __init__(self, c: Conversion, label: str = "body") -> None:
        self.c = c
        self.inner = c.nested(label)
        self._inputs: list[_Input] = []
        self._invariants: dict[Value, Value] = {}
        self._states = 0
        self._iteration: Value | None = None
        #: The state that guards the others (see `_guard_next`); None if there is none.
        self._guard: Value | None = None
        #: A one-element boolean vector: true if the Loop ran an iteration; None if it certainly
        #: did.
        self.ran: Value | None = None

    def iteration(self, shape: Shape = SCALAR) -> Value:
        """Return the body parameter that holds the iteration number, as i64; only a Loop has one.

        Its shape is the `shape` of the first call, a scalar or [1].
        """
        if self._iteration is None:
            type = TensorType(ElementType.I64, shape)
            self._iteration = self.inner.parameter("iteration", type)
        return self._iteration

    def state(self, initial: Value, type: ValueType, name: str) -> Value:
        """Add a state; return the body parameter that holds it."""
        value = self.inner.parameter(name, type)
        self._inputs.append(_Input(initial, value, state=self._states))
        self._states += 1
        return value

    def invariant(self, value: Value) -> Value:
        """Return the value in the body that equals the outer `value` in each iteration.

        A constant is copied into the body; for another value, a body parameter is added.
        """
        if value not in self._invariants and isinstance(value.producer.op, Constant):
            constant = self.inner.tensor(value.producer.op.tensor, value.producer.name)
            self._invariants[value] = constant
        if value not in self._invariants:
            parameter = self.inner.parameter(value.producer.name, value.type)
            self._invariants[value] = parameter
            self._inputs.append(_Input(value, parameter))
        return self._invariants[value]

    def sliced(self, value: Value, axis: int, reverse: bool, name: str) -> Value:
        """Add a sliced input and return its body parameter; slices keep the axis with size 1."""
        shape = shape_of(value).with_dim(axis, 1)
        parameter = self.inner.parameter(name, TensorType(element_of(value), shape))
        self._inputs.append(_Input(value, parameter, axis, reverse))
        return parameter

    def loop(
        self,
        trip: Value,
        starts: Value,
        condition: Value,
        states: list[Value],
        scans: list[Scanned],
    ) -> list[Value]:
        """Make a Loop; return the last values of the states, then the concatenated outputs.

        `trip` and `starts` are the trip count and the initial condition of the Loop. `condition`,
        `states` and `scans` are values of the body: the condition, the next value of each state,
        and the values to concatenate.
        """
        self._drop_dead([condition, *states, *(scan.value for scan in scans)])
        scans = self._safe_scans(scans)
        runs = self._runs(trip, starts)
        if not runs:
            scans = [self._open_scan(scan) for scan in scans]
        count = len(states)
        carried = self._carried(states)
        unstable = unstable_axes(self.inner.graph, carried)
        guard = self._guard_next(carried, unstable)
        states = [*self._safe_states(carried, unstable, may_be_empty=not runs), *guard]
        self._inputs = [self._forward(item) for item in self._inputs]
        forward = [replace(scan, reverse=False) for scan in scans]
        node = self._make(ov.Loop(), [trip, starts], [condition], states, forward, runs=runs)
        last, joined = node.outputs[:count], node.outputs[len(states) :]
        if not runs:
            self.ran = runs_at_all(self.c, trip, starts)
            joined = tuple(self._cut(*pair) for pair in zip(joined, scans, strict=True))
        turned = [
            _backwards(self.c, value, scan.axis, scan.reverse)
            for value, scan in zip(joined, scans, strict=True)
        ]
        return [*last, *turned]

    def _carried(self, states: list[Value]) -> list[CarriedValue]:
        """The states of the loop in order, for their next values `states`."""
        own = {item.state: item for item in self._inputs if item.state is not None}
        return [
            CarriedValue(own[at].external, own[at].parameter, value)
            for at, value in enumerate(states)
        ]

    def _guard_next(self, states: list[CarriedValue], unstable: list[set[int]]) -> list[Value]:
        """Add a state that guards the others, if one of them may return to its initial size.

        The plugin keeps addresses of the memory of the states from one run of the loop to the next,
        if all states then have their initial sizes. If a state had another size in between, its
        memory has moved (fault OVN163). After an iteration, the guard has two elements, and
        initially one. `unstable` has the axes along which the sizes of `states` may change. Returns
        the next value of the guard, or an empty list.
        """
        pairs = zip(states, unstable, strict=True)
        if not any(axes and not only_grows(state) for state, axes in pairs):
            return []
        type = TensorType(ElementType.I64, Shape((UNKNOWN_DIM,)))
        self._guard = self.state(self.c.i64([0]), type, self.inner.names.fresh("guard"))
        return [self.inner.i64([0, 0])]

    def _cut(self, value: Value, scan: Scanned) -> Value:
        """Slice a concatenated output to zero length if no iteration ran.

        Without this, OpenVINO 2026.4 returns the values of earlier iterations, in the shape of an
        earlier run. The axis of concatenation and every other dimension that is known only at run
        time are sliced to 0, as in the first inference and in ONNX Runtime. If an iteration ran,
        all elements are kept.
        """
        c = self.c
        assert self.ran is not None
        axes = [scan.axis, *unknown_axes(value, scan.axis)]
        lengths = shape_forms.gather(c, shape_forms.shape_of(c, value), c.i64(axes), 0)
        ends = forms.multiply(c, lengths, forms.convert(c, self.ran, ElementType.I64))
        starts, steps = c.i64([0] * len(axes)), c.i64([1] * len(axes))
        return shape_forms.slice_by(c, value, starts, ends, axes, steps)

    def _forward(self, item: _Input) -> _Input:
        # OpenVINO's own transformations of Loops handle forward slices only.
        if item.axis is None or not item.reverse:
            return item
        turned = _backwards(self.c, item.external, item.axis, True)
        return replace(item, external=turned, reverse=False)

    def tensor_iterator(self, states: list[Value], scans: list[Scanned]) -> list[Value]:
        """Create a TensorIterator; return the last values of the states, then the scan outputs."""
        self._drop_dead([*states, *(scan.value for scan in scans)])
        scans = self._safe_scans(scans)
        carried = self._carried(states)
        states = self._safe_states(carried, [set() for _ in carried], may_be_empty=False)
        return list(self._make(ov.TensorIterator(), [], [], states, scans, runs=True).outputs)

    def reads_slices(self, values: list[Value]) -> bool:
        """True when one of these body values depends on a slice.

        OpenVINO drops a slice without readers, and with it the trip count of a TensorIterator.
        """
        live = _live_values(values)
        return any(item.axis is not None and item.parameter in live for item in self._inputs)

    def _drop_dead(self, values: list[Value]) -> None:
        """Erase the nodes on which no value in `values` depends.

        Otherwise the loop builder would count them as readers of their operands.
        """
        live = _live_values(values)
        rewriter = Rewriter(self.inner.graph)
        for node in reversed(self.inner.graph):
            if not any(value in live for value in node.outputs):
                rewriter.erase(node)

    def _runs(self, trip: Value, starts: Value) -> bool:
        """True when at least one iteration certainly runs."""
        count, start = self.c.constant_of(trip), self.c.constant_of(starts)
        if count is None or start is None:
            return False
        return int(count.reshape(-1)[0]) != 0 and bool(start.reshape(-1)[0])

    def _moving(self) -> set[Value]:
        """Return the body parameters whose memory OpenVINO overwrites before the next iteration.

        These are states, slices and the iteration number, but not invariants.
        """
        moving = {
            item.parameter
            for item in self._inputs
            if item.state is not None or item.axis is not None
        }
        return moving if self._iteration is None else moving | {self._iteration}

    def _safe_scans(self, scans: list[Scanned]) -> list[Scanned]:
        """Prevent concatenated outputs from sharing memory with body parameters.

        Where the value of such an output would share memory, the output gets a copy of the value.
        Returns all outputs of `scans`, in order.
        """
        parameters = set(self.inner.graph.inputs)
        return [
            replace(scan, value=copied(self.inner, scan.value))
            if shares_memory_with(scan.value, parameters)
            else scan
            for scan in scans
        ]

    def _safe_states(
        self, states: list[CarriedValue], unstable: list[set[int]], *, may_be_empty: bool
    ) -> list[Value]:
        """Return the next values of the states in forms that OpenVINO computes correctly.

        The initial values of states with `unstable` axes, whose sizes may change, are replaced.
        """
        moving, parameters = self._moving(), set(self.inner.graph.inputs)
        safe = []
        for number, (state, axes) in enumerate(zip(states, unstable, strict=True)):
            following = state.following
            if may_be_empty:
                following = self._opened(following, changing_axes(state))
            elif self._guard is not None:
                # The guard is kept only if the body reads it.
                following = self._opened(following, axes)
            safe.append(self._safe_state(following, state.parameter, parameters, moving))
            self._open_initial(number, state.initial, axes)
        return safe

    def _open_initial(self, number: int, initial: Value, axes: set[int]) -> None:
        """Hide the unknown sizes of the initial value of state `number` along `axes` from OpenVINO.

        Otherwise OpenVINO assumes that the state always has these sizes. It then takes the state
        for as large as any other value that has one of these sizes (fault OVN162).
        """
        c, dims = self.c, shape_of(initial).dims or ()
        unknown = {at for at in axes if not isinstance(dims[at], int)}
        if not unknown:
            return
        read = {item.external for item in self._inputs}
        sized = (inputs_of_unknown_size(c.graph, read) or [initial])[0]
        free = [at for at, dim in enumerate(shape_of(sized).dims or ()) if not isinstance(dim, int)]
        size = shape_forms.gather(c, shape_forms.shape_of(c, sized), c.i64(free[:1]), 0)
        # OpenVINO merges equal operations. States with one initial value must stay apart.
        apart = forms.add(c, size, c.i64([number]))
        hidden = c(CumSum(), apart, c.constant(0, ElementType.I64))
        opened = with_hidden_sizes(c, initial, unknown, hidden)
        self._inputs = [
            replace(item, external=opened) if item.state == number else item
            for item in self._inputs
        ]

    def _safe_state(
        self, value: Value, own: Value, parameters: set[Value], moving: set[Value]
    ) -> Value:
        # OpenVINO removes an unchanged state from the loop, and then its output loses its name.
        if value is own or needs_barrier(value, own, parameters, moving):
            value = copied(self.inner, value)
        return value

    def _opened(self, value: Value, axes: set[int]) -> Value:
        """Hide the sizes of a body value along `axes` from OpenVINO.

        OpenVINO takes the shape bounds of the loop output from the next value of a state. But a
        loop that runs zero times returns the initial value, and OpenVINO fails if a size of the
        initial value is outside the bounds.
        """
        if not axes:
            return value
        inner = self.inner
        if self._guard is None:
            number = shape_forms.as_list(inner, self.iteration())
        else:
            number = shape_forms.gather(inner, self._guard, inner.i64([0]), 0)
        return with_hidden_sizes(inner, value, axes, number)

    def _open_scan(self, scan: Scanned) -> Scanned:
        """Hide the unknown dimensions of a scanned body value from OpenVINO.

        The axis `scan.axis`, along which the values are concatenated, is left as it is. OpenVINO
        assumes that an unknown dimension is positive, and that it equals another dimension of the
        model. Both are wrong if the Loop runs zero times: the dimension is then 0 in the scan
        output, but the other dimension of the model is not.
        """
        dims = shape_of(scan.value).dims or ()
        axes = {at for at, x in enumerate(dims) if at != scan.axis and not isinstance(x, int)}
        return replace(scan, value=self._opened(scan.value, axes))

    def _make(
        self,
        op: ov.Loop | ov.TensorIterator,
        fixed: list[Value],
        condition: list[Value],
        states: list[Value],
        scans: list[Scanned],
        *,
        runs: bool,
    ) -> Node:
        c, inner = self.c, self.inner
        for value in (*condition, *states, *(scan.value for scan in scans)):
            inner.result(value, inner.names.fresh(f"{value.producer.name}/out"))
        self._drop_unread(runs)
        position = {node.outputs[0]: at for at, node in enumerate(inner.graph.parameters)}
        first_state = len(condition)
        inputs: list[InputPort] = []
        externals = list(fixed)
        for item in self._inputs:
            at = position[item.parameter]
            inputs.append(_port(item, len(externals), at, first_state))
            externals.append(item.external)
        outputs: list[OutputPort] = [
            LastValue(first_state + index, index) for index in range(len(states))
        ]
        for index, scan in enumerate(scans, start=len(states)):
            start, end, stride = (-1, 0, -1) if scan.reverse else (0, -1, 1)
            outputs.append(
                Concatenated(first_state + index, index, scan.axis, start, end, stride, 1)
            )
        iteration = None if self._iteration is None else position[self._iteration]
        ports = PortMap(
            tuple(inputs), tuple(outputs), iteration, condition=0 if condition else None
        )
        node = c.graph.add_node(
            op,
            c.names.fresh(f"{c.prefix}/{op.type}"),
            tuple(externals),
            len(outputs),
            bodies=(Body("body", inner.graph, ports),),
            location=c.location,
        )
        c.inference.visit(node)
        return node

    def _drop_unread(self, runs: bool) -> None:
        """Remove unread parameters, but keep states if the loop may run zero times.

        A loop that runs zero times returns the initial values of its states. If the loop certainly
        runs (`runs`), the initial value of an unread state has no effect. If this value is a slice
        of an outer loop, OpenVINO may drop the slice, and with it the trip count of the outer loop.
        Once the state is removed, irloop notices that nothing reads the slice, and gives the outer
        loop an explicit trip count.
        """
        rewriter = Rewriter(self.inner.graph)
        kept = []
        for item in self._inputs:
            if (runs or item.state is None) and not item.parameter.is_used:
                rewriter.erase_parameter(item.parameter.producer)
            else:
                kept.append(item)
        self._inputs = kept
        if self._iteration is not None and not self._iteration.is_used:
            rewriter.erase_parameter(self._iteration.producer)
            self._iteration = None


def _port(item: _Input, external: int, parameter: int, first_state: int) -> InputPort:
    if item.state is not None:
        return Carried(external, parameter, first_state + item.state)
    if item.axis is None:
        return Invariant(external, parameter)
    start, end, stride = (-1, 0, -1) if item.reverse else (0, -1, 1)
    return Sliced(external, parameter, item.axis, start, end, stride, 1)


def _live_values(values: list[Value]) -> set[Value]:
    """Return `values` and all values of the graph from which they are computed."""
    live: set[Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value not in live:
            live.add(value)
            pending += [item for item in value.producer.inputs if item is not None]
    return live


def _backwards(c: Conversion, value: Value, axis: int, reverse: bool) -> Value:
    if not reverse:
        return value
    starts, ends, steps = BACKWARDS
    return shape_forms.slice_(c, value, starts, ends, [axis], steps)


def copied(inner: Conversion, value: Value) -> Value:
    """Copy `value` to new memory (see the pass body_barriers)."""
    return copy_of(value, inner)
