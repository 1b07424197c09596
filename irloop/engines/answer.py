"""The answer of an engine: outputs, or how it failed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from irloop.engines.catalogue import Engine

__all__ = ["Answer", "Failure"]


class Failure(Enum):
    """How an engine failed; the value is the wording in reports."""

    REFUSED = "refused to load the model"
    RAISED = "raised an error"
    CRASHED = "crashed"
    HUNG = "did not finish"
    OUTGREW = "took too much memory"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one run: the outputs, or how the engine failed.

    `outputs` is in the order of the model. An output is an array, a list for a sequence, or None
    for an empty optional. `names` are the names of the outputs in the engine, as far as it tells
    them. If the engine failed, `outputs` is None, `failure` tells how, and `words`
    is the engine's message, or the signal that ended its process and the end of its printed text.
    """

    engine: Engine
    outputs: list[Any] | None = None
    failure: Failure | None = None
    words: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.failure is None:
            return f"{self.engine}: {len(self.outputs or [])} outputs"
        text = f"{self.engine} {self.failure}"
        return f"{text}: {self.words}" if self.words else text
