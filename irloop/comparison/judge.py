"""Decides whether two models agree in a single output, and in all outputs of a run.

Two outputs agree if they differ by no more than the tolerance of the comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop.comparison.inputs import Trial
from irloop.comparison.lanes import NUMPY, Lane
from irloop.comparison.measure import Tolerance, measure
from irloop.comparison.report import OutputReport
from irloop.comparison.runs import Run
from irloop.comparison.verdict import verdict_of
from irloop.graph.record import Record

__all__ = ["Judge", "is_worse"]


class Judge(Record):
    """Decides whether outputs of the two models agree, with one tolerance.

    `names` holds the names of the outputs of both models. `places` holds, for each output of the
    first model, its position in the second. `looped` tells for each output of the first model
    whether a loop of one of the models computes it.
    """

    tolerance: Tolerance
    names: tuple[tuple[str, ...], tuple[str, ...]]
    places: tuple[int, ...]
    looped: tuple[bool, ...] = ()

    def ordered(self, lane: Lane, run: Run) -> list[Any]:
        """The outputs of a run in the order of the first model."""
        assert run.outputs is not None
        if lane.side == 0:
            return run.outputs
        return [run.outputs[at] for at in self.places]

    def outputs(
        self, trial: Trial, wanted: Sequence[Any], lane: Lane, found: Sequence[Any]
    ) -> list[OutputReport]:
        """Compare the outputs of a trial with the expected outputs, and report on each.

        `wanted` holds the expected outputs, and `found` those of `lane` (a model in an engine).
        Both, and the reports, are in the order of the first model's outputs.
        """
        names = self.names[0]
        others = names if lane.side == 0 else [self.names[1][at] for at in self.places]
        single = lane.engine.name == "openvino"
        judge = replace(self, tolerance=replace(self.tolerance, single=single))
        looped = self.looped or (True,) * len(names)
        return [
            replace(judge, looped=(loops,))._judged(
                OutputReport(name, other, trial.label, True, _kind(x), None), trial, x, y
            )
            for name, other, x, y, loops in zip(names, others, wanted, found, looped, strict=True)
        ]

    def agree(self, x: Any, y: Any) -> bool:
        """Return whether two values agree within the tolerance, whichever engines computed them.

        As some engines compute f64 in f32, f64 values get the tolerance of f32.
        """
        judge = replace(self, tolerance=replace(self.tolerance, single=True))
        blank = OutputReport("", "", "", True, "", None)
        return judge._judged(blank, Trial("", (), idle=True), x, y).equal

    def _judged(self, report: OutputReport, trial: Trial, x: Any, y: Any) -> OutputReport:
        if isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            items = [self._judged(report, trial, *pair) for pair in zip(x, y, strict=True)]
            worst = next((item for item in items if not item.equal), None)
            return replace(worst or report, type=f"sequence of {len(x)}")
        if x is None and y is None:
            return report
        loops = any(self.looped)
        both = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        if both and x.dtype == y.dtype and x.shape == y.shape:
            difference = measure(x, y, self.tolerance)
            if difference.equal:
                return replace(report, difference=difference)
            starts = () if trial.idle else trial.arrays
            verdict, detail = verdict_of(x, y, self.tolerance, starts, loops=loops)
            return replace(
                report, equal=False, difference=difference, verdict=verdict, detail=detail
            )
        verdict, detail = verdict_of(x, y, self.tolerance, loops=loops)
        return replace(report, equal=False, verdict=verdict, detail=detail)


def is_worse(report: OutputReport, than: OutputReport) -> bool:
    """Return whether `report` of an output is to be shown instead of report `than`.

    A report with a difference is preferred to a report without a difference. If reports from two
    engines show a difference, that of irloop's own executor is preferred, because it has more
    details. If both are from the same engine, the one with the larger difference is preferred.
    """
    if report.equal != than.equal:
        return than.equal
    if not report.equal and report.engine != than.engine:
        return report.engine == NUMPY.name
    if report.difference is None or than.difference is None:
        return than.difference is not None and report.engine == than.engine
    return report.difference.smallest > than.difference.smallest


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    return "nothing" if value is None else "sequence"
