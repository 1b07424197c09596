"""OVN153: strings that are selected, repeated or replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import gather, reorder, scatter, shape, slicing
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import Gather
from irloop.dialects.openvino.generate import Range
from irloop.dialects.openvino.shape import Reshape, ShapeOf3, Squeeze, Tile
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["StringsMoved"]

#: The inputs of which operations of OpenVINO move elements. Its CPU plugin runs Gather, Concat,
#: Transpose, Reshape, Squeeze and Unsqueeze with strings; these move elements, too.
_DATA: dict[type[Op], tuple[int, ...]] = {
    slicing.Slice: (0,),
    slicing.StridedSlice: (0,),
    slicing.Split: (0,),
    slicing.VariadicSplit: (0,),
    shape.Broadcast: (0,),
    shape.Broadcast3: (0,),
    shape.Tile: (0,),
    gather.GatherElements: (0,),
    gather.GatherND: (0,),
    gather.GatherND8: (0,),
    reorder.ReverseSequence: (0,),
    reorder.Roll: (0,),
    Select: (1, 2),
    scatter.ScatterUpdate: (0, 2),
    scatter.ScatterElementsUpdate: (0, 2),
    scatter.ScatterNDUpdate: (0, 2),
}

#: Operations that move elements; the plugin refuses strings, or they damage its memory.
MOVING = tuple(_DATA)


class StringsMoved(
    Fault,
    code="OVN153",
    engine="openvino",
    title="Strings that are selected, repeated or replaced",
    effect=Effect.REFUSAL,
    fix="Move the numbers of the strings instead, and select the strings with Gather.",
):
    """Strings that are selected, repeated or replaced by an operation other than Gather.

    What happens:
        The plugin refuses most of these operations. Slice, StridedSlice, Split, VariadicSplit and
        Broadcast compile, but copy strings as bytes, after which the process dies.
    Where:
        An operation that only moves elements gets strings, such as Slice, Tile, Select or
        ScatterUpdate. Gather, Concat, Transpose, Reshape, Squeeze and Unsqueeze have no such fault.
    What irloop does:
        Conversion to IR numbers the strings, lets the operation move the numbers, and looks up the
        strings with Gather. `transform` does the same for operations that its passes insert.
    """

    operations = MOVING

    def find(self, node: Node) -> Iterator[str]:
        if moved_strings(node):
            yield f"{node.op.type} {node.name!r} moves strings"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Move the positions of strings instead of the strings, and then gathers the strings.

        Given::

            y = Slice(x [?,2] of strings, ...)

        Result::

            numbers [?,2] = 0, 1, 2, ...  moved = Slice(numbers, ...)  y = Gather(list of x, moved)

        The list of x holds all strings of x on one axis, and the number of a string is its position
        in the list. If two inputs have strings, one list holds the strings of both. Every other
        operation that only moves elements is changed in the same way: Tile, Select, ScatterUpdate
        and so on."""
        inputs, lists = list(node.inputs), list[Value]()
        start = w.constant(0)
        for position in moved_strings(node):
            data = node.inputs[position]
            assert data is not None
            lists.append(w(Reshape(), data, w.constant([-1])))
            stop = _stop(w, start, lists[-1])
            numbers = w(Range(), start, stop, w.constant(1))
            shape = w(ShapeOf3(ElementType.I64), data)
            inputs[position] = w(Reshape(), numbers, shape)
            start = stop
        strings = lists[0] if len(lists) == 1 else w(Concat(0), *lists)
        moved = w.rewriter.insert(
            node.op,
            tuple(inputs),
            before=node,
            name=f"{node.name}/numbers",
            n_outputs=len(node.outputs),
        )
        axis = w.constant(0)
        w.rewriter.replace_node(
            node, [w(Gather(), strings, places, axis) for places in moved.outputs]
        )


def moved_strings(node: Node) -> tuple[int, ...]:
    """Return the positions of the inputs whose strings `node` copies to its output.

    For example, the result is (1, 2) for an OpenVINO Select between strings. The result is empty
    unless `node` is an OpenVINO operation on strings that the CPU plugin cannot run.
    """
    places = _DATA.get(type(node.op), ())
    if not places or element_of(node.outputs[0]) is not ElementType.STRING:
        return ()
    return places


def _stop(w: NodeWriter, start: Value, strings: Value) -> Value:
    """Return `start` plus the number of elements in `strings`.

    The caller numbers the strings start, start + 1, and so on. The result is the number after that
    of the last string.
    """
    size = w(Squeeze(), w(ShapeOf3(ElementType.I64), strings))
    return w(Add(), start, size)


@StringsMoved.case(
    "openvino_tile_of_strings",
    "IR: rare forms",
    "OpenVINO Tile-1",
    "The data are repeated along each axis.",
    run([["a", "b"]], [["a", "b", "a", "b"]]),
)
def smallest() -> Model:
    m = IrModel()
    return m.done(
        m(Tile(), m.input("x", 2, element=ElementType.STRING), m.constant([2], ElementType.I64))
    )
