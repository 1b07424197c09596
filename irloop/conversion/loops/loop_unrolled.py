"""Unrolls loops over sequences, because a loop state cannot hold items of different shapes.

Only loops with a known trip count that read or carry a sequence of known length are unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import Converted
from irloop.conversion.framework.virtual_values import Items
from irloop.conversion.loops.loop_parts import convert_body, part_of
from irloop.dialects.wire_ends import Leaving, passed_on
from irloop.dialects.wires import Wires
from irloop.graph.loops import ScanOutput
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.passes.trips import one_element

__all__ = ["trips_over_sequences", "unrolled"]

#: Maximum number of iterations of a loop that is unrolled.
LIMIT = 256


def stays_true(c: Import, source: Wires) -> bool:
    """Return whether the condition of an ONNX Loop is true after every iteration.

    The body returns a constant true, or the condition of the iteration, which was true.
    """
    assert source.goes_on is not None
    known = c.converter.source.constant(source.goes_on)
    return passed_on(source.goes_on) is source.running or (known is not None and bool(known.all()))


def trips_over_sequences(c: Import, source: Wires, values: Mapping[Value, Converted]) -> int | None:
    """Return the trip count of a loop that can be unrolled because it reads a known sequence.

    The items of such a sequence are known during conversion. The result is None if no input is such
    a sequence, or if the trip count is not known in advance, is 0, or exceeds `LIMIT`.
    """
    count, starts = (
        c.constant_of(value) if isinstance(value, Value) else None
        for value in (end and values.get(end) for end in (source.trip, source.starts))
    )
    if not any(isinstance(value, Items) for value in values.values()) or count is None:
        return None
    begins = source.starts is None or (starts is not None and bool(starts.all()))
    trips = int(count.reshape(-1)[0])
    return trips if stays_true(c, source) and begins and 0 < trips <= LIMIT else None


def unrolled(
    c: Import, source: Wires, values: Mapping[Value, Converted], trips: int
) -> list[Converted | None]:
    """Emit the body `trips` times, one copy after the other.

    This also allows a state to change its rank in an iteration, which ONNX permits but OpenVINO's
    Loop does not.
    """
    entering = {wire.parameter: values[wire.outer] for wire in source.inputs}
    bound = dict(entering)
    parts: dict[Leaving, list[Value]] = {
        leaving: [] for leaving in source.outputs if isinstance(leaving.port, ScanOutput)
    }
    results: dict[Value, Converted] = {}
    for number in range(trips):
        for parameter in source.graph.inputs:
            shape = one_element(parameter)
            if parameter is source.iteration:
                bound[parameter] = c.i64(np.full(shape, number))
            elif parameter not in entering:
                # The condition is true in every iteration that runs.
                bound[parameter] = c.constant(np.ones(shape), ElementType.BOOLEAN)
        results = convert_body(c, source, bound)
        for wire in source.states:
            bound[wire.parameter] = results[wire.following]
        for leaving, values_of_each in parts.items():
            value = part_of(c, results[leaving.value])
            values_of_each.append(c.unsqueeze(value, [0]))
    return [
        results[leaving.value]
        if leaving not in parts
        else parts[leaving][0]
        if trips == 1
        else c.concat(parts[leaving], 0)
        for leaving in source.outputs
    ]
