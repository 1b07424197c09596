"""OVN172: a SliceScatter of known sizes to a computed place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irloop.analysis.operands import axes_of
from irloop.analysis.sources import is_computed_from_inputs
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import Gather
from irloop.dialects.openvino.scatter import ScatterUpdate
from irloop.dialects.openvino.slicing import Slice, SliceScatter
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ComputedSliceScatter"]


class ComputedSliceScatter(
    Fault,
    code="OVN172",
    engine="openvino",
    title="A SliceScatter of known sizes to a computed place",
    effect=Effect.WRONG,
    fix="Gather the positions of the axis by a Slice, and write them with ScatterUpdate.",
    repairs_always=True,
):
    """A SliceScatter of known sizes to a computed place, such as the update of a cache.

    What happens:
        The CPU plugin reads start, stop, step and axes when it compiles the model, before they are
        computed. It writes to other places and reads beyond the updates, or crashes.
    Where:
        A SliceScatter whose data and updates have known shapes, and of whose other inputs one
        depends on an input of the graph. With unknown sizes it is right.
    What irloop does:
        `transform` writes ScatterUpdate, one axis after the other, at positions that a Slice
        selects. If the axes are computed, it does not.
    """

    operations = (SliceScatter,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, SliceScatter):
            return
        data, updates, *bounds = node.inputs
        if data is None or updates is None:
            return
        if not (shape_of(data).is_static and shape_of(updates).is_static):
            return
        known = [value for value in bounds if value is not None]
        if any(is_computed_from_inputs(value.producer) is not False for value in known):
            yield f"the place that {node.name!r} writes to is computed"

    def is_repaired(self, node: Node) -> bool:
        return super().is_repaired(node) and _axes(node) is not None

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace a SliceScatter by a ScatterUpdate for each axis.

        Given::

            y = SliceScatter(x, updates, start, stop, step, [0, 1])

        Result::

            rows = Slice([0, 1, ... , n - 1], start[0], stop[0], step[0], 0)
            columns = Slice([0, 1, ... , m - 1], start[1], stop[1], step[1], 0)
            inner = ScatterUpdate(Gather(x, rows, 0), columns, updates, 1)
            y = ScatterUpdate(x, rows, inner, 0)
        """
        data, updates, *bounds = (value for value in node.inputs if value is not None)
        places: dict[int, Value] = {}
        for position, axis in enumerate(_axes(node) or ()):
            size = shape_of(data).dim(axis)
            assert isinstance(size, int)
            ends = [w.take(value, [position], 0) for value in bounds[:3]]
            places[axis] = w(Slice(), w.constant(list(range(size))), *ends, w.constant([0]))
        w.rewriter.replace_node(node, [_scattered(w, data, updates, list(places.items()))])


def _scattered(
    w: NodeWriter, data: Value, updates: Value, places: Sequence[tuple[int, Value]]
) -> Value:
    """Write `updates` to the places of `data`, which are listed for each axis."""
    (axis, where), *rest = places
    if rest:
        part = w(Gather(), data, where, w.constant(axis))
        updates = _scattered(w, part, updates, rest)
    return w(ScatterUpdate(), data, where, updates, w.constant(axis))


def _axes(node: Node) -> list[int] | None:
    """The axes to which a SliceScatter writes, counted from the front; None if unknown."""
    data, start = node.inputs[0], node.inputs[2]
    assert data is not None
    assert start is not None
    rank = shape_of(data).rank
    if len(node.inputs) <= 5:
        count = shape_of(start).dim(0)
        return list(range(count)) if isinstance(count, int) else None
    axes = axes_of(node)
    return None if axes is None or rank is None else [axis % rank for axis in axes]


@ComputedSliceScatter.case(
    "slice_scatter_to_a_computed_place",
    "IR: rare forms",
    "OpenVINO SliceScatter-15",
    "start: 1D tensor, indices of the slice where the updates are written.",
    run([[0, 0, 0, 0], [7, 8], [1]], [[0, 7, 8, 0]]),
    run([[0, 0, 0, 0], [7, 8], [2]], [[0, 0, 7, 8]]),
)
def smallest() -> Model:
    m = IrModel()
    x, updates = m.input("x", 4), m.input("updates", 2)
    start = m.input("start", 1, element=ElementType.I64)
    one = m.constant([1], ElementType.I64)
    stop = m(Add(), start, m.constant([2], ElementType.I64))
    axes = m.constant([0], ElementType.I64)
    return m.done(m(SliceScatter(), x, updates, start, stop, one, axes))
