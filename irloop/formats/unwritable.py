"""The error for a node that a format cannot represent."""

from __future__ import annotations

from irloop.errors import WriteError
from irloop.graph.model import Node
from irloop.graph.walk import node_path

__all__ = ["unwritable"]


def unwritable(node: Node, reason: str) -> WriteError:
    """Return the error that `node` cannot be written, with the `reason` in its message.

    The location of the error is the place in the file from which the node was read.
    """
    return WriteError(
        f"{node.op.label} {node_path(node)!r} cannot be written: {reason}", location=node.location
    )
