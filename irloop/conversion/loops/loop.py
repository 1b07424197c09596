"""Converts ONNX Loop to OpenVINO; `loop_export` converts the other direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from irloop.analysis.ranges import is_never_negative
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import (
    Converted,
    imports,
    takes_virtual,
)
from irloop.conversion.loops.loop_parts import convert_body, part_of, values_of, wires_of
from irloop.conversion.loops.loop_states import LoopStates, enter
from irloop.conversion.loops.loop_unrolled import stays_true, trips_over_sequences, unrolled
from irloop.conversion.loops.openvino_loop_builder import (
    OpenVinoLoopBuilder,
    refuse_strings,
)
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.wires import Wires
from irloop.graph.loops import Carried, ScanOutput
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.trips import one_element

__all__ = ["import_loop", "part_of", "without_iterations"]

#: The first constant trip count that means no limit; exporters write the largest i64.
_UNLIMITED = 2**31 - 1


@takes_virtual
@imports(onnx.Loop)
def import_loop(c: Import, op: onnx.Loop, *inputs: Converted | None) -> Sequence[Converted | None]:
    """Write Loop-5; an omitted M becomes a trip count of -1, and captured values become inputs.

    The values of a scan output get a new first axis of size 1, along which they are concatenated.

    A Loop is not needed if it is known to run zero times or once, or if it can be unrolled over a
    sequence whose items are known.
    """
    source, values = wires_of(c), values_of(c, inputs)
    limit, starts = (
        value if isinstance(value, Value) else None
        for value in (end and values.get(end) for end in (source.trip, source.starts))
    )
    if _never_runs(c, limit, starts):
        return without_iterations(c, source, values)
    if starts is None and not stays_true(c, source):
        c.warn(
            "CNV102",
            "the condition input is omitted, and the condition of the body may be false: by the "
            "specification this is ignored, but every engine honours it, and so does irloop",
            "connect a constant true, or return a constant true from the body",
        )
    if _runs_once(c, source, limit, starts):
        return unrolled(c, source, values, 1)
    trips = trips_over_sequences(c, source, values)
    if trips is not None:
        return unrolled(c, source, values, trips)
    refuse_strings(c, source)
    loop = OpenVinoLoopBuilder(c)
    inner = loop.inner
    states = LoopStates(loop, source, values)
    entering = {wire.parameter: wire for wire in source.inputs}
    bound: dict[Value, Converted] = {}
    for parameter in source.graph.inputs:
        wire = entering.get(parameter)
        if parameter is source.iteration:
            bound[parameter] = loop.iteration(Shape(one_element(parameter)))
        elif wire is None:
            # The condition is true in every iteration that runs.
            truth = np.ones(one_element(parameter))
            bound[parameter] = inner.constant(truth, ElementType.BOOLEAN)
        elif isinstance(wire.port, Carried):
            bound[parameter] = states.enter(values[wire.outer], wire)
        else:
            bound[parameter] = enter(loop, values[wire.outer])
    results = convert_body(inner, source, bound)
    states.leave(results)
    scans = {
        old: loop.joined(inner.unsqueeze(part_of(c, results[old.value]), [0]), 0)
        for old in source.outputs
        if isinstance(old.port, ScanOutput)
    }
    assert source.goes_on is not None
    made = loop.loop(
        _trip(c, limit),
        c.constant(True, ElementType.BOOLEAN) if starts is None else c.as_one_element(starts),
        inner.as_one_element(part_of(c, results[source.goes_on])),
    )
    return states.outputs(made, scans)


def _never_runs(c: Import, limit: Value | None, starts: Value | None) -> bool:
    count = None if limit is None else c.constant_of(limit)
    start = None if starts is None else c.constant_of(starts)
    if count is not None and int(count.reshape(-1)[0]) <= 0:
        return True
    return start is not None and not bool(start.reshape(-1)[0])


def without_iterations(
    c: Import, source: Wires, values: Mapping[Value, Converted]
) -> list[Converted | None]:
    """The outputs of a loop that runs zero iterations.

    They are the initial states, and scan outputs of length 0.
    """
    outputs: list[Converted | None] = []
    for leaving in source.outputs:
        if leaving.state is not None:
            outputs.append(values[leaving.state.outer])
            continue
        type = leaving.output.type
        if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
            raise c.refuse(f"scan output {leaving.output.name!r} has no known element type")
        dims = [dim if isinstance(dim, int) else 0 for dim in type.shape.dims or (0,)]
        dims[leaving.port.axis if isinstance(leaving.port, ScanOutput) else 0] = 0
        outputs.append(c.tensor(ArrayTensor(np.zeros(dims, type.element.numpy()), type.element)))
    return outputs


def _runs_once(c: Import, source: Wires, limit: Value | None, starts: Value | None) -> bool:
    start = None if starts is None else c.constant_of(starts)
    if starts is not None and (start is None or not bool(start.reshape(-1)[0])):
        return False
    count = None if limit is None else c.constant_of(limit)
    if count is not None and int(count.reshape(-1)[0]) == 1:
        return True
    assert source.goes_on is not None
    goes_on = c.converter.source.constant(source.goes_on)
    stops = goes_on is not None and not bool(goes_on.reshape(-1)[0])
    return stops and (limit is None or count is not None)


def _trip(c: Import, limit: Value | None) -> Value:
    """Convert ONNX's M to OpenVINO's trip count: -1 if M is omitted, 0 if M is negative.

    A constant that no loop reaches becomes -1.
    """
    if limit is None:
        return c.i64(-1)
    known = c.constant_of(limit)
    if known is not None:
        count = int(known.reshape(-1)[0])
        return c.i64(-1 if count >= _UNLIMITED else count)
    trip = c.as_one_element(limit)
    return trip if is_never_negative(trip) else c.maximum(trip, c.i64(0))
