"""Converts Scan-8, which has a batch axis, to Scans without one."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.onnx import ONNX
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.wire_ends import STATE, Entering, element_port, stacked_port
from irloop.errors import UnsupportedError, UsageError
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Invariant,
    ScanInput,
    ScanOutput,
)
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.graph.walk import all_nodes, node_path
from irloop.passes.base import ModelPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.node_writer import NodeWriter
from irloop.passes.session import Session
from irloop.passes.stored import array_of
from irloop.passes.writers import writer_at

__all__ = ["Scan8ToScan9", "expand_batches"]

_NUMBER = TensorType(ElementType.I64, Shape(()))


class Scan8ToScan9(ModelPass):
    """Replaces each Scan-8 by a Scan over the batch around a Scan of one item; sets opset 9.

    Given::

        Scan-8(lengths [B], h [B,2], x [B,T,2]):
          p: x   s: h, s' = s + p     -> last s [B,2], stacked s [B,T,2]

    Result::

        Scan(lengths, h, x), length n, item h1, item x1:
          Scan(h1, 0, x1):
            p: x1   s: h1, s' = s + p if i < n else s   i: 0, i' = i + 1
            -> last s, stacked s if i < n else 0

    The items of a Scan-8 are independent, so its body cannot process a whole batch. A sequence that
    is shorter than the others keeps its last state, and its outputs are padded with zeros (as in
    ONNX Runtime). A reversed sequence starts at its own end, not at the end of the longest
    sequence. A model with an operation that opset 9 changed is refused.
    """

    name = "scan8_to_scan9"
    dialects = frozenset({"onnx"})

    def run_on_model(self, model: Model) -> bool:
        scans = [node for node in all_nodes(model.graph) if isinstance(node.op, onnx.Scan8)]
        if not scans or any(self.transformation_callback(node) for node in scans):
            return False
        _require_opset_9(model)
        return expand_batches(model)


def expand_batches(model: Model) -> bool:
    """Replace every Scan-8 of `model` by operations of opset 9; return whether there was one.

    The model then imports at least opset 9. Unlike the pass, this function allows operations that
    opset 9 changed: conversion to OpenVINO, which calls it, interprets each operation by the opset
    of its class, so operations of opset 8 may occur next to a Scan-9.
    """
    scans = [node for node in all_nodes(model.graph) if isinstance(node.op, onnx.Scan8)]
    if not scans:
        return False
    for node in scans:
        _require_lengths(node)
    model.opsets[""] = max(9, model.opsets.get("", 0))
    session = Session(model)
    for node in reversed(scans):
        wires = LoopWires.of(node)
        assert wires is not None, "the reader connects every input of a Scan"
        _Batch(model, session, node, wires).replace()
    return True


def _require_lengths(node: Node) -> None:
    """Refuse constant lengths above the axis that is scanned, as ONNX Runtime does.

    Raises:
        UnsupportedError: naming the node and both numbers.
    """
    lengths = None if node.inputs[0] is None else array_of(node.inputs[0])
    wires = LoopWires.of(node)
    if lengths is None or not lengths.size or wires is None or not wires.slices:
        return
    steps = shape_of(wires.slices[0].outer).dim(1)
    if isinstance(steps, int) and int(lengths.max()) > steps:
        path = node_path(node)
        reason = f"a sequence length is {int(lengths.max())}, and the axis has {steps} elements"
        message = f"{node.op.label} {path!r} cannot be converted: {reason}"
        place = Location(line=node.location.line, path=path)
        raise UnsupportedError(
            message,
            diagnostics=[
                Diagnostic("CNV001", Severity.ERROR, message, place, fix="correct sequence_lens")
            ],
        )


def _require_opset_9(model: Model) -> None:
    """Refuse operations that opset 9 changed.

    Raises:
        UsageError: when the model has such an operation; the message names the first operation.
    """
    if model.opsets.get("", 0) >= 9:
        return
    changed = [
        node
        for node in all_nodes(model.graph)
        if not isinstance(node.op, onnx.Scan8 | Constant | UnknownOp)
        and not node.op.domain
        and ONNX.find(node.op.type, 9) is not type(node.op)
    ]
    if changed:
        first = changed[0]
        raise UsageError(
            f"{first.op.label} {node_path(first)!r} means something else in opset 9, which a Scan "
            "without a batch axis needs",
            location=first.location,
        )


@dataclass(slots=True)
class _Batch:
    """Replaces one Scan-8 by two Scans."""

    model: Model
    session: Session
    node: Node
    wires: LoopWires

    def replace(self) -> None:
        """Replace the node by a Scan over the batch, which contains a Scan over one item."""
        node, wires = self.node, self.wires
        assert node.graph is not None
        batch = LoopWires(node, Graph(f"{node.name}/batch"))
        rewriter, inner = self.session.rewriter(node.graph), self.session.rewriter(batch.graph)
        w = writer_at(self.model, inner, None, node.name)

        def item_of(value: Value, wish: str) -> Value:
            name = self.session.names.fresh(wish)
            return batch.enter(value, name, element_port(), _item(value.type)).parameter

        length = None if node.inputs[0] is None else item_of(node.inputs[0], "length")
        for entering in sorted(wires.inputs, key=lambda item: isinstance(item.port, Invariant)):
            name = entering.parameter.producer.name
            if isinstance(entering.port, Invariant):
                entering.outer = batch.capture(entering.outer, self.session.names.fresh(name))
            else:
                entering.outer = item_of(entering.outer, name)
        if length is not None:
            self._end_early(length, w)
        made, shown = wires.insert(onnx.Scan(), inner, before=None)
        replaced = [(value, old) for value, old in zip(made.outputs, shown, strict=True) if old]
        for value, _ in replaced:
            batch.leave(value, stacked_port())
        scan, _ = batch.insert(onnx.Scan(), rewriter, before=node)
        for (_, old), value in zip(replaced, scan.outputs, strict=True):
            for leaving in old:
                rewriter.replace_value(leaving.output, value)
        scan.info, name = node.info, node.name
        rewriter.erase(node)
        scan.name = name

    def _end_early(self, length: Value, w: NodeWriter) -> None:
        """Make the loop body ignore all iterations from number `length` on.

        From there on, the states keep their values, and the scan outputs are zeros. `length` is the
        sequence length of one batch item. An input that is scanned backwards starts at element
        `length` - 1, not at the end of the padded axis.
        """
        wires, name = self.wires, self.node.name
        inner = self.session.rewriter(wires.graph)
        first = writer_at(self.model, inner, next(iter(wires.graph.nodes), None), name)
        last = writer_at(self.model, inner, None, name)
        limit = wires.capture(length, self.session.names.fresh("length"))
        zero = w.constant(0)
        step = wires.enter(zero, self.session.names.fresh("step"), STATE, _NUMBER)
        count = step.parameter
        runs = first.less(count, limit)
        for entry in wires.slices:
            assert isinstance(entry.port, ScanInput)
            if entry.port.reverse:
                self._read_from_end(entry, limit, count, runs, first)
        stopped = [leaving for leaving in wires.outputs if isinstance(leaving.port, ScanOutput)]
        for leaving in stopped:
            filler = last.constant(0, element_of(leaving.value))
            leaving.value = last.select(runs, leaving.value, filler)
        shown = wires.shown_by_each()
        for entry in wires.states[:-1]:
            outputs = shown[entry]
            assert entry.result is not None
            entry.result = last.select(runs, entry.result, entry.parameter)
            for leaving in outputs:
                leaving.value = entry.result
        step.result = last.add(count, last.constant(1))

    def _read_from_end(
        self, wire: Entering, limit: Value, count: Value, runs: Value, first: NodeWriter
    ) -> None:
        """Let the body read a reversed sequence from its end: element `limit` - 1 - `count`.

        `wire` is the wire that slices the sequence, `limit` is the length of the sequence, and
        `count` is the number of the step, starting with 0. `runs` is false in the steps after the
        end of the sequence; they read element 0, and their results are discarded. `first` adds
        operations at the start of the body.
        """
        name = self.session.names.fresh(wire.parameter.producer.name)
        sequence = self.wires.capture(wire.outer, name)
        index = first.subtract(first.subtract(limit, first.constant(1)), count)
        index = first.select(runs, index, first.constant(0))
        element = first.gather(sequence, index, 0)
        self.session.rewriter(self.wires.graph).replace_value(
            wire.parameter, element, keep_names=False
        )
        wire.port = element_port()


def _item(type: ValueType) -> ValueType:
    """Return the type of one item: `type` without its first axis, the batch axis.

    A type that is not a tensor or has an unknown rank is returned unchanged.
    """
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return type
    return TensorType(type.element, Shape(type.shape.dims[1:]))
