"""Converts ONNX Scan to TensorIterator or Loop; `loop_export` converts the other direction."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.forms import openvino_shape_forms as shape_forms
from irloop.conversion.framework.translation import (
    Conversion,
    Converted,
    imports,
    takes_virtual,
)
from irloop.conversion.loops.loop import part_of, without_iterations
from irloop.conversion.loops.loop_parts import given
from irloop.conversion.loops.loop_states import LoopStates, enter
from irloop.conversion.loops.openvino_loop_builder import (
    OpenVinoLoopBuilder,
    Scanned,
    refuse_strings,
)
from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried, ScanInput, ScanOutput
from irloop.graph.model import Body, Value
from irloop.graph.types import ElementType

__all__ = ["import_scan"]


@takes_virtual
@imports(onnx.Scan)
def import_scan(
    c: Conversion, op: onnx.Scan, *inputs: Converted | None
) -> Sequence[Converted | None]:
    """Write Scan as a TensorIterator, or as a Loop where a TensorIterator is not possible.

    A Loop is needed if the number of iterations is unknown and may thus be 0, if a state changes
    its size, if the body uses no slice, or if the Scan is inside a TensorIterator. A Scan that is
    known to run zero times is replaced by its initial states and empty scan outputs.

    States and scanned inputs are tensors; a captured value may be a sequence.
    """
    body = c.node.body()
    length = _length(c, body, inputs)
    if length == 0:
        return without_iterations(c, body, inputs)
    refuse_strings(c)
    as_loop = c.in_tensor_iterator or length is None or _grows(c, body, inputs)
    loop = OpenVinoLoopBuilder(c)
    loop.inner.in_tensor_iterator = not as_loop
    states = LoopStates(loop)
    bound: list[Converted] = []
    for index, node in enumerate(body.graph.parameters):
        port = body.ports.by_parameter[index]
        if isinstance(port, Carried):
            bound.append(states.enter(given(c, inputs, port.external), body, port))
        elif isinstance(port, ScanInput):
            value = _tensor(c, inputs, port.external)
            axis = _axis(c, port.axis, shape_of(value).rank)
            piece = loop.sliced(value, axis, port.reverse, node.name)
            bound.append(shape_forms.squeeze(loop.inner, piece, [axis]))
        else:
            bound.append(enter(loop, given(c, inputs, port.external)))
    scans = _run_body(loop, body, bound, states)
    made_of = [*states.results, *(scan.value for scan in scans)]
    if as_loop or not loop.reads_slices(made_of):
        trip = _scan_length(c, body, inputs)
        truth = ElementType.BOOLEAN
        goes_on = loop.inner.constant(True, truth)
        made = loop.loop(trip, c.constant(True, truth), goes_on, states.results, scans)
    else:
        made = loop.tensor_iterator(states.results, scans)
    count = len(states.results)
    return [*states.after(made[:count], []), *made[count:]]


def _grows(c: Conversion, body: Body, inputs: tuple[Converted | None, ...]) -> bool:
    """True if the size of a state changes, which only a Loop allows.

    The specification of Scan forbids it, but a Loop written as a Scan may have such a state.
    """
    for port in body.ports.carried:
        first = shape_of(_tensor(c, inputs, port.external)).dims or ()
        later = shape_of(body.graph.output(port.result)).dims or first
        if any(isinstance(x, int) and x != y for x, y in zip(first, later, strict=False)):
            return True
    return False


def _axis(c: Conversion, axis: int, rank: int | None) -> int:
    normal = normal_axis(axis, rank)
    if normal < 0:
        raise c.refuse(
            f"scan axis {axis} is negative, and the rank of the tensor is not known",
            "use a non-negative axis, or declare the rank of the tensor",
        )
    return normal


def _scanned(body: Body) -> list[ScanInput]:
    return [port for port in body.ports.inputs if isinstance(port, ScanInput)]


def _tensor(c: Conversion, inputs: tuple[Converted | None, ...], external: int) -> Value:
    value = given(c, inputs, external)
    if not isinstance(value, Value):
        raise c.refuse(f"{value} cannot be scanned")
    return value


def _length(c: Conversion, body: Body, inputs: tuple[Converted | None, ...]) -> int | None:
    for port in _scanned(body):
        value = _tensor(c, inputs, port.external)
        shape = shape_of(value)
        if shape.dims is not None:
            dim = shape.dims[normal_axis(port.axis, len(shape.dims))]
            if isinstance(dim, int):
                return dim
    return None


def _scan_length(c: Conversion, body: Body, inputs: tuple[Converted | None, ...]) -> Value:
    known = _length(c, body, inputs)
    if known is not None:
        return c.i64(known)
    port = _scanned(body)[0]
    value = _tensor(c, inputs, port.external)
    axis = _axis(c, port.axis, shape_of(value).rank)
    return shape_forms.gather(c, shape_forms.shape_of(c, value), c.i64(axis), 0)


def _run_body(
    loop: OpenVinoLoopBuilder, body: Body, bound: Sequence[Converted], states: LoopStates
) -> list[Scanned]:
    inner = loop.inner
    results = inner.convert_any(body.graph, bound)
    states.leave([results[port.result] for port in body.ports.carried])
    scans = []
    for out in body.ports.outputs:
        if isinstance(out, ScanOutput):
            value = part_of(inner, results[out.result])
            rank = shape_of(value).rank
            axis = _axis(inner, out.axis, None if rank is None else rank + 1)
            part = shape_forms.unsqueeze(inner, value, [axis])
            scans.append(Scanned(part, axis, out.reverse))
    return scans
