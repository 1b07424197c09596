"""Cuts what an OpenVINO Loop joined if the Loop did not run."""

from __future__ import annotations

from functools import reduce

from irloop.analysis.states import unknown_axes
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.openvino_writer import OpenVinoWriter
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["cut_if_idle"]


def cut_if_idle(c: OpenVinoWriter, value: Value, axis: int, trip: Value, starts: Value) -> Value:
    """Slice a concatenated output of a Loop to zero length if no iteration ran.

    Without this, OpenVINO 2026.4 returns the values of earlier iterations, in the shape of an
    earlier run. The axis of concatenation and every other dimension that is known only at run time
    are sliced to 0, as in the first inference and in ONNX Runtime. If an iteration ran, all
    elements are kept. `trip` is the trip count and `starts` the initial condition of the Loop; a
    trip count that is not constant is never negative.
    """
    axes = [axis, *unknown_axes(value, axis)]
    begun = c.constant_of(starts)
    is_counted = c.constant_of(trip) is None
    factors = []
    if begun is None or not begun.reshape(-1)[0]:
        factors.append(c.convert_always(starts, ElementType.I64))
    if is_counted:
        # No more elements than iterations are joined, but other axes may be longer.
        factors.append(trip if len(axes) == 1 else c.minimum(trip, c.i64(1)))
    if not is_counted or len(axes) > 1:
        factors.append(c.i64([TO_THE_END] * len(axes)))
    ends = c.as_list(reduce(c.multiply, factors))
    starts, steps = c.i64([0] * len(axes)), c.i64([1] * len(axes))
    return c.slice_by(value, starts, ends, axes, steps)
