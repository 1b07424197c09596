"""What a named runtime can read: IR version, newest opset, dynamic shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.errors import UnsupportedError, UsageError
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant, Parameter, Result, UnknownOp
from irloop.graph.types import TensorType
from irloop.graph.walk import all_graphs, node_path

__all__ = ["TARGETS", "Target", "find_target", "require_readable"]


@dataclass(frozen=True, slots=True)
class Target:
    """A runtime. `ir_version` is the only one it reads, None where it reads 10 and 11."""

    name: str
    opset: int
    ir_version: int | None
    dynamic_shapes: bool


TARGETS = {
    target.name: target
    for target in (
        Target("openvino-2021.4", opset=7, ir_version=10, dynamic_shapes=False),
        Target("openvino-2026", opset=16, ir_version=None, dynamic_shapes=True),
    )
}

_BASICS = (Constant, Parameter, Result)


def find_target(name: str) -> Target:
    """The target of this name.

    Raises:
        UsageError: when there is none.
    """
    if name not in TARGETS:
        raise UsageError(f"no target is called {name!r}", expected=" or ".join(TARGETS))
    return TARGETS[name]


def require_readable(model: Model, target: Target) -> None:
    """Refuse an OpenVINO model that `target` cannot read.

    Raises:
        UnsupportedError: naming every operation and every dynamic shape that it does not know.
    """
    findings = list(_unreadable(model, target))
    if findings:
        raise UnsupportedError(
            f"{len(findings)} places that {target.name} cannot read", diagnostics=findings
        )


def _unreadable(model: Model, target: Target) -> Iterator[Diagnostic]:
    for graph in all_graphs(model.graph):
        for node in (*graph.parameters, *graph.nodes):
            if not isinstance(node.op, (*_BASICS, UnknownOp)) and node.op.since > target.opset:
                yield _finding(
                    node,
                    f"{target.name} does not know {node.op.label}",
                    expected=f"operations of opset1 to opset{target.opset}",
                    found=f"opset{node.op.since}",
                )
            elif not target.dynamic_shapes and not _is_static(node):
                yield _finding(
                    node,
                    f"{target.name} reads static shapes only",
                    expected="known dimensions",
                    found=", ".join(str(value.type) for value in node.outputs),
                    fix="give the input a static shape" if isinstance(node.op, Parameter) else "",
                )


def _is_static(node: Node) -> bool:
    return all(
        isinstance(value.type, TensorType) and value.type.shape.is_static for value in node.outputs
    )


def _finding(node: Node, message: str, *, expected: str, found: str, fix: str = "") -> Diagnostic:
    path = node_path(node)
    place = Location(line=node.location.line, path=path, layer_id=node.location.layer_id)
    return Diagnostic(
        "CNV004", Severity.ERROR, f"{path!r}: {message}", place, expected, found, fix=fix
    )
