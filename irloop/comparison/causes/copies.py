"""Finds values that only copy another value.

A conversion removes an Identity and gives its tensor name to the value that it copied. It also adds
copies where OpenVINO needs them. A value of one model may therefore correspond to two values of the
other.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.classes import classes_of
from irloop.graph.model import Value

__all__ = ["copies", "is_copy", "unchanged"]

_IDENTITIES = classes_of("Identity")
_MAXIMUM = classes_of("Max", "Maximum")


def is_copy(value: Value) -> bool:
    """Return whether this is the output of an Identity, or the maximum of a value and itself.

    Conversion writes such a maximum instead of an Identity to avoid a fault of OpenVINO.
    """
    op, inputs = value.producer.op, value.producer.inputs
    if isinstance(op, _IDENTITIES):
        return True
    return isinstance(op, _MAXIMUM) and len(inputs) > 1 and inputs[0] is inputs[1]


def unchanged(value: Value) -> Value:
    """Return the original of a copy: follow copies, such as Identities, back to their source.

    A value that is not a copy is returned as it is.
    """
    while is_copy(value):
        source = value.producer.inputs[0]
        if source is None:
            break
        value = source
    return value


def copies(value: Value) -> Iterator[Value]:
    """Yield the outputs of the operations that copy `value`."""
    for node, _ in value.uses:
        if node.outputs and is_copy(node.outputs[0]):
            yield node.outputs[0]
