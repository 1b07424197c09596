"""Converts ONNX Loop to OpenVINO; `loop_export` converts the other direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irloop.conversion.forms import openvino_forms as ov_forms
from irloop.conversion.forms import openvino_shape_forms as ov_shape_forms
from irloop.conversion.framework.translation import (
    Conversion,
    Converted,
    imports,
    takes_virtual,
)
from irloop.conversion.loops.loop_parts import given
from irloop.conversion.loops.loop_states import LoopStates, enter
from irloop.conversion.loops.loop_unrolled import trips_over_sequences, unrolled
from irloop.conversion.loops.openvino_loop_builder import (
    OpenVinoLoopBuilder,
    Scanned,
    refuse_strings,
)
from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried, LastValue, ScanOutput
from irloop.graph.model import Body, Node, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType

__all__ = ["import_loop", "part_of", "without_iterations"]

#: The first constant trip count that means no limit; exporters write the largest i64.
_UNLIMITED = 2**31 - 1


@takes_virtual
@imports(onnx.Loop)
def import_loop(
    c: Conversion, op: onnx.Loop, *inputs: Converted | None
) -> Sequence[Converted | None]:
    """Write Loop-5; an omitted M becomes a trip count of -1, and captured values become inputs.

    The values of a scan output get a new first axis of size 1, along which they are concatenated.

    A Loop is not needed if it is known to run zero times or once, or if it can be unrolled over a
    sequence whose items are known.
    """
    body = c.node.body()
    first_two = (*inputs, None, None)[:2]
    limit, starts = (value if isinstance(value, Value) else None for value in first_two)
    if _never_runs(c, limit, starts):
        return without_iterations(c, body, inputs)
    if starts is None and not _condition_is_trivial(c, body):
        c.warn(
            "CNV102",
            "the condition input is omitted, and the condition of the body may be false: by the "
            "specification this is ignored, but every engine honours it, and so does irloop",
            "connect a constant true, or return a constant true from the body",
        )
    if _runs_once(c, body, limit, starts):
        return _inlined(c, body, inputs)
    trips = trips_over_sequences(c, body, inputs)
    if trips is not None:
        return unrolled(c, body, inputs, trips)
    refuse_strings(c)
    loop = OpenVinoLoopBuilder(c)
    inner = loop.inner
    states = LoopStates(loop)
    bound: list[Converted] = []
    for index, node in enumerate(body.graph.parameters):
        port = body.ports.by_parameter.get(index)
        if index == body.ports.iteration:
            bound.append(loop.iteration(_one_element(node)))
        elif port is None or port.parameter == 1:
            # The condition is true in every iteration that runs.
            truth = [True] if _one_element(node).dims else True
            bound.append(inner.constant(truth, ElementType.BOOLEAN))
        elif isinstance(port, Carried):
            bound.append(states.enter(given(c, inputs, port.external), body, port))
        else:
            bound.append(enter(loop, given(c, inputs, port.external)))
    results = inner.convert_any(body.graph, bound)
    states.leave([results[port.result] for port in body.ports.carried[1:]])
    scans = [
        Scanned(ov_shape_forms.unsqueeze(inner, part_of(c, results[out.result]), [0]), 0)
        for out in body.ports.outputs
        if isinstance(out, ScanOutput)
    ]
    made = loop.loop(
        _trip(c, limit),
        c.constant(True, ElementType.BOOLEAN)
        if starts is None
        else ov_shape_forms.as_one_element(c, starts),
        ov_shape_forms.as_one_element(inner, part_of(c, results[0])),
        states.results,
        [*scans, *states.appended],
    )
    outputs = made
    first = len(states.results)
    return [
        *states.after(outputs[:first], outputs[first + len(scans) :]),
        *outputs[first : first + len(scans)],
    ]


def _one_element(parameter: Node) -> Shape:
    """Return the shape of a one-element parameter: [1] if declared with rank 1, else a scalar.

    The ONNX standard requires a scalar, but engines also accept [1].
    """
    declared = shape_of(parameter.outputs[0])
    return Shape.of(1) if declared.rank == 1 else Shape(())


def part_of(c: Conversion, value: Converted) -> Value:
    """Check that a body result that a loop concatenates is a tensor, and return it.

    Raises:
        RefusedError: when it is not a tensor.
    """
    if not isinstance(value, Value):
        raise c.refuse(f"the body returns {value}, which cannot be concatenated")
    return value


def _never_runs(c: Conversion, limit: Value | None, starts: Value | None) -> bool:
    count = None if limit is None else c.constant_of(limit)
    start = None if starts is None else c.constant_of(starts)
    if count is not None and int(count.reshape(-1)[0]) <= 0:
        return True
    return start is not None and not bool(start.reshape(-1)[0])


def without_iterations(
    c: Conversion, body: Body, inputs: Sequence[Converted | None]
) -> list[Converted | None]:
    """The outputs of a loop that runs zero iterations.

    They are the initial states, and scan outputs of length 0.
    """
    initial = {port.result: inputs[port.external] for port in body.ports.carried}
    outputs: list[Converted | None] = []
    for out, value in zip(body.ports.outputs, c.node.outputs, strict=True):
        if isinstance(out, LastValue):
            outputs.append(initial[out.result])
            continue
        type = value.type
        if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
            raise c.refuse(f"scan output {value.name!r} has no known element type")
        dims = [dim if isinstance(dim, int) else 0 for dim in type.shape.dims or (0,)]
        dims[out.axis if isinstance(out, ScanOutput) else 0] = 0
        outputs.append(c.tensor(ArrayTensor(np.zeros(dims, type.element.numpy()), type.element)))
    return outputs


def _runs_once(c: Conversion, body: Body, limit: Value | None, starts: Value | None) -> bool:
    start = None if starts is None else c.constant_of(starts)
    if starts is not None and (start is None or not bool(start.reshape(-1)[0])):
        return False
    count = None if limit is None else c.constant_of(limit)
    if count is not None and int(count.reshape(-1)[0]) == 1:
        return True
    goes_on = c.converter.source.constant(body.graph.output(0))
    stops = goes_on is not None and not bool(goes_on.reshape(-1)[0])
    return stops and (limit is None or count is not None)


def _inlined(
    c: Conversion, body: Body, inputs: Sequence[Converted | None]
) -> list[Converted | None]:
    """Emit the body of a loop that runs exactly once, without a loop around it.

    This also allows a state to change its rank in the iteration, which ONNX permits but OpenVINO's
    Loop does not.
    """
    bound: list[Converted] = []
    for index, node in enumerate(body.graph.parameters):
        port = body.ports.by_parameter.get(index)
        shape = [1] if _one_element(node).dims else []
        if index == body.ports.iteration:
            bound.append(c.i64(np.zeros(shape)))
        elif port is None or port.parameter == 1:
            bound.append(c.constant(np.ones(shape), ElementType.BOOLEAN))
        else:
            bound.append(given(c, inputs, port.external))
    results = c.convert_any(body.graph, bound)
    return [
        ov_shape_forms.unsqueeze(c, part_of(c, results[out.result]), [0])
        if isinstance(out, ScanOutput)
        else results[out.result]
        for out in body.ports.outputs
    ]


def _condition_is_trivial(c: Conversion, body: Body) -> bool:
    known = c.converter.source.constant(body.graph.output(0))
    return onnx.source_parameter(body, 0) == 1 or (known is not None and bool(known.all()))


def _trip(c: Conversion, limit: Value | None) -> Value:
    """Convert ONNX's M to OpenVINO's trip count: -1 if M is omitted, 0 if M is negative.

    A constant that no loop reaches becomes -1.
    """
    if limit is None:
        return c.i64(-1)
    known = c.constant_of(limit)
    if known is not None:
        count = int(known.reshape(-1)[0])
        return c.i64(-1 if count >= _UNLIMITED else count)
    return ov_forms.maximum(c, ov_shape_forms.as_one_element(c, limit), c.i64(0))
