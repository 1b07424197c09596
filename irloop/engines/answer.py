"""What an engine answers: outputs, or how it failed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from irloop.engines.catalogue import Engine

__all__ = ["Answer", "Failure"]


class Failure(Enum):
    """How an engine failed; the value is how a report says it."""

    REFUSED = "refused to load the model"
    RAISED = "raised an error"
    CRASHED = "crashed"
    HUNG = "did not come back"
    OUTGREW = "took too much memory"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run gave: `outputs` in the order of the model, or None with the `failure`.

    An output is an array, a list for a sequence, or None for an optional without a value. `words`
    are the last words of the engine: its message, or the signal that ended its process and what
    it printed last.
    """

    engine: Engine
    outputs: list[Any] | None = None
    failure: Failure | None = None
    words: str = ""

    def __str__(self) -> str:
        if self.failure is None:
            return f"{self.engine}: {len(self.outputs or [])} outputs"
        text = f"{self.engine} {self.failure}"
        return f"{text}: {self.words}" if self.words else text
