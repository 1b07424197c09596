"""Widens the shape bounds of last values of an OpenVINO Loop that may run zero times.

OpenVINO takes the shape of a last value from the result of the body. If a state grows, that
result has at least one element, and OpenVINO 2026.4 compiles the readers of the last value for one
element or more: it throws if the Loop does not run and the state stays empty.
"""

from __future__ import annotations

from irloop.conversion.framework.directions import Import
from irloop.dialects.openvino.comparison import LogicalAnd
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value

__all__ = ["runs_at_all", "with_bounds_of"]


def runs_at_all(c: Import, trip: Value, starts: Value) -> Value:
    """Emit a boolean vector of one element that is true if a Loop runs at least once.

    `trip` is the trip count and `starts` the initial condition. A constant trip count is taken to
    be different from 0, so that `starts` alone decides.
    """
    runs = c.reshape(starts, [1])
    if c.constant_of(trip) is not None:
        return runs
    count = c.reshape(trip, [1])
    none = c.equal(count, c.constant(0, element_of(trip)))
    return c(LogicalAnd(), runs, c.logical_not(none))


def with_bounds_of(c: Import, last: Value, initial: Value, runs: Value) -> Value:
    """Slice the last value of a Loop so that its shape bounds include the initial size.

    Otherwise the bounds that OpenVINO infers ignore that a Loop may run no iteration: for `initial`
    of shape [0, 2], it infers [1.., 2] instead of [0.., 2]. At run time the Slice cuts
    nothing if `runs` is true; else it takes the size of `initial`. If the shape of `last` is static
    or its rank differs from that of `initial`, `last` is returned unchanged.
    """
    rank = shape_of(last).rank
    if rank is None or shape_of(last).is_static or shape_of(initial).rank != rank:
        return last
    # Use a Slice, because OpenVINO removes a Reshape from rank 1 to rank 1.
    own, before = c.shape_of(last), c.shape_of(initial)
    ends, axes = c.select(runs, own, before), list(range(rank))
    made = c.slice_by(last, c.i64([0] * rank), ends, axes, c.i64([1] * rank))
    c.inference.hint(made, last.type)
    c.inference.visit(made.producer)
    return made
