"""Validates many models, one after the other or in several processes."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence

from irloop.errors import UsageError
from irloop.opening import weights_beside

from .validation_job import IrloopFailure, Job, Outcome, run

__all__ = ["outcomes", "processes_for"]

#: Starting a process takes as long as validating this many bytes of XML.
WORTH = 2_000_000


def processes_for(models: Sequence[str], wanted: int | None) -> int:
    """The number of processes: as requested, or by default according to the size of the files."""
    if wanted is not None:
        return max(1, min(wanted, len(models)))
    size = sum(os.path.getsize(model) for model in models if os.path.isfile(model))
    return max(1, min(os.cpu_count() or 1, len(models), size // WORTH))


def outcomes(
    jobs: Sequence[Job], processes: int, *, isolate: bool
) -> Generator[Outcome, None, None]:
    """The result of each job, in the order of the jobs.

    With `isolate`, or with several processes, models are validated in child processes. If such a
    process is killed, that is a finding in the model it was validating.

    Raises:
        IrloopError: when a job cannot be done at all.
    """
    if not isolate and processes < 2:
        yield from map(run, jobs)
        return
    from .workers import Workers

    groups = _by_weights(jobs)
    with Workers([[jobs[at] for at in group] for group in groups], processes) as workers:
        places = {at: (g, n) for g, group in enumerate(groups) for n, at in enumerate(group)}
        for at in range(len(jobs)):
            outcome = workers.outcome(*places[at])
            if isinstance(outcome, IrloopFailure):
                raise UsageError(outcome.message, diagnostics=outcome.diagnostics)
            yield outcome


def _by_weights(jobs: Sequence[Job]) -> list[list[int]]:
    """Group the positions of jobs by weights file, so that each file is read only once."""
    groups: dict[str, list[int]] = {}
    for at, job in enumerate(jobs):
        weights = job.weights or weights_beside(job.model)
        groups.setdefault(os.path.realpath(weights), []).append(at)
    return list(groups.values())
