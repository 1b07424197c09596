"""Looks labels up in a table, which may hold strings."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.framework.directions import Import
from irloop.graph.model import Value
from irloop.graph.tensor import StringTensor

__all__ = ["Labels", "looked_up"]

#: Labels of classes: numbers or strings.
Labels = Sequence[int] | Sequence[str]


def looked_up(c: Import, labels: Labels, places: Value) -> Value:
    """Gather the labels at the positions `places`."""
    texts = tuple(label.encode() for label in labels if isinstance(label, str))
    table = c.tensor(StringTensor(texts, (len(texts),))) if texts else c.i64(list(labels))
    return c.gather(table, places, 0)
