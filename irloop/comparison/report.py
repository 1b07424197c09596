"""The result of a comparison, as text and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from irloop.comparison.measure import Difference, Tolerance
from irloop.comparison.outcome import (
    ADD_ENGINES,
    DIFFERENT,
    EQUAL,
    EQUAL_WHERE_RUN,
    INCONCLUSIVE,
    OUTCOMES,
    Unrun,
)
from irloop.comparison.verdict import Verdict
from irloop.diagnostics import SHOWN_ROWS, first_few, html_table, html_text, one_line
from irloop.graph.model import Model

if TYPE_CHECKING:
    from irloop.comparison.causes.evidence import Cause
    from irloop.comparison.divergence import Divergence

__all__ = ["Comparison", "EngineReport", "Evidence", "OutputReport", "TrialReport"]


@dataclass(frozen=True, slots=True)
class OutputReport:
    """The report of one output in the trial in which it differs most.

    If the output is equal in all trials, `detail` is empty. `engine` is the engine that computed
    the output, and `model` is the model that it ran: "first" or "second".
    """

    name: str
    other: str
    trial: str
    equal: bool
    type: str
    difference: Difference | None
    verdict: Verdict | None = None
    detail: str = ""
    engine: str = "numpy"
    model: str = "second"

    def __str__(self) -> str:
        name = self.name if self.name == self.other else f"{self.name} / {self.other}"
        text = f"{name} {self.type}: {'equal' if self.equal else 'DIFFERENT'}"
        if not self.equal and (self.engine, self.model) != ("numpy", "second"):
            text += f" in the {self.model} model in {self.engine}"
        if self.difference is not None:
            gap = self.difference
            text += f", max abs {gap.absolute:.3g}, max rel {gap.relative:.3g}"
            text += "" if gap.ulp is None else f", {gap.ulp} ULP"
            text += f", rtol = atol = {gap.smallest:.3g} suffices" if gap.absolute else ""
        if not self.equal:
            text += f" ({self.trial}): {self.verdict}"
            text += f", {self.detail}" if self.detail else ""
        return text


@dataclass(frozen=True, slots=True)
class TrialReport:
    """The report of one set of inputs: whether all outputs agreed, or why a model did not run.

    The trial is `compared` if at least two runs produced outputs.
    """

    label: str
    equal: bool
    problem: str = ""
    compared: bool = True


@dataclass(frozen=True, slots=True)
class EngineReport:
    """The report of one model in one engine.

    The model ran in `ran` trials, and all outputs agreed in `agreed` of them. In `excused` trials
    all differences are explained in `Comparison.notes`. `worst` is the largest difference from the
    expected values. `late` is true if a trial ran out of time.
    """

    engine: str
    version: str
    model: str
    tried: int
    ran: int
    agreed: int
    excused: int = 0
    worst: float = 0.0
    late: bool = False

    def __str__(self) -> str:
        name = self.engine if self.engine == "numpy" else f"{self.engine} {self.version}".rstrip()
        if not self.ran:
            return f"{name} (did not finish)" if self.late else f"{name} (did not run)"
        if self.agreed < self.ran:
            return f"{name} (differs)"
        if self.ran < self.tried:
            return f"{name} (ran {self.ran} times)"
        return f"{name} (see notes)" if self.excused else name


@dataclass(frozen=True, slots=True)
class Evidence:
    """The data with which a report runs both models again: the inputs of one trial.

    `arrays` holds the inputs of the first and of the second model. The trial is one that shows the
    difference, if there is any.
    """

    label: str
    models: tuple[Model, Model]
    arrays: tuple[Sequence[Any], Sequence[Any]]
    tolerance: Tolerance
    seconds: float
    widen: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of `compare`: what holds of the two models.

    `outcome` is "equal", "equal-where-run", "different", or "inconclusive" (see
    `irloop.comparison.outcome`); `problems` has the reasons. `unrun` has the models that an engine
    did not run although it could be expected to. `cause` names the wire, constant or operation that
    makes the difference, if one is found. `runs` describes each model in each engine, `missing`
    names engines that are not installed, and `notes` explain differences that do not count.
    `not_compared` and `not_exercised` name the parts of the models that no trial has checked.
    """

    outcome: str
    engines: tuple[str, str]
    outputs: tuple[OutputReport, ...]
    trials: tuple[TrialReport, ...]
    divergence: Divergence | None
    problems: tuple[str, ...]
    not_exercised: tuple[str, ...]
    exercised: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    runs: tuple[EngineReport, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cause: Cause | None = None
    unrun: tuple[Unrun, ...] = ()
    #: The data for `irloop.save_report`; None if nothing ran.
    evidence: Evidence | None = field(default=None, repr=False, compare=False)

    @property
    def equal(self) -> bool:
        """Return whether nothing differs, and each engine that takes part ran its model."""
        return self.outcome == EQUAL

    @property
    def differs(self) -> bool:
        """Return whether an output differs, or the models have other inputs or outputs."""
        return self.outcome == DIFFERENT

    @property
    def inconclusive(self) -> bool:
        """Return whether nothing is known."""
        return self.outcome == INCONCLUSIVE

    @property
    def status(self) -> int:
        """The exit status of a check: 0 if the models are equal, 2 if nothing is known, else 1."""
        return OUTCOMES[self.outcome].status

    @property
    def converts(self) -> bool:
        """Return whether the second model may replace the first: it always ran."""
        first_only = all(item.model == "first" for item in self.unrun)
        return self.equal or (self.outcome == EQUAL_WHERE_RUN and first_only)

    @property
    def headline(self) -> str:
        """What holds, in words: the verdict, and the cause of a difference or who did not run."""
        words = OUTCOMES[self.outcome].words
        if self.outcome == EQUAL_WHERE_RUN:
            return "; ".join([words, *map(str, self.unrun)])
        return words if self.cause is None else f"{words}: {self.cause}"

    @property
    def compared(self) -> bool:
        """Return whether at least one trial ran on both sides; otherwise nothing is known."""
        return any(item.compared for item in self.trials)

    def __str__(self) -> str:
        ran = sum(trial.compared for trial in self.trials)
        trials = f"{ran} of {len(self.trials)} trials ran" if self.trials else "no trial ran"
        rest = f"{trials}; {self._engines_in_words()}"
        is_long = self.cause is not None or self.outcome == EQUAL_WHERE_RUN
        lines = [self.headline, f"  {rest}"] if is_long else [f"{self.headline}: {rest}"]
        # An outcome is inconclusive if, for example, the outputs hold only NaN. Listing the outputs
        # would then prove nothing.
        lines += [f"  {item}" for item in self.outputs if not self.inconclusive]
        lines += [f"  {item}" for item in self.problems]
        if self.divergence is not None:
            lines.append(f"  {self.divergence}")
        lines += [f"  note: {item}" for item in self.notes]
        if self.missing:
            lines.append(f"  note: to compare in the engines as well: {ADD_ENGINES}")
        lines += [f"  exercised: {'; '.join(self.exercised)}"] if self.exercised else []
        for what, items in (
            ("not exercised", self.not_exercised),
            ("not compared", self.not_compared),
        ):
            lines += first_few([f"  {what}: {item}" for item in items], "--format json or --report")
        return "\n".join(map(one_line, lines))

    def _engines_in_words(self) -> str:
        """The engines that took part, and those that are not installed."""
        sides = [
            [item for item in self.runs if item.model == model] for model in ("first", "second")
        ]
        names = [", ".join(map(str, items)) for items in sides] if all(sides) else self.engines
        text = f"first model: {names[0]}; second model: {names[1]}"
        if self.missing:
            text += f"; not installed: {', '.join(self.missing)}"
        return text

    def _repr_html_(self) -> str:
        """Verdict, cause and outputs as tables, for notebooks."""
        first, *lines = str(self).splitlines()
        parts = [f"<p><b>{html_text(first)}</b></p>"]
        columns = ("output", "type", "equal", "max abs", "max rel", "ULP", "inputs", "detail")
        parts.append(html_table(columns, map(_row, self.outputs[:SHOWN_ROWS])))
        others = {f"  {item}" for item in map(one_line, map(str, self.outputs))}
        rest = [line for line in lines if line not in others]
        parts += [f"<div>{html_text(line.strip())}</div>" for line in rest[:SHOWN_ROWS]]
        return "".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data, for JSON."""
        return {
            "equal": self.equal,
            "outcome": self.outcome,
            "words": OUTCOMES[self.outcome].words,
            "headline": self.headline,
            "not_run": [
                {
                    "engine": item.engine,
                    "model": item.model,
                    "failure": str(item.failure),
                    "reason": item.reason,
                    "inputs": item.trial,
                }
                for item in self.unrun
            ],
            "compared": self.compared,
            "engines": list(self.engines),
            "runs": [
                {
                    "engine": item.engine,
                    "version": item.version,
                    "model": item.model,
                    "trials_run": item.ran,
                    "trials_equal": item.agreed,
                    "trials_excused": item.excused,
                    "max_abs": item.worst,
                }
                for item in self.runs
            ],
            "not_installed": list(self.missing),
            "outputs": [_output_dict(item) for item in self.outputs],
            "trials": [
                {"inputs": item.label, "equal": item.equal, "problem": item.problem}
                for item in self.trials
            ],
            "divergence": None if self.divergence is None else str(self.divergence),
            "verdict": None if self.divergence is None else self.divergence.verdict.name.lower(),
            "cause": None if self.cause is None else self.cause.to_dict(),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "exercised": list(self.exercised),
            "not_exercised": list(self.not_exercised),
            "not_compared": list(self.not_compared),
        }


def _row(output: OutputReport) -> tuple[object, ...]:
    difference = output.difference
    name = output.name if output.name == output.other else f"{output.name} / {output.other}"
    numbers: tuple[object, ...] = (None, None, None)
    if difference is not None:
        numbers = (f"{difference.absolute:.3g}", f"{difference.relative:.3g}", difference.ulp)
    equal = "yes" if output.equal else "NO"
    return (name, output.type, equal, *numbers, output.trial, output.detail)


def _output_dict(report: OutputReport) -> dict[str, Any]:
    difference = report.difference
    return {
        "name": report.name,
        "other": report.other,
        "equal": report.equal,
        "type": report.type,
        "inputs": report.trial,
        "engine": report.engine,
        "model": report.model,
        "max_abs": None if difference is None else difference.absolute,
        "max_rel": None if difference is None else difference.relative,
        "ulp": None if difference is None else difference.ulp,
        "smallest_tolerance": None if difference is None else difference.smallest,
        "verdict": None if report.verdict is None else report.verdict.name.lower(),
        "detail": report.detail,
    }
