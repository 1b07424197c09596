"""Derives the verdict of a comparison from all trials and engines (see `outcome`).

The expected outputs are those of irloop's executor for the first model or, if it cannot run the
model, of the first engine that can. Every other run is compared with them. If an engine of the
first model agrees with one of the second, the models are equal, whatever the executor computes.
Whether the values are equal, and whether each engine ran each model, is decided separately.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irloop.comparison.engine_differences import Explainer
from irloop.comparison.inputs import Trial
from irloop.comparison.judge import Judge, is_worse
from irloop.comparison.lanes import NUMPY, Lane
from irloop.comparison.outcome import DIFFERENT, EQUAL, EQUAL_WHERE_RUN, INCONCLUSIVE, Unrun
from irloop.comparison.report import EngineReport, OutputReport, TrialReport
from irloop.comparison.runs import Run
from irloop.comparison.settling import is_telling
from irloop.engines.answer import Failure
from irloop.progress import counted

__all__ = ["Tally"]

#: A run in an engine that times out counts as hung only if its limit was at least this many
#: seconds.
HANG = 1.0


class Tally:
    """Evaluates the trials of a comparison: `count` compares outputs, other methods report."""

    def __init__(
        self,
        judge: Judge,
        explainer: Explainer,
        runs: Mapping[Lane, Sequence[Run]],
        trials: Sequence[Trial],
        *,
        seconds: float,
    ) -> None:
        self._judge = judge
        self._explainer = explainer
        self._runs = runs
        self._trials = trials
        self._seconds = seconds
        self._worst: dict[str, OutputReport] = {}
        self._shown: set[int] = set()
        self._agreed: dict[Lane, int] = dict.fromkeys(runs, 0)
        self._ran: dict[Lane, int] = dict.fromkeys(runs, 0)
        self._apart: dict[Lane, float] = dict.fromkeys(runs, 0.0)
        self._excused: dict[Lane, set[int]] = {}
        #: For each lane, the trials with an output that depends on rounding.
        self._unstable: dict[Lane, set[int]] = {}
        self._amplified: dict[tuple[Lane, int], str] = {}
        self._notes: dict[str, list[str]] = {}
        self._problems: dict[str, list[str]] = {}
        #: For each lane, the first trial that it did not run although the other model ran.
        self._unrun: dict[Lane, tuple[Trial, Run]] = {}
        #: One report for each trial that the first model ran.
        self.reports: list[TrialReport] = []
        self._skipped: dict[str, list[str]] = {}
        #: The numbers of the trials in which an output differs.
        self.failed: list[int] = []
        #: The number of the first trial that irloop's executor runs for one of the models only.
        self.stopped: int | None = None
        #: The number of the first trial in which only one model reaches a limit.
        self.limited: int | None = None

    def count(self) -> None:
        """Compare the outputs in every trial; the other methods then return the results."""
        trials = counted("comparing trials", self._trials, len(self._trials))
        for number, trial in enumerate(trials):
            # The expected outputs are those of the first lane of the first model that has any.
            lanes = [lane for lane in self._runs if lane.side == 0]
            wanted = next(
                (lane for lane in lanes if self._runs[lane][number].outputs is not None), None
            )
            if wanted is None:
                self._without_reference(number, trial)
            else:
                self._tried(number, trial, wanted)

    def outcome(self) -> str:
        """The outcome: a key of `outcome.OUTCOMES`."""
        if self.stopped is not None or any(not item.equal for item in self._worst.values()):
            return DIFFERENT
        if not self._shown and (self._names() or not any(item.compared for item in self.reports)):
            return INCONCLUSIVE
        if self._is_unproved() or self._only_unstable() is not None:
            return INCONCLUSIVE
        return EQUAL_WHERE_RUN if self.unrun() else EQUAL

    def unrun(self) -> tuple[Unrun, ...]:
        """The models that an engine did not run, in any trial or in one that the other model ran.

        A run that a limit of irloop ended says nothing about the model and does not count.
        """
        failures = []
        for lane in self._runs:
            trial, run = self._unrun.get(lane, (None, None))
            if lane.engine != NUMPY and not self._has_run(lane):
                trial = None
                run = next(
                    (run for run in self._runs[lane] if not self._is_limited(lane, run)), None
                )
            if run is not None:
                place = "" if trial is None or not self._has_run(lane) else trial.label
                failure = run.failure or Failure.RAISED
                words = run.words or run.reason
                file = self._file(lane)
                failures.append(Unrun(lane.model, str(lane.engine), file, failure, words, place))
        return tuple(failures)

    def outputs(self) -> tuple[OutputReport, ...]:
        """One report per output, from the trial and the engine in which the output differs most.

        Empty if no run of the second model succeeded.
        """
        if not any(ran for lane, ran in self._ran.items() if lane.side == 1):
            return ()
        return tuple(self._worst[name] for name in self._names() if name in self._worst)

    def problems(self) -> Iterator[str]:
        """Yield each distinct problem, with the trials in which it happened.

        If there is no problem, but nothing was compared, yield the reason for this instead.
        """
        yield from _grouped(self._problems)
        if self._shown and self._is_unproved():
            yield "no engine ran a model: that irloop's own executor agrees with itself is no proof"
        unstable = self._only_unstable()
        if unstable is not None:
            yield (
                f"in every trial, the values of the {unstable.model} model in {unstable.engine} "
                "depend on rounding: give inputs for which the model is stable (--inputs)"
            )
        if self._problems or self._shown:
            return
        if not self.reports:
            why = next(iter(self.skipped()), "")
            yield f"no generated inputs could be run{why and ': '}{why}"
        elif self._names():
            yield "nothing was compared: every output was empty or all NaN in every trial"

    def notes(self) -> Iterator[str]:
        """Notes on differences that are not errors."""
        yield from _grouped(self._notes)

    def skipped(self) -> Iterator[str]:
        """Reasons why trials were skipped, each with the trials that it concerns."""
        yield from _grouped(self._skipped)

    def not_compared(self) -> Iterator[str]:
        """Yield a line for each output that no trial compared because it was empty or all NaN.

        If no output was compared at all, nothing is yielded.
        """
        if not self._shown:
            return
        for at, name in enumerate(self._names()):
            if at not in self._shown:
                yield f"{name} was empty or all NaN in every trial"

    def engines(self) -> Iterator[EngineReport]:
        """Yield one report for each pair of a model and an engine that ran it."""
        for lane, runs in self._runs.items():
            engine = lane.engine
            yield EngineReport(
                engine.name,
                engine.version,
                lane.model,
                len(self._trials),
                self._ran[lane],
                self._agreed[lane],
                len(self._excused.get(lane, ())),
                self._apart[lane],
                any(run.late and not run.refused for run in runs),
            )

    def _names(self) -> tuple[str, ...]:
        return self._judge.names[0]

    @property
    def has_compared(self) -> bool:
        """Return whether outputs that can show a difference were compared."""
        return bool(self._shown)

    def _is_unproved(self) -> bool:
        """Return whether engines take part, but none of them ran a model."""
        engines = [lane for lane in self._runs if lane.engine != NUMPY]
        return bool(engines) and not any(map(self._has_run, engines))

    def _only_unstable(self) -> Lane | None:
        """The first lane whose outputs depend on rounding in every trial that it ran."""
        for lane, numbers in self._unstable.items():
            ran = {at for at, run in enumerate(self._runs[lane]) if run.outputs is not None}
            if ran <= numbers:
                return lane
        return None

    def _has_run(self, lane: Lane) -> bool:
        return any(run.outputs is not None for run in self._runs[lane])

    def _is_limited(self, lane: Lane, run: Run) -> bool:
        """Return whether a limit of irloop ended a run, or refused it."""
        return run.refused or (run.late and (lane.engine == NUMPY or self._seconds < HANG))

    def _file(self, lane: Lane) -> str:
        """The name of the file of a model, or words for a model without a file."""
        side = self._explainer.sides[lane.side]
        name = os.path.basename(side.file or side.model.source or "")
        return name or f"the {lane.model} model"

    def _without_reference(self, number: int, trial: Trial) -> None:
        """Record a trial in which no engine ran the first model.

        The trial is reported as a problem if an engine ran the second model, unless that model was
        converted from the first. Otherwise the trial is skipped, because the inputs may be invalid.
        """
        runs = [(lane, item[number]) for lane, item in self._runs.items()]
        mine = [(lane, run) for lane, run in runs if lane.side == 0]
        reason = next((run.reason for _, run in mine), "no engine")
        ran = any(run.outputs is not None for lane, run in runs if lane.side == 1)
        tried = [(lane, run) for lane, run in mine if not self._is_limited(lane, run)]
        if ran and tried and not self._explainer.converted:
            problem = self._problem(number, trial, *tried[0])
            self.reports.append(TrialReport(trial.label, False, problem, compared=False))
            return
        # If the first model rejects the inputs, they prove nothing.
        asked = ", and no engine tried it" if trial.refused else ""
        self._skip(f"the first model did not run{asked}: {reason}", trial)

    def _tried(self, number: int, trial: Trial, reference: Lane) -> None:
        wanted = self._judge.ordered(reference, self._runs[reference][number])
        problem = ""
        all_reports: list[OutputReport] = []
        others = [lane for lane in self._runs if lane != reference]
        self._ran[reference] += 1
        self._agreed[reference] += 1
        for lane in others:
            if self._runs[lane][number].outputs is None:
                problem = problem or self._failure(number, trial, lane)
                continue
            self._ran[lane] += 1
            reports = self._outputs(number, trial, lane, wanted)
            self._agreed[lane] += all(report.equal for report in reports)
            all_reports += reports
        for report in all_reports:
            if report.name not in self._worst or is_worse(report, self._worst[report.name]):
                self._worst[report.name] = report
        equal = not problem and all(report.equal for report in all_reports)
        compared = any(
            self._runs[lane][number].outputs is not None for lane in others if lane.side == 1
        )
        if not compared and not problem:
            return
        self.reports.append(TrialReport(trial.label, equal, problem, compared))
        if compared:
            types = [value.type for value in self._explainer.sides[0].model.graph.outputs]
            pairs = enumerate(zip(wanted, types, strict=True))
            self._shown |= {at for at, (value, type) in pairs if is_telling(value, type)}
        wrong = [report for report in all_reports if not report.equal]
        if any(self._is_traced(report) for report in wrong):
            self.failed.append(number)

    def _is_traced(self, report: OutputReport) -> bool:
        """Return whether a trace of irloop's executor may show where a difference begins.

        `report` describes the output that differs. Other engines cannot be traced. If the executor
        is not among the engines of the second model, the result is always true. Otherwise the
        executor must have computed the output, because its trace does not show differences in other
        engines.
        """
        return report.engine == NUMPY.name or Lane(1, NUMPY) not in self._runs

    def _failure(self, number: int, trial: Trial, lane: Lane) -> str:
        """Record that `trial` did not run in `lane`, and return the problem to report.

        `lane` is one of the two models in one engine, and `number` is the index of `trial`. Returns
        an empty string if the failure counts only as a note, or the trial as skipped.
        """
        run = self._runs[lane][number]
        if self._is_limited(lane, run):
            if lane.engine == NUMPY and self.limited is None:
                self.limited = number
            self._skip(f"the {lane.model} model did not run: {run.reason}", trial)
            return ""
        if lane.engine == NUMPY:
            # The engine of the model's format decides. A converted model must run in the executor
            # if the source does.
            made = self._explainer.converted and lane.side == 1
            if self._ran_in_engine(lane.side, number) and not (made and self._source_ran(number)):
                self._note(f"the {lane.model} model did not run in numpy: {run.reason}", trial)
                return ""
        elif self._has_engine(1 - lane.side) and not self._ran_in_engine(1 - lane.side, number):
            self._note(f"neither model ran in the engine of its format: {run.reason}", trial)
            return ""
        return self._problem(number, trial, lane, run)

    def _problem(self, number: int, trial: Trial, lane: Lane, run: Run) -> str:
        """Record that one model did not run in `lane` although the other one ran."""
        self._unrun.setdefault(lane, (trial, run))
        if lane.engine == NUMPY and self.stopped is None:
            self.stopped = number
        problem = f"the {lane.model} model did not run: {run.reason}"
        self._problems.setdefault(problem, []).append(trial.label)
        return problem

    def _source_ran(self, number: int) -> bool:
        """Return whether irloop's executor ran the first model in trial `number`."""
        runs = self._runs.get(Lane(0, NUMPY))
        return runs is not None and runs[number].outputs is not None

    def _has_engine(self, side: int) -> bool:
        return any(lane.side == side and lane.engine != NUMPY for lane in self._runs)

    def _ran_in_engine(self, side: int, number: int) -> bool:
        """Return whether an engine other than irloop's executor ran a model in trial `number`."""
        return any(
            runs[number].outputs is not None
            for lane, runs in self._runs.items()
            if lane.side == side and lane.engine != NUMPY
        )

    def _outputs(
        self, number: int, trial: Trial, lane: Lane, wanted: Sequence[Any]
    ) -> list[OutputReport]:
        """Compare the outputs of one engine with the expected outputs `wanted` of a trial.

        Returns one report per output; the report of an output that differs has all details. A
        differing output gets no report if its difference is not due to the conversion. No differing
        output gets one if any output of the trial is undefined, such as the last value of a loop
        that never ran. `lane` is the engine with the model it runs, and `number` the position of
        the trial.
        """
        outputs = self._judge.ordered(lane, self._runs[lane][number])
        undefined = any(runs[number].undefined for runs in self._runs.values())
        reports = []
        for place, item in enumerate(self._judge.outputs(trial, wanted, lane, outputs)):
            report = replace(item, engine=lane.engine.name, model=lane.model)
            if report.difference is not None and report.equal:
                self._apart[lane] = max(self._apart[lane], report.difference.absolute)
            if report.equal:
                reports.append(report)
            elif undefined:
                if lane.side == 1 and lane.engine == NUMPY:
                    self._skip(f"{report.name} has no value there", trial)
            elif not self._is_excused(number, trial, lane, place, report.name, wanted[place]):
                reports.append(self._detailed(number, lane, place, report, wanted[place]))
        return reports

    def _is_excused(
        self, number: int, trial: Trial, lane: Lane, place: int, name: str, wanted: Any
    ) -> bool:
        """Return whether the difference in an output is not due to the conversion.

        The reason is then added to the notes. `number` is the position of the trial, `place` that
        of the output, and `name` its name.
        """
        if lane.engine != NUMPY and self._is_shared(number, lane, place):
            words = (
                "both models return the same values in their engines, but different values in numpy"
            )
        else:
            reason = self._explainer.reason(lane, number, place, wanted)
            if reason is None or not reason.harmless:
                return False
            words = reason.words
            if reason.unstable:
                self._unstable.setdefault(lane, set()).add(number)
                # One note for an output is enough, with the figures of the first trial.
                words = self._amplified.setdefault((lane, place), words)
        self._note(f"{name} of the {lane.model} model in {lane.engine}: {words}", trial)
        self._excused.setdefault(lane, set()).add(number)
        return True

    def _detailed(
        self, number: int, lane: Lane, place: int, report: OutputReport, wanted: Any
    ) -> OutputReport:
        """Add the reason, if it is known, to the report of an output that differs.

        `number` is the index of the trial, `lane` the model and engine that computed the output,
        `place` the index of the output, and `wanted` its expected value.
        """
        reason = self._explainer.reason(lane, number, place, wanted)
        words = "" if reason is None else reason.words
        if lane.engine != NUMPY and Lane(1, NUMPY) in self._runs:
            words = words or "both models agree in irloop's own executor"
        return replace(report, detail="; ".join(part for part in (report.detail, words) if part))

    def _is_shared(self, number: int, lane: Lane, place: int) -> bool:
        """Return whether the other model gives the same output as `lane` in at least one engine.

        The NumPy executor does not count as an engine. `number` is the index of the trial, and
        `place` the index of the output.
        """
        mine = self._judge.ordered(lane, self._runs[lane][number])[place]
        return any(
            self._judge.agree(mine, self._judge.ordered(other, runs[number])[place])
            for other, runs in self._runs.items()
            if other.side != lane.side and other.engine != NUMPY
            if runs[number].outputs is not None
        )

    def _skip(self, text: str, trial: Trial) -> None:
        self._skipped.setdefault(text, []).append(trial.label)

    def _note(self, text: str, trial: Trial) -> None:
        self._notes.setdefault(text, []).append(trial.label)


def _grouped(labelled: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield each text with its first label and the number of its other labels.

    `labelled` maps each text to the labels of the trials in which it occurs.
    """
    for text, labels in labelled.items():
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        yield f"{text} ({labels[0]}{more})"
