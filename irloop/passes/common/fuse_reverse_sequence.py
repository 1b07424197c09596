"""Fuses the reversal of a sequence into the loop or recurrent sequence that reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx import reorder as onnx_reorder
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import recurrent, reorder, slicing
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.loops import Concatenated, ScanInput, ScanOutput, Sliced
from irloop.graph.model import Node, Value
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter

__all__ = ["FuseReverseSequence"]

LOOPS = (ov.TensorIterator, onnx.Scan)

Port = TypeVar("Port", bound=Sliced | ScanInput | Concatenated | ScanOutput)


class FuseReverseSequence(NodePass):
    """Reverses the direction of loops and sequences whose inputs and outputs are reversed.

    Given::

        r = ReverseSequence(x, T for each item)
        TensorIterator(r, h):  p: r[axis 0]   s: h, s' = s + p    -> y = joined s, axis 0
        z = ReverseSequence(y, T for each item)

    Result::

        TensorIterator(x, h):  p: x[axis 0, backwards]   s: h, s' = s + p
                               -> z = joined s, axis 0, backwards

    A slice with step -1 over the whole axis counts as a reversal, too. An LSTM, GRU or RNN sequence
    changes its direction if its input is reversed up to the sequence's own lengths. If the output
    of the sequence is read, it must be reversed in the same way. A reversal up to other lengths is
    not fused. The reversal of an output is not fused if anything else reads this output, or if the
    reversed value is an output of the model.
    """

    name = "fuse_reverse_sequence"
    operations = (*LOOPS, *recurrent.SEQUENCES)

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        rewriter = w.rewriter
        if isinstance(node.op, recurrent.SEQUENCES):
            _turn_sequence(node, rewriter)
            return
        wires = LoopWires.of(node)
        if wires is None:
            return
        known = rewriter.inference
        turned = [_turn_input(item, known) for item in wires.slices]
        turned += [_turn_output(item, rewriter) for item in wires.outputs]
        if any(turned):
            wires.replace(node.op, rewriter)


def _turn_input(entering: Entering, known: Inference) -> bool:
    port = entering.port
    assert isinstance(port, Sliced | ScanInput)
    turned = _reversed_port(port)
    source = None if turned is None else _reversed(entering.outer.producer, port.axis, known)
    if source is None or turned is None:
        return False
    entering.outer, entering.port = source, turned
    return True


def _turn_output(leaving: Leaving, rewriter: MatchRewriter) -> bool:
    port = leaving.port
    if not isinstance(port, Concatenated | ScanOutput) or len(leaving.output.uses) != 1:
        return False
    dims = shape_of(leaving.value).dims
    if isinstance(port, Concatenated) and dims != () and (not dims or dims[port.axis] != 1):
        return False
    turned, (reader, _) = _reversed_port(port), leaving.output.uses[0]
    if turned is None or _reversed(reader, port.axis, rewriter.inference) is not leaving.output:
        return False
    if reader.output.is_output:
        return False
    rewriter.replace_node(reader, [leaving.output])
    leaving.port = turned
    return True


def _reversed_port(port: Port) -> Port | None:
    """Return the slice or concatenated output `port` with its direction reversed.

    Returns None if the axis is negative, or if the port does not cover the whole axis one element
    at a time.
    """
    if port.axis < 0:
        return None
    wire: Any = port
    if isinstance(port, ScanInput | ScanOutput):
        return cast("Port", replace(wire, reverse=not port.reverse))
    whole = (port.start, port.end) == ((0, -1) if port.stride > 0 else (-1, 0))
    if not whole or abs(port.stride) != 1 or port.part_size != 1:
        return None
    return cast("Port", replace(wire, start=port.end, end=port.start, stride=-port.stride))


def _reversed(node: Node, axis: int, known: Inference) -> Value | None:
    """The value that `node` reverses along the whole of `axis`, or None."""
    source = node.inputs[0] if node.inputs else None
    dims = None if source is None else shape_of(source).dims
    if source is None or dims is None or axis >= len(dims):
        return None
    lengths = _lengths(node, axis, len(dims))
    if lengths is not None:
        numbers = known.constant(lengths)
        full = numbers is not None and bool((numbers == dims[axis]).all())
        return source if full else None
    if isinstance(node.op, slicing.StridedSlice):
        return source if _steps_back(node, axis, known) else None
    return None


def _lengths(node: Node, axis: int, rank: int) -> Value | None:
    """Return the lengths input of `node` if it is a ReverseSequence along `axis`.

    Return None for other operations, and for a ReverseSequence along another axis. `rank` is the
    rank of the data; it resolves a negative axis.
    """
    match node.op:
        case reorder.ReverseSequence(seq_axis=time):
            return node.inputs[1] if time % rank == axis else None
        case onnx_reorder.ReverseSequence(time_axis=time):
            return node.inputs[1] if time % rank == axis else None
    return None


def _steps_back(node: Node, axis: int, known: Inference) -> bool:
    """Return whether a StridedSlice reverses `axis` and changes nothing else.

    False if its steps or the shape are not known.
    """
    op = node.op
    assert isinstance(op, slicing.StridedSlice)
    given = node.inputs[3] if len(node.inputs) > 3 else None
    steps = None if given is None else known.constant(given)
    if steps is None or any(any(mask) for mask in op.masks[2:]):
        return False
    first = node.inputs[0]
    assert first is not None
    same = shape_of(first).is_static and shape_of(first) == shape_of(node.outputs[0])
    wanted = [-1 if at == axis else 1 for at in range(len(steps))]
    return same and axis < len(steps) and [int(step) for step in steps] == wanted


def _turn_sequence(node: Node, rewriter: MatchRewriter) -> None:
    op, count = node.op, len(node.outputs) - 1
    directions = {"forward": "reverse", "reverse": "forward"}
    assert isinstance(op, recurrent.SEQUENCES)
    other = directions.get(op.direction.lower())
    x, lengths = node.inputs[0], node.inputs[1 + count]
    if other is None or x is None or lengths is None:
        return
    before = _by_same_lengths(x.producer, 1, lengths, rewriter.inference)
    if before is None:
        return
    y, behind = node.outputs[0], None
    if y.is_used:
        behind = y.uses[0][0]
        alone = len(y.uses) == 1
        if not alone or _by_same_lengths(behind, 2, lengths, rewriter.inference) is not y:
            return
        if behind.output.is_output:
            return
    rewriter.set_input(node, 0, before)
    rewriter.replace_op(node, replace(op, direction=other))
    if behind is not None:
        rewriter.replace_node(behind, [y])
    rewriter.erase_unread([x.producer])


def _by_same_lengths(node: Node, axis: int, lengths: Value, known: Inference) -> Value | None:
    """Return the sequence that `node` reverses up to `lengths`, or None.

    `node` must reverse, in each item of axis 0, the first `lengths` elements along `axis`. A node
    that reverses the whole axis counts if all `lengths` are known to equal the size of the axis.
    Returns None for any other node.
    """
    source = _reversed(node, axis, known)
    if source is not None:
        # `node` reverses the whole axis, so the lengths must reach its end.
        numbers, size = known.constant(lengths), shape_of(source).dim(axis)
        full = numbers is not None and bool((numbers == size).all())
        return source if full else None
    if not isinstance(node.op, reorder.ReverseSequence):
        return None
    first = node.inputs[0]
    rank = None if first is None else shape_of(first).rank
    same = node.inputs[1] is lengths and node.op.batch_axis == 0
    return first if same and rank and node.op.seq_axis % rank == axis else None
