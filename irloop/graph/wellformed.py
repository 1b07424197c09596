"""Checks that a node has the inputs, bodies and port maps that its operation requires.

A node in a file may lack any of these, or its port maps may be wrong. Inference, conversion and
execution check a node here first, so that the code of an operation may rely on its inputs and
bodies.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from irloop.diagnostics import Diagnostic, Severity
from irloop.errors import InferenceError, InferenceKind
from irloop.graph.model import Graph, Node
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.walk import all_nodes, node_path

__all__ = ["Misfit", "misfit", "require_wellformed"]


class Misfit(NamedTuple):
    """Describes an input, output or body that a node lacks or that does not fit its operation.

    `kind` is as in `InferenceError`.
    """

    message: str
    expected: str = ""
    found: str = ""
    kind: InferenceKind = "operands"

    def __str__(self) -> str:
        text = self.message
        if self.expected:
            text += f": expected {self.expected}, found {self.found}"
        return text


def misfit(node: Node) -> Misfit | None:
    """Return the first problem with a node's inputs, bodies or port maps; None if there is none.

    Surplus inputs are not reported, because engines ignore them.
    """
    op = node.op
    if isinstance(op, (Constant, UnknownOp)):
        return None
    inputs = node.inputs
    least = op.arity[0]
    if len(inputs) < least:
        return Misfit("it lacks inputs", f"at least {least}", str(len(inputs)), "inputs")
    # Nearly every node has all inputs.
    missing = None in inputs
    for position in range(least if missing else 0):
        if inputs[position] is None and position not in op.omissible:
            return Misfit(f"input {position} is missing", kind="inputs")
    return _body_misfit(node, op.body_labels) if op.body_labels else None


def require_wellformed(graph: Graph) -> None:
    """Check all nodes of a graph, bodies included, because passes rely on bodies and port maps.

    Raises:
        InferenceError: when a node lacks an input, a body or a result of a body; the diagnostics
            name every such node.
    """
    findings = []
    for node in all_nodes(graph):
        wrong = misfit(node) or _output_misfit(node)
        if wrong is None:
            continue
        path = node_path(node)
        findings.append(
            Diagnostic(
                InferenceError.CODES[wrong.kind],
                Severity.ERROR,
                f"{node.op.label} {path!r}: {wrong.message}",
                location=replace(node.location, path=node.location.path or path),
                expected=wrong.expected,
                found=wrong.found,
            )
        )
    if findings:
        raise InferenceError(findings[0].message, diagnostics=findings)


def _output_misfit(node: Node) -> Misfit | None:
    """Find an output of `node` that a body does not return exactly once, and describe it.

    The first such output counts. Returns None if each body returns each output exactly once.
    """
    for body in node.bodies:
        times = Counter(out.external for out in body.ports.outputs)
        for place in range(len(node.outputs)):
            if times[place] != 1:
                return Misfit(
                    f"output {place} of the node is not exactly once in the port map of its body "
                    f"{body.label!r}",
                    "once",
                    f"{times[place]} times",
                )
    return None


def _body_misfit(node: Node, labels: tuple[str, ...]) -> Misfit | None:
    present = tuple(body.label for body in node.bodies)
    if sorted(present) != sorted(labels):
        return Misfit(
            "it does not have the bodies that its operation needs",
            ", ".join(labels),
            ", ".join(present) or "none",
        )
    for body in node.bodies:
        parameters, results = len(body.graph.parameters), len(body.graph.results)
        ports = body.ports
        for port in ports.inputs:
            if not (0 <= port.external < len(node.inputs) and 0 <= port.parameter < parameters):
                return Misfit(f"its port map has an input that does not exist: {port}")
            if hasattr(port, "result") and not 0 <= port.result < results:
                return Misfit(f"its back edge starts at a result that does not exist: {port}")
        for out in ports.outputs:
            if not (0 <= out.external < len(node.outputs) and 0 <= out.result < results):
                return Misfit(f"its port map has an output that does not exist: {out}")
        if ports.iteration is not None and not 0 <= ports.iteration < parameters:
            return Misfit("its iteration number enters a parameter that does not exist")
        if ports.condition is not None and not 0 <= ports.condition < results:
            return Misfit("its condition is a result that does not exist")
    return None
