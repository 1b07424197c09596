"""Do two models compute the same? Both are run with the same inputs, again and again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from irloop.comparison.divergence import Divergence, find_divergence
from irloop.comparison.engines import ITERATIONS, Run, run_all
from irloop.comparison.exercised import not_exercised
from irloop.comparison.inputs import INTEGERS, TRIPS, Trial, made_trials, sizes_of, with_arrays
from irloop.comparison.matching import converted, input_positions, output_positions, refined
from irloop.comparison.measure import Tolerance, measure
from irloop.comparison.report import Comparison, OutputReport, TrialReport
from irloop.comparison.verdict import verdict_of
from irloop.engines.catalogue import engine_of, require
from irloop.errors import IrloopError, LimitError
from irloop.execution.limits import Limits
from irloop.execution.session import Session, output_names
from irloop.formats.detect import detect
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.openvino import reader as ir_reader
from irloop.graph.model import Model

__all__ = ["Comparison", "OutputReport", "TrialReport", "compare", "read_side"]

Path = str | os.PathLike[str]


def compare(
    first: Model | Path,
    second: Model | Path,
    *,
    inputs: Any = None,
    engines: tuple[str, str] = ("numpy", "numpy"),
    seeds: Sequence[int] = (0, 1),
    trips: Sequence[int] = TRIPS,
    sizes: Mapping[str, int] | None = None,
    tolerance: Tolerance | None = None,
    seconds: float = 60.0,
) -> Comparison:
    """Run two models with the same inputs and report what differs.

    Args:
        first: a model or the path of one; its element types and shapes make the inputs.
        second: the other one; of any format, too.
        inputs: arrays by name or by position, or a list of such; made where None.
        engines: one for each model: numpy, onnxruntime, openvino, onnx-reference.
        seeds: one set of numbers is made for each.
        trips: what inputs that are trip counts are set to.
        sizes: sizes of dimensions that are not known, by their name ("?": those without one).
        tolerance: what counts as equal; by default as fits each element type.
        seconds: the time that one run of one model may take.

    Raises:
        UsageError: for an engine that is missing or cannot run such a model, or inputs that do
            not fit it.
        ReadError: when a file is not the model it claims to be.
    """
    sides = (_Side.of(first, engines[0]), _Side.of(second, engines[1]))
    for side in sides:
        require(engine_of(side.engine), side.model)
    judge = _Judge(sides, tolerance or Tolerance(), seconds, made=inputs is None)
    if inputs is None:
        trials = _made(sides, seeds, trips, sizes, seconds)
    else:
        trials = with_arrays(sides[0].model, inputs)
    return judge.compare(trials)


def read_side(given: Model | Path) -> Model:
    """A model that is one already, or the path of one.

    Raises:
        ReadError: when the file is not the model it claims to be.
    """
    if isinstance(given, Model):
        return given
    return (ir_reader.read if detect(given) == "openvino" else onnx_reader.read)(given)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two models, the file it came from, and the engine it runs in."""

    model: Model
    file: str | None
    engine: str

    @classmethod
    def of(cls, given: Model | Path, engine: str) -> _Side:
        if isinstance(given, Model):
            return cls(given, None, engine)
        return cls(read_side(given), os.fspath(given), engine)


def _made(
    sides: tuple[_Side, _Side],
    seeds: Sequence[int],
    trips: Sequence[int],
    sizes: Mapping[str, int] | None,
    seconds: float,
) -> list[Trial]:
    """Trials with the first sizes and integers with which the first model runs at all."""
    model = refined(sides[0].model, sides[1].model)
    try:
        session = Session(sides[0].model)
    except IrloopError:
        # Only another engine can run it, and takes the likeliest inputs.
        return made_trials(model, next(sizes_of([model], sizes)), seeds=seeds, trips=trips)
    first: list[Trial] = []
    for integers in INTEGERS:
        for found in sizes_of([model], sizes):
            trials = made_trials(model, found, seeds=seeds, trips=trips, integers=integers)
            first = first or trials
            if _runs(session, trials[0], seconds):
                return trials
    return first


def _runs(session: Session, trial: Trial, seconds: float) -> bool:
    try:
        session.run(trial.arrays, limits=Limits(iterations=ITERATIONS, seconds=seconds))
    except LimitError:
        # It runs, and on; other inputs would take as long to find that out.
        return True
    except IrloopError:
        return False
    return True


class _Judge:
    """Runs the trials on both sides and makes the report."""

    def __init__(
        self, sides: tuple[_Side, _Side], tolerance: Tolerance, seconds: float, *, made: bool
    ) -> None:
        self._made = made
        self._sides = sides
        self._tolerance = tolerance
        self._seconds = seconds
        first, second = (side.model for side in sides)
        numpy_only = all(side.engine == "numpy" for side in sides)
        # Rounding after each operation would hide what is different behind what is rounded.
        self._widen = True if numpy_only and first.dialect != second.dialect else None
        self._names = [output_names(side.model.graph) for side in sides]
        self._inputs = input_positions(first.graph, second.graph)
        self._outputs = output_positions(first.graph, second.graph)

    def compare(self, trials: Sequence[Trial]) -> Comparison:
        """The report over all trials."""
        problems = list(self._structure())
        if problems:
            return self._report(trials, [], [], problems)
        runs = [self._run(0, trials)]
        others = self._others(trials)
        runs.append(self._run(1, others))
        return self._report(trials, runs[0], runs[1], problems, others)

    def _run(self, index: int, trials: Sequence[Trial]) -> list[Run]:
        side = self._sides[index]
        return run_all(
            side.engine,
            side.model,
            trials,
            seconds=self._seconds,
            file=side.file,
            widen=self._widen,
        )

    def _structure(self) -> list[str]:
        first, second = (side.model.graph for side in self._sides)
        problems = []
        for what, left, right in (
            ("inputs", first.parameters, second.parameters),
            ("outputs", first.results, second.results),
        ):
            if len(left) != len(right):
                problems.append(f"{len(left)} {what} against {len(right)}")
        return problems

    def _others(self, trials: Sequence[Trial]) -> list[Trial]:
        """The same arrays in the order and the integer types of the second model."""
        parameters = self._sides[1].model.graph.inputs
        others = []
        for trial in trials:
            arrays: list[Any] = [None] * len(parameters)
            for at, value in zip(self._inputs, trial.arrays, strict=False):
                if at is not None:
                    arrays[at] = converted(value, parameters[at].type)
            others.append(Trial(trial.label, tuple(arrays)))
        return others

    def _report(
        self,
        trials: Sequence[Trial],
        left: Sequence[Run],
        right: Sequence[Run],
        problems: list[str],
        others: Sequence[Trial] = (),
    ) -> Comparison:
        reports: list[TrialReport] = []
        skipped: list[str] = []
        worst: dict[str, OutputReport] = {}
        failed = None
        for number, (trial, one, two) in enumerate(zip(trials, left, right, strict=False)):
            if one.outputs is None and (two.outputs is None or self._made):
                # Inputs that the first model does not take say nothing about a difference.
                skipped.append(f"{trial.label}: the first model does not run: {one.reason}")
                continue
            found, problem = self._tried(trial, one, two, skipped)
            reports.append(problem or TrialReport(trial.label, all(i.equal for i in found)))
            if failed is None and not problem and not reports[-1].equal:
                failed = number
            for item in found:
                if item.name not in worst or _is_worse(item, worst[item.name]):
                    worst[item.name] = item
        problems += _grouped(reports)
        if not problems and not reports:
            problems += [f"no inputs could be found to run with; {item}" for item in skipped[:1]]
        divergence = None
        if failed is not None:
            divergence = self._divergence((trials[failed].arrays, others[failed].arrays))
        return Comparison(
            not problems and all(item.equal for item in reports) and bool(reports),
            (self._sides[0].engine, self._sides[1].engine),
            tuple(worst[name] for name in self._names[0] if name in worst),
            tuple(reports),
            divergence,
            tuple(problems),
            tuple(self._missed(trials, left) + skipped),
        )

    def _tried(
        self, trial: Trial, one: Run, two: Run, skipped: list[str]
    ) -> tuple[list[OutputReport], TrialReport | None]:
        """The outputs of one trial, or the problem that kept them from being compared."""
        for name, run in (("first", one), ("second", two)):
            if run.outputs is None:
                problem = f"the {name} model did not run: {run.reason}"
                return [], TrialReport(trial.label, False, problem)
        found = self._outputs_of(trial, one, two)
        if one.undefined or two.undefined:
            lost = [item.name for item in found if not item.equal]
            skipped += [f"{trial.label}: {name} has no value there" for name in lost]
            found = [item for item in found if item.equal]
        return found, None

    def _missed(self, trials: Sequence[Trial], runs: Sequence[Run]) -> list[str]:
        side = self._sides[0]
        if side.engine != "numpy" and any(node.bodies for node in side.model.graph.nodes):
            runs = run_all("numpy", side.model, trials, seconds=self._seconds)
        return not_exercised(side.model, runs)

    def _outputs_of(self, trial: Trial, one: Run, two: Run) -> list[OutputReport]:
        assert one.outputs is not None
        assert two.outputs is not None
        found = []
        for at, other in enumerate(self._outputs):
            assert other is not None
            pair = one.outputs[at], two.outputs[other]
            found.append(self._judged(self._names[0][at], self._names[1][other], trial, *pair))
        return found

    def _judged(self, name: str, other: str, trial: Trial, x: Any, y: Any) -> OutputReport:
        if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            items = [self._judged(name, other, trial, *pair) for pair in zip(x, y, strict=True)]
            worst = next((item for item in items if not item.equal), None)
            kind = f"sequence of {len(x)}"
            if worst is not None:
                return replace(worst, type=kind)
            return OutputReport(name, other, trial.label, True, kind, None)
        if x is None and y is None:
            return OutputReport(name, other, trial.label, True, "nothing", None)
        both = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        kind = _kind(x)
        if both and x.dtype == y.dtype and x.shape == y.shape:
            difference = measure(x, y, self._tolerance)
            if difference.equal:
                return OutputReport(name, other, trial.label, True, kind, difference)
            starts = () if trial.idle else trial.arrays
            verdict, detail = verdict_of(x, y, self._tolerance, starts)
            return OutputReport(name, other, trial.label, False, kind, difference, verdict, detail)
        verdict, detail = verdict_of(x, y, self._tolerance)
        return OutputReport(name, other, trial.label, False, kind, None, verdict, detail)

    def _divergence(self, arrays: tuple[Sequence[Any], Sequence[Any]]) -> Divergence | None:
        first, second = (side.model for side in self._sides)
        try:
            return find_divergence(
                first, second, arrays, self._tolerance, seconds=self._seconds, widen=self._widen
            )
        except IrloopError:
            # Only irloop's own executor can be traced; without it the outputs have to do.
            return None


def _grouped(reports: Sequence[TrialReport]) -> list[str]:
    """Each problem once, with the trials it happened in."""
    found: dict[str, list[str]] = {}
    for item in reports:
        if item.problem:
            found.setdefault(item.problem, []).append(item.label)
    return [
        f"{problem} ({labels[0]}{f' and {len(labels) - 1} more' if len(labels) > 1 else ''})"
        for problem, labels in found.items()
    ]


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return "nothing" if value is None else "sequence"


def _is_worse(item: OutputReport, than: OutputReport) -> bool:
    if item.equal != than.equal:
        return than.equal
    if item.difference is None or than.difference is None:
        return than.difference is not None
    return item.difference.smallest > than.difference.smallest
