"""Unrolls loops over sequences, because a loop state cannot hold items of different shapes.

Only loops with a known trip count that read or carry a sequence of known length are unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irloop.conversion.forms import openvino_shape_forms as shape_forms
from irloop.conversion.framework.translation import Conversion, Converted
from irloop.conversion.framework.virtual_values import Items
from irloop.dialects.onnx.control_flow import source_parameter
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried, ScanOutput
from irloop.graph.model import Body, Value
from irloop.graph.types import ElementType

__all__ = ["trips_over_sequences", "unrolled"]

#: Maximum number of iterations of a loop that is unrolled.
LIMIT = 256


def trips_over_sequences(
    c: Conversion, body: Body, inputs: Sequence[Converted | None]
) -> int | None:
    """Return the trip count of a loop that can be unrolled because it reads a known sequence.

    The items of such a sequence are known during conversion. The result is None if no input is such
    a sequence, or if the trip count is not known in advance, is 0, or exceeds `LIMIT`.
    """
    first_two = (*inputs, None, None)[:2]
    count, starts = (c.constant_of(x) if isinstance(x, Value) else None for x in first_two)
    if not any(isinstance(value, Items) for value in inputs) or count is None:
        return None
    goes_on = c.converter.source.constant(body.graph.output(0))
    stays = source_parameter(body, 0) == 1 or (goes_on is not None and bool(goes_on.all()))
    begins = len(inputs) < 2 or inputs[1] is None or (starts is not None and bool(starts.all()))
    trips = int(count.reshape(-1)[0])
    return trips if stays and begins and 0 < trips <= LIMIT else None


def unrolled(
    c: Conversion, body: Body, inputs: Sequence[Converted | None], trips: int
) -> list[Converted | None]:
    """Emit the body `trips` times, one copy after the other."""
    states = {port.result: inputs[port.external] for port in body.ports.carried}
    scans: dict[int, list[Value]] = {
        out.result: [] for out in body.ports.outputs if isinstance(out, ScanOutput)
    }
    for number in range(trips):
        results = c.convert_any(body.graph, _bound(c, body, inputs, states, number))
        states = {result: results[result] for result in states}
        for result, parts in scans.items():
            value = results[result]
            if not isinstance(value, Value):
                raise c.refuse(f"the body returns {value}, which cannot be concatenated")
            parts.append(shape_forms.unsqueeze(c, value, [0]))
    return [
        shape_forms.concat(c, scans[out.result], 0)
        if isinstance(out, ScanOutput)
        else states[out.result]
        for out in body.ports.outputs
    ]


def _bound(
    c: Conversion,
    body: Body,
    inputs: Sequence[Converted | None],
    states: dict[int, Converted | None],
    number: int,
) -> list[Converted]:
    """Return the values to bind to the parameters of the body in iteration `number`.

    `states` holds the current value of each loop state, keyed by the index of the body result that
    computes its next value. `inputs` are the inputs of the loop, which give all other values. The
    condition parameter is bound to true, because only iterations that run are emitted.

    Raises:
        RefusedError: when an input is not connected.
    """
    bound: list[Converted] = []
    for index, node in enumerate(body.graph.parameters):
        port = body.ports.by_parameter.get(index)
        shape = [1] if shape_of(node.outputs[0]).rank == 1 else []
        if index == body.ports.iteration:
            bound.append(c.i64(np.full(shape, number)))
            continue
        if port is None or port.parameter == 1:
            # The condition is true in every iteration that runs.
            bound.append(c.constant(np.ones(shape), ElementType.BOOLEAN))
            continue
        value = states[port.result] if isinstance(port, Carried) else inputs[port.external]
        if value is None:
            raise c.refuse(f"input {port.external} is not connected")
        bound.append(value)
    return bound
