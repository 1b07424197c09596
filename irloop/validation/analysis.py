"""The inferred graph of a model: what its operations say about their inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irloop.validation.context import Context

__all__ = ["Analysis"]


class Analysis:
    """Reads and infers the graph behind a context; never raises."""

    def __init__(self, context: Context) -> None:
        self.context = context
