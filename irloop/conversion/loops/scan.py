"""Converts ONNX Scan to TensorIterator or Loop; `loop_export` converts the other direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import (
    Converted,
    imports,
    takes_virtual,
)
from irloop.conversion.loops.loop import part_of, without_iterations
from irloop.conversion.loops.loop_parts import convert_body, values_of, wires_of
from irloop.conversion.loops.loop_states import LoopStates, enter
from irloop.conversion.loops.openvino_loop_builder import (
    OpenVinoLoopBuilder,
    refuse_strings,
)
from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.dialects.wires import Wires
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried, ScanInput, ScanOutput
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["import_scan"]


@takes_virtual
@imports(onnx.Scan)
def import_scan(c: Import, op: onnx.Scan, *inputs: Converted | None) -> Sequence[Converted | None]:
    """Write Scan as a TensorIterator, or as a Loop where a TensorIterator is not possible.

    A Loop is needed if the number of iterations is unknown and may thus be 0, if a state changes
    its size, if the body uses no slice, or if the Scan is inside a TensorIterator. A Scan that is
    known to run zero times is replaced by its initial states and empty scan outputs.

    States and scanned inputs are tensors; a captured value may be a sequence.
    """
    source, values = wires_of(c), values_of(c, inputs)
    scan = _Scan(c, source, values)
    length = scan.known_length()
    if length == 0:
        return without_iterations(c, source, values)
    refuse_strings(c, source)
    as_loop = c.in_tensor_iterator or length is None or scan.grows()
    loop = OpenVinoLoopBuilder(c)
    loop.inner.in_tensor_iterator = not as_loop
    states = LoopStates(loop, source, values)
    entering = {wire.parameter: wire for wire in source.inputs}
    bound: dict[Value, Converted] = {}
    for parameter in source.graph.inputs:
        wire = entering[parameter]
        if isinstance(wire.port, Carried):
            bound[parameter] = states.enter(values[wire.outer], wire)
        elif isinstance(wire.port, ScanInput):
            value = scan.tensor(wire)
            axis = _axis(c, wire.port.axis, shape_of(value).rank)
            piece = loop.sliced(value, axis, wire.port.reverse, parameter.producer.name)
            bound[parameter] = loop.inner.squeeze(piece, [axis])
        else:
            bound[parameter] = enter(loop, values[wire.outer])
    results = convert_body(loop.inner, source, bound)
    states.leave(results)
    scans = _stack(loop, source, results)
    if as_loop or not loop.reads_slices():
        trip, truth = scan.length(), ElementType.BOOLEAN
        goes_on = loop.inner.constant(True, truth)
        made = loop.loop(trip, c.constant(True, truth), goes_on)
    else:
        made = loop.tensor_iterator()
    return states.outputs(made, scans)


@dataclass(frozen=True)
class _Scan:
    """The Scan that is converted: its wires, and the converted values of its inputs."""

    c: Import
    source: Wires
    values: Mapping[Value, Converted]

    def tensor(self, wire: Entering) -> Value:
        """The converted outer value of a wire, which must be a tensor."""
        value = self.values[wire.outer]
        if not isinstance(value, Value):
            raise self.c.refuse(f"{value} cannot be scanned")
        return value

    def grows(self) -> bool:
        """Return whether the size of a state changes, which only a Loop allows.

        The specification of Scan forbids it, but a Loop written as a Scan may have such a state.
        """
        for wire in self.source.states:
            first = shape_of(self.tensor(wire)).dims or ()
            later = shape_of(wire.following).dims or first
            if any(isinstance(x, int) and x != y for x, y in zip(first, later, strict=False)):
                return True
        return False

    def known_length(self) -> int | None:
        """The number of iterations, if it is known."""
        for wire in self.source.slices:
            shape = shape_of(self.tensor(wire))
            if shape.dims is not None and isinstance(wire.port, ScanInput):
                dim = shape.dims[normal_axis(wire.port.axis, len(shape.dims))]
                if isinstance(dim, int):
                    return dim
        return None

    def length(self) -> Value:
        """The number of iterations as an i64 scalar."""
        known = self.known_length()
        if known is not None:
            return self.c.i64(known)
        wire = self.source.slices[0]
        assert isinstance(wire.port, ScanInput)
        value = self.tensor(wire)
        axis = _axis(self.c, wire.port.axis, shape_of(value).rank)
        shape = self.c.shape_of(value)
        return self.c.gather(shape, self.c.i64(axis), 0)


def _axis(c: Import, axis: int, rank: int | None) -> int:
    normal = normal_axis(axis, rank)
    if normal < 0:
        raise c.refuse(
            f"scan axis {axis} is negative, and the rank of the tensor is not known",
            "use a non-negative axis, or declare the rank of the tensor",
        )
    return normal


def _stack(
    loop: OpenVinoLoopBuilder, source: Wires, results: Mapping[Value, Converted]
) -> dict[Leaving, Leaving]:
    """Add the scan outputs to the new loop; return the new wire for each."""
    inner, made = loop.inner, {}
    for old in source.outputs:
        if isinstance(old.port, ScanOutput):
            value = part_of(inner, results[old.value])
            rank = shape_of(value).rank
            axis = _axis(inner, old.port.axis, None if rank is None else rank + 1)
            part = inner.unsqueeze(value, [axis])
            made[old] = loop.joined(part, axis, old.port.reverse)
    return made
