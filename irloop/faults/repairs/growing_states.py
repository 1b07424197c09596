"""Avoids faults OVN114, OVN162, OVN164 and OVN168: OpenVINO assumes that a state keeps its size.

A state grows if the body returns a larger tensor than it received. OpenVINO misses this if nothing
reads the last value of the state, if another value has the initial size of the state, and where the
state decides how often an inner Loop runs, or what a NonZero finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irloop.analysis.patterns import same_shape_source
from irloop.analysis.range_rules import MOVES
from irloop.analysis.sources import MOST, sources
from irloop.analysis.states import (
    hiding_tile,
    inputs_of_unknown_size,
    reaches_a_loop,
    size_reaches_a_nonzero,
    unstable_axes,
)
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.reduction import ReduceProd
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.openvino.shape import Broadcast, Broadcast3, Reshape, ShapeOf, ShapeOf3
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.faults.repair import Repair
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op, Parameter
from irloop.graph.types import ElementType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter

__all__ = ["OpenGrowingStates"]

#: Operations whose results are elements of their first operand, perhaps of another type.
MOVING: tuple[type[Op], ...] = (Convert, *MOVES)


class OpenGrowingStates(Repair, LoopPass):
    """Gives the initial value of a growing state a size that OpenVINO does not know.

    Given::

        Loop(trip, true, h [2], x):   s: h, s' = Concat(s, 1)    y' = y + ReduceSum(s)   -> last y

    Result::

        n = CumSum(trip)    g = Tile(h, 1 + (n - n))
        Loop(trip, true, g [?], x):   s: g, s' = Concat(s, 1)    y' = y + ReduceSum(s)   -> last y

    Fault OVN114 is the reason: OpenVINO assumes that the state keeps the size of its initial value
    in all iterations. If it knows only an upper bound of that size, it assumes the bound. States
    with outputs are changed, too, if an inner Loop may depend on them (fault OVN164), or a NonZero
    on their size (OVN168), or if their initial size is not known (OVN162: OpenVINO takes the state
    for as large as any other value of this size). A Loop is left unchanged if its inputs and the
    inputs of the enclosing graph are all constant.
    """

    name = "open_growing_states"
    # It depends on which last values are read, so it follows the passes that change their readers.
    after = ("runnable_ports",)
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        growing = [(state, axes) for state, axes in _hidden_axes(wires) if axes]
        w = OpenVinoNodeWriter(rewriter, node, node.name)
        number = self._unknown(wires, w) if growing else None
        if number is None:
            return
        for index, (state, axes) in enumerate(growing):
            # OpenVINO merges equal operations, so two states with one initial value would get one
            # size.
            own = w(Add(), number, w.constant([index])) if index else number
            # OpenVINO derives bounds of values from bounded sizes, but not through a CumSum.
            hidden_number = w(CumSum(), own, w.constant(0))
            state.outer = w.with_hidden_sizes(state.outer, axes, hidden_number)
        wires.replace(node.op, rewriter)

    def _unknown(self, wires: LoopWires, w: OpenVinoNodeWriter) -> Value | None:
        """Emit an i64 vector of one number that OpenVINO learns only when the model runs.

        The value of the number does not matter. It is computed from an input of the loop or of the
        graph around it. Returns None if there is no suitable input.
        """
        graph = wires.node.graph
        assert graph is not None
        outer = [item.outer for item in wires.inputs]
        sized = inputs_of_unknown_size(graph)
        for value in (*sized, wires.trip, wires.starts, *outer, *graph.inputs):
            if value is not None and self.session.inference.constant(value) is None:
                number = _number_of(value, w)
                if number is not None:
                    return number
        return None


def _hidden_axes(wires: LoopWires) -> Iterator[tuple[Entering, set[int]]]:
    """Yield each state of a loop with the axes along which OpenVINO must not know its size."""
    shown = wires.shown_by_each()
    for state, unstable in zip(shown, unstable_axes(wires.graph, [*shown]), strict=True):
        dims = shape_of(state.outer).dims or ()
        is_open = hiding_tile(state.outer) is not None
        axes = {at for at in unstable if not isinstance(dims[at], int) and not is_open}
        if _keeps_its_size(state, shown[state]):
            axes.update(_growing_axes(state))
        yield state, axes


def _keeps_its_size(state: Entering, shown: Sequence[Leaving]) -> bool:
    """Return whether OpenVINO may use the initial size of a state that grows; `shown` are its
    outputs.
    """
    # OpenVINO removes outputs that nothing reads.
    is_hidden = not any(leaving.output.is_used for leaving in shown)
    return is_hidden or reaches_a_loop(state.parameter) or size_reaches_a_nonzero(state.parameter)


def _growing_axes(state: Entering) -> list[int]:
    """Return the axes along which the size of a state may change between iterations.

    These include axes with an unknown initial size for which OpenVINO would infer an upper bound,
    because it would keep that bound in all iterations.
    """
    given = shape_of(state.outer).dims or ()
    held, made = shape_of(state.parameter), shape_of(state.result or state.parameter)
    later = (held.dims or given, made.dims or given)
    # The initial value may have an unknown size for which OpenVINO infers an upper bound: the trip
    # count, for example, bounds a Slice of a concatenated output. OpenVINO would keep that bound in
    # all iterations.
    keeps_size = state.result is None or same_shape_source(state.result) is state.parameter
    initial = same_shape_source(state.outer)
    is_hidden = hiding_tile(state.outer) is not None
    bounded = not (keeps_size or is_hidden or _is_model_input(initial) or _is_open(initial))
    return [
        axis
        for axis, size in enumerate(given)
        if (bounded and not isinstance(size, int))
        or (
            isinstance(size, int) and any(len(dims) > axis and dims[axis] != size for dims in later)
        )
    ]


def _is_model_input(value: Value) -> bool:
    """Return whether `value` is an input of the model, as opposed to a parameter of a body.

    OpenVINO assumes no upper bound for the unknown sizes of such an input.
    """
    return isinstance(value.producer.op, Parameter) and value.producer.owner is None


def _is_open(value: Value) -> bool:
    """Return whether OpenVINO knows no upper bound of the unknown sizes of `value`.

    This is so for an element that is repeated to a shape of constants and of sizes of model inputs,
    as exporters write the first states of a loop.
    """
    node = value.producer
    if not isinstance(node.op, Broadcast | Broadcast3):
        return False
    element, shape = node.inputs[:2]
    one = element is not None and shape_of(element).count() == 1
    return one and shape is not None and _is_made_of_input_sizes(shape)


def _is_made_of_input_sizes(shape: Value) -> bool:
    """Return whether a shape consists of constants and of sizes of inputs of the model."""
    nodes = list(sources([shape.producer], _taken))
    return len(nodes) <= MOST and all(map(_is_size_or_constant, nodes))


def _taken(node: Node) -> Sequence[Value | None]:
    """The operands whose elements are elements of the result."""
    if isinstance(node.op, Concat):
        return node.inputs
    return node.inputs[:1] if isinstance(node.op, MOVING) else ()


def _is_size_or_constant(node: Node) -> bool:
    first = node.inputs[0] if node.inputs else None
    if isinstance(node.op, MOVING):
        # A chosen element of a constant is at most the largest one.
        return first is not None and not isinstance(first.producer.op, Constant)
    if isinstance(node.op, ShapeOf | ShapeOf3):
        return first is not None and _is_model_input(first)
    return isinstance(node.op, Constant | Concat)


def _number_of(value: Value, w: OpenVinoNodeWriter) -> Value | None:
    """Emit an i64 list of one number, which is not known to OpenVINO before the model runs.

    The number is the element count of `value` if that is unknown, otherwise the first element,
    converted to i64. Returns None if `value` is a constant or has an unknown rank, or if that first
    element does not exist or cannot be converted.
    """
    shape, element = shape_of(value), element_of(value)
    if isinstance(value.producer.op, Constant) or shape.rank is None:
        return None
    zero = w.constant([0])
    if shape.count() is None:
        sizes = w(ShapeOf3(ElementType.I64), value)
        return w(ReduceProd(keep_dims=True), sizes, zero)
    if shape.count() == 0 or element in (ElementType.STRING, ElementType.DYNAMIC):
        return None
    flat = w(Reshape(special_zero=False), value, w.constant([-1]))
    one = w.constant([1])
    first = w(Slice(), flat, zero, one, one, zero)
    return w(Convert(ElementType.I64), first)
