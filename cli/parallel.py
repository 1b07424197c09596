"""Validating many models: one after the other, or in several processes."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from typing import NamedTuple

from irloop.diagnostics import Diagnostic
from irloop.errors import IrloopError, ReadError, UsageError

__all__ = ["Job", "Outcome", "outcomes", "processes_for"]

#: Starting a process takes as long as validating so many bytes of XML.
WORTH = 2_000_000


class Job(NamedTuple):
    """One model to validate."""

    model: str
    weights: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    engines: tuple[str, ...] = ()


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


def outcomes(jobs: Sequence[Job], processes: int) -> Generator[Outcome, None, None]:
    """The outcome of each job, in the order of the jobs.

    Raises:
        IrloopError: when a job cannot be done at all, or a process ends before its job does.
    """
    if processes < 2:
        yield from map(_done, jobs)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    groups = _by_weights(jobs)
    # A fresh interpreter each: a fork would copy threads that are running.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {}
        for group in groups:
            future = pool.submit(_all_done, [jobs[at] for at in group])
            futures.update({at: (future, number) for number, at in enumerate(group)})
        try:
            for at in range(len(jobs)):
                future, number = futures[at]
                found = future.result()
                if isinstance(found, IrloopFailure):
                    raise UsageError(found.message, diagnostics=found.diagnostics)
                yield found[number]
        except BrokenProcessPool:
            raise UsageError(
                "a process ended before its model was validated",
                cause="it ran out of memory, or was killed",
                fix="try again with --jobs 1",
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


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


def _all_done(jobs: list[Job]) -> list[Outcome] | IrloopFailure:
    try:
        return [_done(job) for job in jobs]
    except IrloopError as error:
        return IrloopFailure(error.message, error.diagnostics)


def _done(job: Job) -> Outcome:
    from irloop import validate

    try:
        report = validate(
            job.model, job.weights, select=job.select, ignore=job.ignore, engines=job.engines
        )
    except ReadError as error:
        return Outcome([item.in_file(job.model) for item in error.diagnostics], [])
    return Outcome(
        [item.in_file(job.model) for item in report.sorted()],
        [item.in_file(job.model) for item in report.suppressed],
    )
