"""Writes loops in the form that the user requests, such as Scan, and reports the form of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.dialects.classes import classes_of
from irloop.errors import UsageError
from irloop.faults.repairing import repairs_after
from irloop.graph.convert_options import Loops
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.op import Op
from irloop.graph.walk import all_nodes, node_path
from irloop.passes import Manager
from irloop.passes.base import Pass, PassConfig
from irloop.passes.common import (
    LoopToScan,
    LoopToTensorIterator,
    ScanToLoop,
    TensorIteratorToLoop,
    TensorIteratorToSequence,
    Unroll,
)
from irloop.passes.loop_wires import LOOPS
from irloop.passes.trips import trip_count

__all__ = ["Loops", "SourceLoop", "describe", "loops_of", "rewrite"]

#: The pass that produces each form in each dialect. OpenVINO's form of a scan is TensorIterator.
PASSES: dict[tuple[str, Loops], type[Pass]] = {
    ("openvino", "scan"): LoopToTensorIterator,
    ("openvino", "loop"): TensorIteratorToLoop,
    ("openvino", "sequence"): TensorIteratorToSequence,
    ("openvino", "unroll"): Unroll,
    ("onnx", "scan"): LoopToScan,
    ("onnx", "loop"): ScanToLoop,
    ("onnx", "unroll"): Unroll,
}

#: The operations that count as the requested form.
FORMS: dict[Loops, tuple[type[Op], ...]] = {
    "keep": (),
    "scan": classes_of("Scan", "TensorIterator"),
    "loop": classes_of("Loop"),
    "sequence": classes_of("LSTM", "GRU", "RNN", "LSTMSequence", "GRUSequence", "RNNSequence"),
    "unroll": (),
}

#: For each requested form, the reason why a loop keeps its own form although its trip count is
#: known.
STAYS: dict[Loops, str] = {
    "keep": "",
    "scan": "a state may change its shape, or a TensorIterator is directly inside or around it",
    "loop": "it slices several elements at a time, or converts its inputs",
    "sequence": "its body is not a single LSTM, GRU or RNN cell",
    "unroll": f"it runs more than {Unroll.trips} times, or unrolling it would make too many nodes",
}

#: The reasons why a loop becomes another operation, keyed by its types in source and target.
NEAREST = {
    ("TensorIterator", "Scan"): "its slices cover the whole axis",
    ("TensorIterator", "Loop"): "a Scan cannot slice in the same way, its states change their "
    "shape, or the opset has no Scan",
    ("Loop", "Scan"): "only its slices end it, and their number is unknown, or it is in the body "
    "of a TensorIterator",
    ("Loop", "Loop"): "it may stop early, or its trip count is an input",
    ("Scan", "TensorIterator"): "its length is known",
    ("Scan", "Loop"): "its length may be 0, or it is in the body of a TensorIterator",
}


@dataclass(frozen=True, slots=True)
class SourceLoop:
    """A loop of the model being converted."""

    name: str
    path: str
    type: str
    label: str
    line: int | None
    count: int | None


def loops_of(model: Model) -> list[SourceLoop]:
    """The loops of a model, bodies included."""
    inference = Inference(tolerant=True)
    inference.run(model.graph)
    return [
        SourceLoop(
            node.name,
            node_path(node),
            node.op.type,
            node.op.label,
            node.location.line,
            trip_count(node, inference),
        )
        for node in all_nodes(model.graph)
        if isinstance(node.op, LOOPS)
    ]


def rewrite(model: Model, loops: Loops, *, is_written: bool = True) -> None:
    """Write the loops of `model` in the form that `loops` names, for example "unroll", if possible.

    The engine for the format of the model cannot run some of the new loops, so these are repaired.
    With `is_written` False, they are not repaired, because the model is only the source of a
    translation.
    """
    if loops not in get_args(Loops):
        raise UsageError(f"loops cannot be {loops!r}", expected=", ".join(get_args(Loops)))
    chosen = PASSES.get((model.dialect, loops))
    if chosen is None:
        return
    inference = Inference(tolerant=True)
    inference.run(model.graph)
    repairs = repairs_after(model, inference, PassConfig())
    if Manager([chosen()]).run_passes(model) and is_written:
        repairs.run_passes(model)


def describe(before: list[SourceLoop], result: Model, loops: Loops) -> list[Diagnostic]:
    """Make a note for each loop of the source model: the form in which it is written, and why.

    A loop that was written in several forms has several notes.
    """
    nodes = [
        node
        for node in all_nodes(result.graph)
        if isinstance(node.op, (*LOOPS, *FORMS["sequence"]))
    ]
    return [
        Diagnostic(
            "CNV107",
            Severity.INFO,
            f"{loop.label} {loop.path!r} is written as {form}: {reason}",
            Location(line=loop.line, path=loop.path),
        )
        for loop in before
        for form, reason in _forms_of(loop, _counterpart_of(loop, nodes), loops)
    ]


def _counterpart_of(loop: SourceLoop, nodes: list[Node]) -> Node | None:
    """Find the node that a loop was converted to.

    The node has the name of the loop or, if conversion added nodes, a name that starts with the
    name of the loop and a slash.
    """
    named = [node for node in nodes if node.name == loop.name]
    below = [node for node in nodes if node.name.startswith(f"{loop.name}/")]
    return next(iter([*named, *below]), None)


def _forms_of(loop: SourceLoop, node: Node | None, loops: Loops) -> Iterator[tuple[str, str]]:
    if node is None:
        known = loop.count is not None
        reason = f"it runs {loop.count} times" if known else "conversion determined its trip count"
        yield "the operations of its body", reason
        return
    kind = node.op.type
    if isinstance(node.op, FORMS[loops]):
        yield kind, "as requested"
    elif loops == "keep":
        yield kind, NEAREST.get((loop.type, kind), "this form is nearest to the source")
    elif loop.count is None and loops in ("scan", "unroll"):
        yield kind, "it may stop early, or its trip count is known only at run time"
    else:
        yield kind, STAYS[loops]
