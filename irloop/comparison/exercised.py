"""Reports which ways through loops and branches the trials of a comparison took.

A way is zero, one or many iterations of a loop, its early stop, or a branch of an If. The ways that
the model could take, but no trial took, are reported, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irloop.comparison.runs import Run
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.walk import all_nodes, node_path

__all__ = ["STOP", "exercised", "not_exercised", "reachable", "reached"]

_IDENTITIES = classes_of("Identity")

#: The way of a loop whose condition ends it.
STOP = "stop"

#: One way through a loop or a branch: the node, and "zero", "one", "many", "stop" or a branch.
Way = tuple[Node, str]

_WORDS = {
    "zero": "zero iterations",
    "one": "one iteration",
    "many": "more than one iteration",
    STOP: "an early stop",
}


def reached(runs: Iterable[Run]) -> set[Way]:
    """The ways in which loops and branches ran in these runs.

    A way is a number of iterations (zero, one or many), the end of a loop by its condition, or a
    branch that was taken. Only runs of the NumPy engine report them.
    """
    ways: set[Way] = set()
    for run in runs:
        for node, counts in run.counts.items():
            ways |= {(node, ("zero", "one")[count] if count < 2 else "many") for count in counts}
        ways |= {(node, STOP) for node in run.stopped}
        ways |= {(node, label) for node, labels in run.branches.items() for label in labels}
    return ways


def reachable(model: Model) -> list[Way]:
    """List the ways in which each loop or If of the model may run.

    Each item is a pair of the node and its way. The ways of a loop are "zero", "one", "many"
    (numbers of iterations) and "stop" (an early stop); those of an If are "then" and "else". Ways
    that a constant or the kind of loop excludes are left out.
    """
    return [(node, way) for node in all_nodes(model.graph) if node.bodies for way in _ways_of(node)]


def exercised(model: Model, runs: Sequence[Run]) -> list[str]:
    """Describe each loop and branch that was reached, in one line each.

    A line names the numbers of iterations, or the branches that were taken.
    """
    ways = reached(runs)
    lines = []
    for node in all_nodes(model.graph):
        path = node_path(node)
        taken = [body.label for body in node.bodies if (node, body.label) in ways]
        counts = {count for run in runs for count in run.counts.get(node, ())}
        if isinstance(node.op, ov.If | onnx.If) and taken:
            lines.append(f"branch {' and '.join(taken)} of {path}")
        elif counts:
            stop = ", with an early stop" if (node, STOP) in ways else ""
            lines.append(f"loop {path}: ran {_listed(counts)} times{stop}")
    return lines


def not_exercised(model: Model, runs: Sequence[Run]) -> list[str]:
    """Return a line for each branch never taken and each loop not run in all its possible ways.

    Each loop should run zero, one and many times and, if it can, stop early.
    """
    nodes = [node for node in all_nodes(model.graph) if node.bodies]
    if nodes and not any(run.outputs is not None for run in runs):
        return ["loops and branches: irloop's own executor could not run the model"]
    found = reached(runs)
    return [item for node in nodes for item in _missed(node, runs, found)]


def _missed(node: Node, runs: Sequence[Run], found: set[Way]) -> Iterator[str]:
    path = node_path(node)
    missed = [way for way in _ways_of(node, even_if_constant=True) if (node, way) not in found]
    if isinstance(node.op, ov.If | onnx.If):
        yield from (f"branch {label} of {path}" for label in missed)
        return
    counts = {count for run in runs for count in run.counts.get(node, ())}
    if not counts:
        yield f"loop {path}: never reached"
    elif missed:
        words = ", ".join(_WORDS[way] for way in missed)
        yield f"loop {path}: {words} (ran {_listed(counts)} times)"


def _ways_of(node: Node, *, even_if_constant: bool = False) -> Iterator[str]:
    if isinstance(node.op, ov.If | onnx.If):
        if even_if_constant or not _is_constant(node.inputs[0]):
            yield from ("then", "else")
        return
    if isinstance(node.op, ov.TensorIterator | onnx.Scan | onnx.Scan8):
        return
    stops = _can_stop(node)
    if even_if_constant or not _is_constant(node.inputs[0]):
        yield from ("zero", "one", "many")
    elif stops:
        yield from ("one", "many")
    if stops:
        yield STOP


def _is_constant(value: Value | None) -> bool:
    return value is None or (value.producer is not None and isinstance(value.producer.op, Constant))


def _can_stop(node: Node) -> bool:
    """Return whether a loop may stop early because its body computes the condition.

    The result is False if the body returns the condition that it received, a constant, or no
    condition.
    """
    (body,) = node.bodies
    if body.ports.condition is None:
        return False
    value = body.graph.results[body.ports.condition].inputs[0]
    while value is not None and value.producer is not None:
        node = value.producer
        if (node.op.reshapes or isinstance(node.op, _IDENTITIES)) and node.inputs:
            value = node.inputs[0]
            continue
        return not isinstance(node.op, Constant) and bool(node.inputs)
    return False


def _listed(counts: set[int]) -> str:
    shown = [str(count) for count in sorted(counts)]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:5], "...", shown[-1]])
