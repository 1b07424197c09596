"""The texts and the colour of the box of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

from irloop.conversion.coverage import operands
from irloop.dialects.attributes import attributes_of
from irloop.drawing.text import clipped
from irloop.graph.describe import SHOWN, constant
from irloop.graph.model import Node
from irloop.graph.op import Constant, Op, UnknownOp
from irloop.graph.types import ElementType

__all__ = ["defaults", "description", "family", "label", "rows", "specification"]

#: The colours of boxes, and the families of operations that have them.
_COLOURS = {
    "weights": "convolution matmul linear_models trees recurrent embedding attention "
    "quantized_matmul decoder_attention group_query early",
    "activation": "activation",
    "pooling": "pooling roi resize region prior_box images",
    "normal": "normalization",
    "shape": "shape rearrange reorder slicing gather scatter padding tensors arrays sequence",
    "number": "elementwise comparison reduction search ctc losses signal",
    "types": "quantize quantized_elements convert color text features labels",
    "loop": "control_flow state",
}
#: Activations that other families define.
_ACTIVATIONS = frozenset({"Tanh", "Sigmoid", "Softmax", "SoftMax", "LogSoftmax", "Clip", "Clamp"})
_FAMILIES = {family: colour for colour, text in _COLOURS.items() for family in text.split()}

#: The maximum number of rows for constants, and of characters in one.
MOST, LONGEST = 6, 60


def label(node: Node) -> str:
    """The type of an operation without its version."""
    return node.op.type or node.op.label


def family(node: Node) -> str:
    """The name of the colour of an operation's box: operations of one family look alike."""
    if isinstance(node.op, UnknownOp):
        return "unknown"
    if node.op.type in _ACTIVATIONS:
        return "activation"
    return _FAMILIES.get(type(node.op).__module__.rpartition(".")[2], "other")


def description(node: Node) -> str:
    """The first paragraph of the description of an operation."""
    return " ".join((type(node.op).__doc__ or "").split("\n\n")[0].split())


def defaults(node: Node) -> dict[str, Any]:
    """The values of attributes where a file leaves them out."""
    known = {} if isinstance(node.op, UnknownOp) else attributes_of(type(node.op))
    return {
        name: item.default
        for name, item in known.items()
        if not item.required and item.default is not None
    }


def specification(node: Node, dialect: str) -> list[str]:
    """All that is known of an operation: what it does, its inputs, outputs and attributes.

    A line is an item, because a page shows no line breaks of texts. Of ONNX's own operations it is
    the text of the standard.
    """
    cls = type(node.op)
    if isinstance(node.op, UnknownOp):
        return []
    text, notes, attributes = cleandoc(cls.__doc__ or ""), dict[str, str](), attributes_of(cls)
    if dialect == "onnx":
        from irloop.formats.onnx import schemas

        text, notes = schemas.documentation(cls.type, cls.since, cls.domain) or (text, notes)
    inputs, outputs = operands(dialect, cls)
    lists: tuple[tuple[str, list[tuple[str, str, str]]], ...] = (
        ("Inputs", [(item.name, item.label, item.types) for item in inputs]),
        ("Outputs", [(item.name, item.label, item.types) for item in outputs]),
        ("Attributes", [(name, name, item.description) for name, item in attributes.items()]),
    )
    for title, items in lists:
        told = [f"{label}: {what}\n{notes.get(name, '')}".rstrip() for name, label, what in items]
        text += "\n\n".join(["", title, *told]) if told else ""
    return text.strip().splitlines()


def rows(node: Node, dialect: str) -> list[str]:
    """The constant inputs of an operation, small ones with their values, others with sizes."""
    found = list(_constants(node, dialect))
    return found if len(found) <= MOST else [*found[: MOST - 1], f"… {len(found) - MOST + 1} more"]


def _constants(node: Node, dialect: str) -> Iterator[str]:
    for position, value in enumerate(node.inputs):
        op = None if value is None else value.producer.op
        if not isinstance(op, Constant):
            continue
        name = _name(dialect, type(node.op), position)
        if op.tensor.count <= SHOWN and op.tensor.element.bits >= 8 and not op.tensor.is_absent:
            yield clipped(f"{name} = {_flat(op)}", LONGEST)
        else:
            yield clipped(f"{name} ⟨{'×'.join(map(str, op.tensor.shape))}⟩", LONGEST)


def _flat(op: Constant) -> str:
    """The elements of a small constant, without the brackets of inner axes."""
    text, tensor = constant(op), op.tensor
    has_brackets = len(tensor.shape) > 1 and text.startswith("[")
    if not has_brackets or tensor.element is ElementType.STRING:
        return text
    return f"[{text.replace('[', '').replace(']', '')}]"


def _name(dialect: str, cls: type[Op], position: int) -> str:
    names = _names(dialect, cls)
    if position < len(names):
        return names[position]
    return names[-1] if names and names[-1].endswith("s") else f"input {position}"


#: The names of the inputs of operations that were asked for.
_KNOWN: dict[type[Op], tuple[str, ...]] = {}


def _names(dialect: str, cls: type[Op]) -> tuple[str, ...]:
    if cls not in _KNOWN:
        _KNOWN[cls] = tuple(operand.name for operand in operands(dialect, cls)[0])
    return _KNOWN[cls]
