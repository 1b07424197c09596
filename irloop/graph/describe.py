"""Describes a node for people: attributes, small constants."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from irloop.errors import IrloopError
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant, UnknownOp

__all__ = ["attributes", "constant", "format_of"]

#: Larger constants are described by their type only.
SHOWN = 4


def format_of(model: Model) -> str:
    """The format and the version of a model."""
    if model.dialect == "openvino":
        return f"OpenVINO IR v{model.version}"
    opsets = sorted(model.opsets.items())
    listed = ", ".join(f"{domain or 'ai.onnx'} {number}" for domain, number in opsets)
    return f"ONNX IR v{model.version}, opset {listed}"


def attributes(node: Node) -> dict[str, Any]:
    """The attributes of an operation that do not have their default value."""
    if isinstance(node.op, Constant):
        return {}
    if isinstance(node.op, UnknownOp):
        return dict(node.op.attributes)
    shown = {}
    for field in fields(node.op):
        value = getattr(node.op, field.name)
        if field.default is MISSING or value != field.default:
            shown[field.metadata.get("name") or field.name] = value
    return shown


def constant(op: Constant) -> str:
    """The elements of a small constant as text.

    For a larger constant, one with fewer than 8 bits per element, or one whose data cannot be read,
    the type is returned instead.
    """
    if op.tensor.count <= SHOWN and op.tensor.element.bits >= 8:
        try:
            return _numbers(op.tensor.numpy().tolist())
        except (IrloopError, ValueError, OSError):
            # The weights are missing or too short, but the type is known.
            return f"const {op.tensor.type}"
    return f"const {op.tensor.type}"


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)
