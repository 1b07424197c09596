"""Converts TensorIterators over a recurrent cell to sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import recurrent
from irloop.dialects.openvino.shape import RESHAPING, Broadcast3
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Concatenated, LastValue, Sliced
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.stored import changed, is_stored
from irloop.passes.writers import writer_at

__all__ = ["Recurrence", "TensorIteratorToSequence"]

CELLS = (recurrent.LSTMCell, recurrent.LSTMCell1, recurrent.GRUCell, recurrent.RNNCell)


class TensorIteratorToSequence(LoopPass):
    """Converts a TensorIterator that contains only one recurrent cell to a sequence.

    Given::

        TensorIterator(x [T,B,I], h [B,S]):
          p: x[axis 0, backwards]   s: h, s' = GRUCell(Squeeze(p), s, W, R, B)
          -> last s, joined Unsqueeze(s'), axis 0, backwards

    Result::

        y, h1 = GRUSequence(Transpose(x), Unsqueeze(h), T for each item, W, R, B; reverse)
        last s = Squeeze(h1)    joined = Transpose(Squeeze(y))

    In the drawing, p is the slice of x in each iteration. The state s begins with h, and s' is its
    value for the next iteration. The loop returns the last value of s, and all values of s', joined
    along axis 0. T is the number of iterations; GRUSequence receives it as the length of each of
    the B batch items.

    The sequence has the direction in which the loop takes the slices. A TensorIterator is not
    converted if a range does not cover the whole axis, if results are concatenated in the other
    direction, if weights change, or if its body contains anything else.
    """

    name = "tensor_iterator_to_sequence"
    dialects = frozenset({"openvino"})
    loops = (ov.TensorIterator,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        recurrence = Recurrence.of(wires)
        if recurrence is not None:
            recurrence.replace(writer_at(self.model, rewriter, node, node.name))


@dataclass(slots=True)
class Recurrence:
    """A loop over one cell: the cell, with its scanned input, states, weights and direction."""

    wires: LoopWires
    cell: Node
    scanned: Entering
    states: list[Entering]
    weights: list[Value]
    reverse: bool

    @classmethod
    def of(cls, wires: LoopWires) -> Recurrence | None:
        """Find the recurrence in the body of a loop.

        Returns None if the body contains anything but one cell, reshapes and constants, or if a
        sequence cannot express the inputs and outputs of the loop.
        """
        cells = [node for node in wires.graph.nodes if isinstance(node.op, CELLS)]
        others = {
            type(node.op)
            for node in wires.graph.nodes
            if not isinstance(node.op, RESHAPING) and not all(map(is_stored, node.outputs))
        }
        if len(cells) != 1 or len(others) != 1 or len(wires.slices) != 1:
            return None
        (cell,), (scanned,) = cells, wires.slices
        count = len(cell.outputs)
        entries = {item.parameter: item for item in wires.inputs}
        states = [entries.get(value) for value in cell.inputs[1 : 1 + count] if value is not None]
        held = [item for item in states if item is not None and item.result is not None]
        if len(held) != count or len(wires.states) != count:
            return None
        if any(element_of(item.outer) is not element_of(item.parameter) for item in wires.inputs):
            # A TensorIterator converts its inputs; a sequence needs one type.
            return None
        if any(item.result is not value for item, value in zip(held, cell.outputs, strict=True)):
            return None
        weights = _weights(cell.inputs[1 + count : 4 + count], entries)
        if weights is None or not _is_step(cell.inputs[0], scanned):
            return None
        assert isinstance(scanned.port, Sliced)
        found = cls(wires, cell, scanned, held, weights, scanned.port.stride < 0)
        return found if all(map(found._can_say, wires.outputs)) else None

    @property
    def axis(self) -> int:
        """The axis of the steps in the scanned input."""
        assert isinstance(self.scanned.port, Sliced)
        return self.scanned.port.axis

    def _can_say(self, leaving: Leaving) -> bool:
        if isinstance(leaving.port, LastValue):
            return leaving.value in self.cell.outputs
        port, dims = leaving.port, shape_of(leaving.value).dims
        if not isinstance(port, Concatenated) or dims is None or port.axis not in (0, 1):
            return False
        made = leaving.value.producer
        first = made.inputs[0] if made.inputs else None
        steps = len(dims) == 3 and dims[port.axis] == 1 and isinstance(made.op, RESHAPING)
        return steps and first is self.cell.outputs[0] and (port.stride < 0) == self.reverse

    def replace(self, w: NodeWriter) -> None:
        """Replace the loop by a recurrent sequence of its name."""
        outputs, made = self._sequence(w)
        w.rewriter.replace_node(self.wires.node, outputs)
        made.name = self.wires.node.name

    def _sequence(self, w: NodeWriter) -> tuple[list[Value], Node]:
        """Insert the sequence; return one value for each output of the loop, and the sequence."""
        x = self.scanned.outer
        if self.axis == 0:
            x = w.transpose(x, [1, 0, 2])
        states = [w.unsqueeze(item.outer, [1]) for item in self.states]
        weights = [_with_direction(w, value) for value in self.weights]
        if len(weights) == 2:
            size = shape_of(self.weights[1]).dim(1)
            weights.append(w.constant(np.zeros((1, size)), element_of(x)))
        node = w.rewriter.insert(
            _sequence_of(self.cell.op, "reverse" if self.reverse else "forward"),
            (x, *states, _lengths(w, x), *weights),
            before=self.wires.node,
            name=self.cell.name,
            n_outputs=len(states) + 1,
        )
        y, *lasts = node.outputs
        outputs: dict[Value, Value] = {}
        for leaving in self.wires.outputs:
            if isinstance(leaving.port, LastValue):
                last = lasts[self.cell.outputs.index(leaving.value)]
                outputs[leaving.output] = w.squeeze(last, [1])
                continue
            assert isinstance(leaving.port, Concatenated)
            steps = w.squeeze(y, [1])
            order = [1, 0, 2] if leaving.port.axis == 0 else [0, 1, 2]
            outputs[leaving.output] = w.transpose(steps, order)
        return [outputs[value] for value in self.wires.node.outputs], node


def _weights(
    values: tuple[Value | None, ...], entries: dict[Value, Entering]
) -> list[Value] | None:
    """Find W, R and B for the sequence that replaces a loop over a cell, or return None.

    `values` are W, R and B of the cell. `entries` maps each body parameter to the loop input that
    feeds it. A parameter with an invariant input becomes the value outside the loop; a constant of
    the body stays. The result is None if one of the three is omitted, sliced, a state, or computed
    in the body.
    """
    weights = []
    for value in values:
        if value is None:
            return None
        entering = entries.get(value)
        if entering is not None and isinstance(entering.port, Sliced):
            return None
        if entering is not None and entering.result is not None:
            return None
        if entering is None and not is_stored(value):
            return None
        weights.append(value if entering is None else entering.outer)
    return weights


def _is_step(value: Value | None, scanned: Entering) -> bool:
    """Return whether `value` is exactly one step of the scanned tensor, with shape [B, I].

    The loop must slice the whole time axis in steps of one element, and an operation such as
    Squeeze must remove this axis from the slice.
    """
    port = scanned.port
    if value is None or not isinstance(port, Sliced) or port.axis not in (0, 1):
        return False
    full = (port.start, port.end) == ((0, -1) if port.stride > 0 else (-1, 0))
    node = value.producer
    shaped = isinstance(node.op, RESHAPING) and node.inputs[0] is scanned.parameter
    dims = shape_of(scanned.parameter).dims or ()
    rest = [dim for axis, dim in enumerate(dims) if axis != port.axis]
    same = shape_of(value).dims == tuple(rest) and len(rest) == 2
    single = abs(port.stride) == 1 and port.part_size == 1
    return full and shaped and same and single


def _with_direction(w: NodeWriter, value: Value) -> Value:
    """Add the leading axis of directions that the weights of a sequence need."""
    made = changed(value, lambda array: array[None], w.rewriter, w.before)
    return w.unsqueeze(value, [0]) if made is None else made


def _lengths(w: NodeWriter, x: Value) -> Value:
    """Return the sequence lengths of `x`: the size of axis 1, once for each batch item."""
    batch, steps = shape_of(x).dim(0), shape_of(x).dim(1)
    if isinstance(batch, int) and isinstance(steps, int):
        return w.constant(np.full(batch, steps))
    pair = w.shape_of(x)
    return w(Broadcast3(), w.take(pair, [1], 0), w.take(pair, [0], 0))


def _sequence_of(cell: Op, direction: str) -> Op:
    """Return the sequence operation that applies `cell` in each time step.

    The attributes of the sequence name all activations, even if the cell uses the defaults.
    """
    assert isinstance(cell, recurrent.Recurrent)
    names = tuple(name for name, _, _ in cell.functions())
    attributes = (
        cell.hidden_size,
        names,
        cell.activations_alpha,
        cell.activations_beta,
        cell.clip,
    )
    if isinstance(cell, recurrent.GRUCell):
        return recurrent.GRUSequence(*attributes, cell.linear_before_reset, direction)
    if isinstance(cell, recurrent.RNNCell):
        return recurrent.RNNSequence(*attributes, direction)
    return recurrent.LSTMSequence(*attributes, direction)
