"""Makes a table of the suite's results: counts by feature, and the cases that are not right.

A case is a model with the outputs that a specification demands. Its result is right if the engine
returns these outputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from irloop.conformance.suite import Outcome, Verdict
from irloop.engines.catalogue import Engine

__all__ = ["Conformance", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: a feature, and the number of its cases with each verdict."""

    feature: str
    counts: dict[Verdict, int]

    @property
    def total(self) -> int:
        """The number of cases of the feature."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Conformance:
    """The outcomes of the suite on one engine."""

    engine: Engine
    outcomes: tuple[Outcome, ...]

    @property
    def title(self) -> str:
        """The engine and its version; the built-in executor is called irloop."""
        name = "irloop" if self.engine.package is None else self.engine.name
        return f"{name} {self.engine.version}".rstrip()

    @property
    def rows(self) -> list[Row]:
        """One row for each feature, in the order of the cases, and a last row for all cases."""
        features = dict.fromkeys(outcome.case.feature for outcome in self.outcomes)
        rows = [
            _row(name, [item for item in self.outcomes if item.case.feature == name])
            for name in features
        ]
        return [*rows, _row("all", self.outcomes)]

    @property
    def faults(self) -> list[Outcome]:
        """The results that are not right."""
        return [item for item in self.outcomes if item.verdict is not Verdict.RIGHT]


def _row(feature: str, outcomes: Sequence[Outcome]) -> Row:
    counted = Counter(item.verdict for item in outcomes)
    return Row(feature, {verdict: counted[verdict] for verdict in Verdict})
