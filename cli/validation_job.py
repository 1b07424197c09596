"""The validation of one model: the job, its result, and its failure.

The job names the model and the options. Jobs and results are passed between processes.
"""

from __future__ import annotations

from typing import NamedTuple

from irloop.allowance import allowance_for
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.errors import InternalError, IrloopError, LimitError, ReadError

__all__ = ["IrloopFailure", "Job", "Outcome", "done", "lost", "run"]


class Job(NamedTuple):
    """One model to validate."""

    model: str
    weights: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    engines: tuple[str, ...] = ()
    memory: int | None = None
    seconds: float | None = None
    max_same: int | None = None
    no_ignore: bool = False


class Outcome(NamedTuple):
    """The findings in one model, and its suppressed findings."""

    findings: list[Diagnostic]
    suppressed: list[Diagnostic]


class IrloopFailure(NamedTuple):
    """An irloop exception that is passed between processes."""

    message: str
    diagnostics: tuple[Diagnostic, ...]


def done(job: Job) -> Outcome | IrloopFailure:
    """Run a job; return its result, or the error that prevented it from running."""
    try:
        return run(job)
    except IrloopError as error:
        return IrloopFailure(error.message, error.diagnostics)


def lost(job: Job, code: str, message: str, fix: str) -> Outcome:
    """Return the result of a job whose process timed out or died: one error for its model.

    `code`, `message` and `fix` are the parts of this error.
    """
    place = Location(file=job.model)
    return Outcome([Diagnostic(code, Severity.ERROR, message, place, fix=fix)], [])


def run(job: Job) -> Outcome:
    """Run a job and return its result.

    Raises:
        IrloopError: when the job cannot be done at all.
    """
    from irloop import validate

    try:
        with allowance_for([job.model, job.weights], job.memory, job.seconds).held():
            report = validate(
                job.model,
                job.weights,
                select=job.select,
                ignore=job.ignore,
                engines=job.engines,
                max_same_findings=job.max_same,
                no_ignore=job.no_ignore,
            )
    except (ReadError, LimitError, InternalError) as error:
        return Outcome([item.in_file(job.model) for item in error.diagnostics], [])
    return Outcome(
        [item.in_file(job.model) for item in report.sorted()],
        [item.in_file(job.model) for item in report.suppressed],
    )
