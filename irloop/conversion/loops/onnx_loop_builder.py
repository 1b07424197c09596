"""Assembles ONNX Loops and Scans in the forms of the target opset.

Before opset 11 a Loop has at least one state. Scan-8 has a batch axis in front, scans the first
axis of each item and concatenates forwards only; the builder uses it with a batch of one item.
"""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.conversion.loops.loop_builder import LoopBuilder, Outputs
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx import convert
from irloop.dialects.wire_ends import INVARIANT, Leaving, element_port, stacked_port
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    ScanOutput,
)
from irloop.graph.model import Value
from irloop.graph.types import ElementType, Shape, TensorType

__all__ = ["OnnxLoopBuilder", "OnnxScanBuilder"]

I64_SCALAR = TensorType(ElementType.I64, Shape(()))
BOOL_SCALAR = TensorType(ElementType.BOOLEAN, Shape(()))


class _OnnxBuilder(LoopBuilder[Export]):
    def capture(self, value: Value) -> Value:
        """Return the body parameter that holds an invariant outer value; add it if missing."""
        if value not in self.captured:
            wire = self.enter(value, value.producer.name, INVARIANT, value.type)
            self.captured[value] = wire.parameter
        return self.captured[value]


class OnnxLoopBuilder(_OnnxBuilder):
    """Assembles an ONNX Loop."""

    def __init__(self, c: Export, label: str) -> None:
        super().__init__(c, label)
        self.iteration = self.wires.number(self.inner.names.fresh("iteration"))
        self.wires.running = self.inner.parameter("condition_in", BOOL_SCALAR)

    def stacked(self, value: Value) -> Leaving:
        """Add an output that stacks a body value of all iterations along a new first axis."""
        return self.wires.leave(value, stacked_port())

    def finish(self, limit: Value | None, starts: Value | None, condition: Value) -> Outputs:
        """Make the Loop; return the last values of the states and the scan outputs.

        `limit` is the maximum trip count and `starts` the condition before the first iteration;
        None leaves the input out. `condition` is the condition that the body returns.
        """
        wires = self.wires
        wires.trip, wires.starts, wires.goes_on = limit, starts, condition
        if not wires.states and self.c.opset < onnx.STATELESS:
            unused = self.state(self.c.i64(0), I64_SCALAR, "unused")
            unused.result = self.inner(convert.Identity(), unused.parameter)
        return self.make(onnx.Loop())


class OnnxScanBuilder(_OnnxBuilder):
    """Assembles an ONNX Scan."""

    def __init__(self, c: Export, label: str) -> None:
        super().__init__(c, label)
        #: True for Scan-8, which has a batch axis, scans the first axis and concatenates forwards.
        self._batched = c.opset < onnx.Scan.since

    def scan(self, value: Value, axis: int, reverse: bool, name: str) -> Value:
        """Add a scan input; return the body parameter for one element of `value` along `axis`."""
        if self._batched:
            value, axis = self._axis_first(value, axis), 0
        shape = shape_of(value)
        if shape.dims is not None:
            shape = Shape(shape.dims[:axis] + shape.dims[axis + 1 :])
        type = TensorType(element_of(value), shape)
        return self.enter(value, name, element_port(axis, reverse), type).parameter

    def _axis_first(self, value: Value, axis: int) -> Value:
        rank = shape_of(value).rank
        if rank is None:
            raise self.c.refuse("Scan-8 scans the first axis, and the rank is not known", opset=9)
        return self.c.moved(value, axis, 0, rank)

    def stacked(self, value: Value, axis: int = 0, reverse: bool = False) -> Leaving:
        """Add an output that stacks a body value of all iterations along a new axis."""
        return self.wires.leave(value, stacked_port(axis, reverse))

    def finish(self) -> Outputs:
        """Make the Scan; return the last values of the states and the scan outputs."""
        return self._batch_of_one() if self._batched else self.make(onnx.Scan())

    def _batch_of_one(self) -> Outputs:
        """Emit a Scan-8 over a batch of one item; return its outputs without the batch axis.

        Scan-8 can only concatenate forwards along the first axis, so its scan outputs are then
        reversed and transposed as their ports require.
        """
        c, wires = self.c, self.wires
        for wire in (*wires.states, *wires.slices):
            wire.outer = c.unsqueeze(wire.outer, [0])
        wanted = {leaving: leaving.port for leaving in wires.outputs}
        for leaving in wanted:
            leaving.port = stacked_port()
        made = self.make(onnx.Scan8())
        made = {wire: c.squeeze(value, [0]) for wire, value in made.items()}
        for leaving, port in wanted.items():
            assert isinstance(port, ScanOutput)
            made[leaving] = self._placed(made[leaving], port.axis, port.reverse)
        return made

    def _placed(self, value: Value, axis: int, reverse: bool) -> Value:
        """Move axis 0 of `value`, the axis of the iterations, to `axis`.

        If `reverse`, the order of the iterations is reversed first.
        """
        if reverse:
            value = self.c.reverse(value, 0)
        if axis == 0:
            return value
        rank = shape_of(value).rank
        if rank is None:
            raise self.c.refuse("Scan-8 joins along the first axis, and the rank is not known")
        return self.c.moved(value, 0, axis, rank)
