"""What a comparison found, in words and as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from irloop.comparison.divergence import Divergence
from irloop.comparison.measure import Difference
from irloop.comparison.verdict import Verdict

__all__ = ["Comparison", "OutputReport", "TrialReport"]


@dataclass(frozen=True, slots=True)
class OutputReport:
    """One output in the trial in which it differs most. `detail` is empty where it is equal."""

    name: str
    other: str
    trial: str
    equal: bool
    type: str
    difference: Difference | None
    verdict: Verdict | None = None
    detail: str = ""

    def __str__(self) -> str:
        name = self.name if self.name == self.other else f"{self.name} / {self.other}"
        text = f"{name} {self.type}: {'equal' if self.equal else 'DIFFERENT'}"
        if self.difference is not None:
            found = self.difference
            text += f", max abs {found.absolute:.3g}, max rel {found.relative:.3g}"
            text += "" if found.ulp is None else f", {found.ulp} ULP"
            text += f", passes from {found.smallest:.3g}" if found.absolute else ""
        if not self.equal:
            text += f" ({self.trial}): {self.verdict}"
            text += f", {self.detail}" if self.detail else ""
        return text


@dataclass(frozen=True, slots=True)
class TrialReport:
    """One set of inputs: whether all outputs agreed, or why a model did not run."""

    label: str
    equal: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`. `equal` holds when every output agreed in every trial."""

    equal: bool
    engines: tuple[str, str]
    outputs: tuple[OutputReport, ...]
    trials: tuple[TrialReport, ...]
    divergence: Divergence | None
    problems: tuple[str, ...]
    not_exercised: tuple[str, ...]

    @property
    def compared(self) -> bool:
        """True when at least one trial ran on both sides; else nothing is known."""
        return any(not item.problem for item in self.trials)

    def __str__(self) -> str:
        ran = sum(not trial.problem for trial in self.trials)
        words = "equal" if self.equal else "NOT equal"
        lines = [
            f"{words}: {ran} of {len(self.trials)} trials ran, {' against '.join(self.engines)}"
        ]
        lines += [f"  {item}" for item in self.outputs]
        lines += [f"  {item}" for item in self.problems]
        if self.divergence is not None:
            lines.append(f"  {self.divergence}")
        lines += [f"  not exercised: {item}" for item in self.not_exercised]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for JSON."""
        return {
            "equal": self.equal,
            "compared": self.compared,
            "engines": list(self.engines),
            "outputs": [_output_dict(item) for item in self.outputs],
            "trials": [
                {"inputs": item.label, "equal": item.equal, "problem": item.problem}
                for item in self.trials
            ],
            "divergence": None if self.divergence is None else str(self.divergence),
            "verdict": None if self.divergence is None else self.divergence.verdict.name.lower(),
            "problems": list(self.problems),
            "not_exercised": list(self.not_exercised),
        }


def _output_dict(item: OutputReport) -> dict[str, Any]:
    found = item.difference
    return {
        "name": item.name,
        "other": item.other,
        "equal": item.equal,
        "type": item.type,
        "inputs": item.trial,
        "max_abs": None if found is None else found.absolute,
        "max_rel": None if found is None else found.relative,
        "ulp": None if found is None else found.ulp,
        "smallest_tolerance": None if found is None else found.smallest,
        "verdict": None if item.verdict is None else item.verdict.name.lower(),
        "detail": item.detail,
    }
