"""Builds Loops and TensorIterators that OpenVINO's CPU plugin computes correctly.

The builder avoids these faults of OpenVINO:

- The plugin executes back edges one after another: a state whose next value is another state is
  copied.
- A Loop that runs zero iterations returns the concatenated outputs of its last run, in another
  inference or another iteration of an outer loop: these outputs are sliced to zero length.
- A last value gets the shape bounds of the body result, which the initial value may violate: a
  state whose size may change gets a size that the plugin does not know.
- OpenVINO 2021 cannot read bodies with parameters that nothing reads: these are left out.

The passes at the end of the conversion copy captured values (`body_barriers`), fold loops of
constants (`constant_loops`), protect states whose sizes change (`growing_states`, `moved_states`),
and let bodies read their states (`unread_states`).
"""

from __future__ import annotations

import math

import numpy as np

from irloop.analysis.free_sizes import is_free_size
from irloop.analysis.ranges import certainly_runs
from irloop.analysis.shared_memory import needs_barrier, shares_memory_with
from irloop.analysis.states import changing_axes
from irloop.conversion.framework.directions import Import
from irloop.conversion.loops.loop_builder import LoopBuilder, Outputs
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import INVARIANT, Leaving, joined_port, slice_port
from irloop.dialects.wires import Wires
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType
from irloop.passes.loop_bounds import cut_if_idle

__all__ = ["OpenVinoLoopBuilder", "refuse_strings"]

#: Start, end and stride of ports that run over a whole axis.
FORWARDS, BACKWARDS = (0, -1, 1), (-1, 0, -1)

SCALAR = Shape(())

#: The most elements of the constant that a Tile repeats zero times.
LARGEST_FILLED = 1 << 16


def refuse_strings(c: Import, source: Wires) -> None:
    """Refuse an ONNX loop that carries, slices or joins strings: OpenVINO's CPU runs none of them.

    Raises:
        RefusedError: naming the state, the slice or the scan output.
    """
    kinds = {Carried: "carries", ScanInput: "slices", ScanOutput: "joins"}
    entering = ((wire.port, wire.parameter) for wire in source.inputs)
    leaving = ((wire.port, wire.value) for wire in source.outputs)
    for port, value in (*entering, *leaving):
        kind = kinds.get(type(port))
        if kind is not None and element_of(value) is ElementType.STRING:
            raise c.refuse(
                f"it {kind} strings ({value.name!r}), which no loop of OpenVINO's CPU plugin can",
                "carry their positions in a list of strings instead, and gather after the loop",
            )


class OpenVinoLoopBuilder(LoopBuilder[Import]):
    """Collects the wires of one loop, then makes a Loop or a TensorIterator of them."""

    def __init__(self, c: Import, label: str = "body") -> None:
        super().__init__(c, label)
        #: True if the loop certainly runs an iteration.
        self._runs = True

    def iteration(self, shape: Shape = SCALAR) -> Value:
        """Return the body parameter that holds the iteration number, as i64; only a Loop has one.

        Its shape is the `shape` of the first call, a scalar or [1].
        """
        if self.wires.iteration is None:
            type = TensorType(ElementType.I64, shape)
            self.wires.iteration = self.inner.parameter("iteration", type)
        return self.wires.iteration

    def invariant(self, value: Value) -> Value:
        """Return the value in the body that equals the outer `value` in each iteration.

        A constant is copied into the body; for another value, a body parameter is added.
        """
        if value not in self.captured:
            name, op = value.producer.name, value.producer.op
            self.captured[value] = (
                self.inner.tensor(op.tensor, name)
                if isinstance(op, Constant)
                else self.enter(value, name, INVARIANT, value.type).parameter
            )
        return self.captured[value]

    def sliced(self, value: Value, axis: int, reverse: bool, name: str) -> Value:
        """Add a sliced input and return its body parameter; slices keep the axis with size 1."""
        type = TensorType(element_of(value), shape_of(value).with_dim(axis, 1))
        port = slice_port(axis, *(BACKWARDS if reverse else FORWARDS))
        return self.enter(value, name, port, type).parameter

    def joined(self, value: Value, axis: int, reverse: bool = False) -> Leaving:
        """Add an output that concatenates a body value of all iterations along `axis`."""
        return self.wires.leave(value, joined_port(axis, *(BACKWARDS if reverse else FORWARDS)))

    def loop(self, trip: Value, starts: Value, condition: Value) -> Outputs:
        """Make a Loop, and return the last values of the states and the concatenated outputs.

        `trip` and `starts` are the trip count and the initial condition of the Loop. `condition` is
        the condition that the body returns.
        """
        wires = self.wires
        wires.trip, wires.starts, wires.goes_on = trip, starts, condition
        self._drop_dead()
        self._copy_joined()
        self._runs = runs = certainly_runs(trip, starts, self.c.constant_of)
        if not runs:
            self._open_joined()
        self._make_safe(may_be_empty=not runs)
        turned = self._turn_forward()
        made = self.make(ov.Loop())
        if not runs:
            for leaving in wires.outputs:
                if isinstance(leaving.port, Concatenated):
                    axis = leaving.port.axis
                    made[leaving] = cut_if_idle(self.c, made[leaving], axis, trip, starts)
        for leaving, axis in turned.items():
            made[leaving] = _backwards(self.c, made[leaving], axis)
        return made

    def _turn_forward(self) -> dict[Leaving, int]:
        """Reverse what the loop slices backwards; return the axes of backward outputs.

        OpenVINO's own transformations of Loops handle forward slices only. The outputs are to be
        reversed after the loop.
        """
        for wire in self.wires.slices:
            if isinstance(wire.port, Sliced) and wire.port.stride < 0:
                wire.outer = _backwards(self.c, wire.outer, wire.port.axis)
                wire.port = slice_port(wire.port.axis)
        turned = {}
        for leaving in self.wires.outputs:
            if isinstance(leaving.port, Concatenated) and leaving.port.stride < 0:
                turned[leaving] = leaving.port.axis
                leaving.port = joined_port(leaving.port.axis)
        return turned

    def tensor_iterator(self) -> Outputs:
        """Make a TensorIterator; return the last values of the states and the joined outputs."""
        self._drop_dead()
        self._copy_joined()
        self._make_safe(may_be_empty=False)
        return self.make(ov.TensorIterator())

    def _returned(self) -> list[Value]:
        """The values that the body returns."""
        wires = self.wires
        first = [] if wires.goes_on is None else [wires.goes_on]
        states = (state.following for state in wires.states)
        return [*first, *states, *(leaving.value for leaving in wires.outputs)]

    def reads_slices(self) -> bool:
        """Return whether a value that the body returns depends on a slice.

        OpenVINO drops a slice without readers, and with it the trip count of a TensorIterator.
        """
        live = _live_values(self._returned())
        return any(wire.parameter in live for wire in self.wires.slices)

    def _drop_dead(self) -> None:
        """Erase the nodes on which nothing that the body returns depends.

        Otherwise the loop builder would count them as readers of their operands.
        """
        live = _live_values(self._returned())
        rewriter = Rewriter(self.inner.graph)
        for node in reversed(self.inner.graph):
            if not any(value in live for value in node.outputs):
                rewriter.erase(node)

    def _moving(self) -> set[Value]:
        """Return the body parameters whose memory OpenVINO overwrites before the next iteration.

        These are states, slices and the iteration number, but not invariants.
        """
        moving = {wire.parameter for wire in (*self.wires.states, *self.wires.slices)}
        return moving if self.wires.iteration is None else moving | {self.wires.iteration}

    def _copy_joined(self) -> None:
        """Copy the values of concatenated outputs that would share memory with body parameters."""
        parameters = set(self.inner.graph.inputs)
        for leaving in self.wires.outputs:
            if shares_memory_with(leaving.value, parameters):
                leaving.value = self.inner.own_copy(leaving.value)

    def _make_safe(self, *, may_be_empty: bool) -> None:
        """Give the next values of the states forms that OpenVINO computes correctly."""
        moving, parameters = self._moving(), set(self.inner.graph.inputs)
        for state in self.wires.states:
            following = state.following
            if may_be_empty:
                following = self._opened(following, changing_axes(state))
            state.result = self._safe_state(following, state.parameter, parameters, moving)

    def _safe_state(
        self, value: Value, own: Value, parameters: set[Value], moving: set[Value]
    ) -> Value:
        # OpenVINO removes an unchanged state from the loop, and then its output loses its name.
        if value is own or needs_barrier(value, own, parameters, moving):
            value = self.inner.own_copy(value)
        return value

    def _opened(self, value: Value, axes: set[int]) -> Value:
        """Hide the sizes of a body value along `axes` from OpenVINO.

        OpenVINO takes the shape bounds of the loop output from the next value of a state. But a
        loop that runs zero times returns the initial value, and OpenVINO fails if a size of the
        initial value is outside the bounds.

        irloop's own inference still knows the type of the result, except for sizes of 0: a pass
        would replace a value that is known to be empty by a constant. Such a value is written as a
        Tile of one element, repeated zero times. If it would have more than `LARGEST_FILLED`
        elements, or has other unknown sizes, `value` itself is returned.
        """
        shape = shape_of(value)
        dims = shape.dims or ()
        empty = {at for at in axes if dims[at] == 0}
        for at in empty:
            shape = shape.with_dim(at, UNKNOWN_DIM)
        filled = [max(dim, 1) for dim in dims if isinstance(dim, int)]
        too_large = len(filled) < len(dims) or math.prod(filled) > LARGEST_FILLED
        if not axes or (empty and too_large):
            return value
        inner, element = self.inner, element_of(value)
        number = inner.as_list(self.iteration())
        tiled = inner.constant(np.zeros(filled), element) if empty else value
        opened = inner.with_hidden_sizes(tiled, axes, number, empty)
        inner.inference.hint(opened, TensorType(element, shape))
        inner.inference.visit(opened.producer)
        return opened

    def _open_joined(self) -> None:
        """Hide the unknown dimensions of concatenated body values from OpenVINO.

        The axis along which the values are concatenated is left as it is. OpenVINO may know that
        another dimension is positive, but it is 0 in the output if the Loop runs zero times. The
        sizes of model inputs are not known to be positive.
        """
        outer = {wire.parameter: wire.outer for wire in self.wires.inputs}
        for leaving in self.wires.outputs:
            assert isinstance(leaving.port, Concatenated)
            dims = enumerate(shape_of(leaving.value).dims or ())
            axis = leaving.port.axis
            value = leaving.value
            axes = {
                at
                for at, dim in dims
                if not (at == axis or isinstance(dim, int))
                and (self.c.is_nested or not is_free_size(value, at, outer))
            }
            leaving.value = self._opened(leaving.value, axes)

    def drop_unread(self) -> None:
        """Remove unread parameters, but keep states if the loop may run zero times.

        A loop that runs zero times returns the initial values of its states. If the loop certainly
        runs, the initial value of an unread state has no effect. If this value is a slice
        of an outer loop, OpenVINO may drop the slice, and with it the trip count of the outer loop.
        Once the state is removed, irloop notices that nothing reads the slice, and gives the outer
        loop an explicit trip count.
        """
        wires, rewriter = self.wires, Rewriter(self.inner.graph)
        returned = set(self._returned())
        stay = () if self._runs else wires.states
        for wire in list(wires.inputs):
            read = wire.parameter.is_used or wire.parameter in returned
            if not read and wire not in stay:
                wires.inputs.remove(wire)
                rewriter.erase_parameter(wire.parameter.producer)
        number = wires.iteration
        if number is not None and not number.is_used and number not in returned:
            rewriter.erase_parameter(number.producer)
            wires.iteration = None


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


def _backwards(c: Import, value: Value, axis: int) -> Value:
    """Reverse the elements of `value` along `axis`."""
    return c.slice(value, [-1], [-(2**31 - 1)], [axis], [-1])
