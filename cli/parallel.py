"""Validating many models: one after the other, or in several processes."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from typing import NamedTuple

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.errors import InternalError, IrloopError, LimitError, ReadError, UsageError

from .limits import allowance_for

__all__ = ["IrloopFailure", "Job", "Outcome", "done", "lost", "outcomes", "processes_for"]

#: Starting a process takes as long as validating so many bytes of XML.
WORTH = 2_000_000


class Job(NamedTuple):
    """One model to validate."""

    model: str
    weights: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    engines: tuple[str, ...] = ()
    memory: int | None = None
    seconds: float | None = None


class Outcome(NamedTuple):
    """What was found in one model, and what it says itself to leave out."""

    findings: list[Diagnostic]
    suppressed: list[Diagnostic]


def processes_for(models: Sequence[str], wanted: int | None) -> int:
    """How many processes to use: as many as asked for, else what the size of the files is worth."""
    if wanted is not None:
        return max(1, min(wanted, len(models)))
    size = sum(os.path.getsize(model) for model in models if os.path.isfile(model))
    return max(1, min(os.cpu_count() or 1, len(models), size // WORTH))


def outcomes(
    jobs: Sequence[Job], processes: int, *, isolate: bool
) -> Generator[Outcome, None, None]:
    """The outcome of each job, in the order of the jobs.

    With `isolate`, or with several processes, models are validated in processes of their own: what
    ends one of them is a finding in the model that it was validating.

    Raises:
        IrloopError: when a job cannot be done at all.
    """
    if not isolate and processes < 2:
        yield from map(_done, jobs)
        return
    from .workers import Workers

    groups = _by_weights(jobs)
    with Workers([[jobs[at] for at in group] for group in groups], processes) as workers:
        places = {at: (g, n) for g, group in enumerate(groups) for n, at in enumerate(group)}
        for at in range(len(jobs)):
            found = workers.outcome(*places[at])
            if isinstance(found, IrloopFailure):
                raise UsageError(found.message, diagnostics=found.diagnostics)
            yield found


class IrloopFailure(NamedTuple):
    """An exception of ours on its way between processes."""

    message: str
    diagnostics: tuple[Diagnostic, ...]


def _by_weights(jobs: Sequence[Job]) -> list[list[int]]:
    """Numbers of jobs, those whose weights are one file together: it is looked through once."""
    groups: dict[str, list[int]] = {}
    for at, job in enumerate(jobs):
        weights = job.weights or os.path.splitext(job.model)[0] + ".bin"
        groups.setdefault(os.path.realpath(weights), []).append(at)
    return list(groups.values())


def done(job: Job) -> Outcome | IrloopFailure:
    """What a job found, or why it cannot be done."""
    try:
        return _done(job)
    except IrloopError as error:
        return IrloopFailure(error.message, error.diagnostics)


def lost(job: Job, code: str, message: str, fix: str) -> Outcome:
    """The outcome of a job that was not finished."""
    place = Location(file=job.model)
    return Outcome([Diagnostic(code, Severity.ERROR, message, place, fix=fix)], [])


def _done(job: Job) -> Outcome:
    from irloop import validate

    try:
        with allowance_for([job.model, job.weights], job.memory, job.seconds).held():
            report = validate(
                job.model, job.weights, select=job.select, ignore=job.ignore, engines=job.engines
            )
    except (ReadError, LimitError, InternalError) as error:
        return Outcome([item.in_file(job.model) for item in error.diagnostics], [])
    return Outcome(
        [item.in_file(job.model) for item in report.sorted()],
        [item.in_file(job.model) for item in report.suppressed],
    )
