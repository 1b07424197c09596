"""Processes that validate models; one of them may die without affecting the others."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing import connection, get_context, parent_process
from types import TracebackType
from typing import Any

from irloop.allowance import allowance_for
from irloop.lifeline import end_with

from .validation_job import IrloopFailure, Job, Outcome, done, lost

__all__ = ["Workers"]

#: Seconds beyond its own time limit after which a process is killed.
_GRACE = 10.0

#: The time limit for starting a process, in seconds.
_START = 60.0


class Workers:
    """`count` processes that take groups of jobs one after the other."""

    def __init__(self, groups: Sequence[Sequence[Job]], count: int) -> None:
        self._found: dict[tuple[int, int], Outcome | IrloopFailure] = {}
        self._waiting = deque(
            deque(((g, n), job) for n, job in enumerate(group)) for g, group in enumerate(groups)
        )
        self._workers = [_Worker() for _ in range(max(1, min(count, len(groups))))]

    def __enter__(self) -> Workers:
        for worker in self._workers:
            self._next(worker)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.end()

    def outcome(self, group: int, number: int) -> Outcome | IrloopFailure:
        """Wait for job `number` of `group`, and return its result."""
        while (group, number) not in self._found:
            self._wait()
        return self._found.pop((group, number))

    def _wait(self) -> None:
        busy = [worker for worker in self._workers if worker.job is not None]
        latest = min(worker.deadline for worker in busy)
        connection.wait([worker.pipe for worker in busy], max(0.0, latest - time.monotonic()))
        for worker in busy:
            found = worker.answer()
            if found is not None and worker.place is not None:
                self._found[worker.place] = found
                self._next(worker)

    def _next(self, worker: _Worker) -> None:
        """Start the next job of the worker's current group of jobs.

        If the group is finished, the worker takes over the first group that no worker has started.
        """
        if not worker.jobs and self._waiting:
            worker.jobs = self._waiting.popleft()
        worker.start_next()


class _Worker:
    """A process, its remaining jobs, and its current one."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[tuple[int, int], Job]] = deque()
        self.job: Job | None = None
        self.place: tuple[int, int] | None = None
        self.deadline = 0.0
        self.pipe: Any = None
        self._process: Any = None

    def start_next(self) -> None:
        self.job = self.place = None
        if not self.jobs:
            return
        self.place, self.job = self.jobs.popleft()
        starting = self._process is None
        if starting:
            # Start new interpreters: a fork would copy running threads.
            context = get_context("spawn")
            self.pipe, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        job = self.job
        allowed = allowance_for([job.model, job.weights], job.memory, job.seconds)
        self.deadline = time.monotonic() + allowed.seconds + _GRACE + _START * starting
        self.pipe.send(job)

    def answer(self) -> Outcome | IrloopFailure | None:
        """Return the result of the job, or None while the process is still working on it.

        If the process has died, or the time for the job is over, the result is a failure.
        """
        assert self.job is not None
        try:
            if self.pipe.poll():
                found: Outcome | IrloopFailure = self.pipe.recv()
                return found
        except (EOFError, OSError):
            return self._ended()
        if time.monotonic() < self.deadline:
            return None
        self.end()
        return lost(
            self.job,
            "LIM002",
            "validating the model takes longer than allowed",
            "allow more time (--max-seconds), or look for a loop that never ends",
        )

    def _ended(self) -> Outcome:
        assert self.job is not None
        self._process.join(_GRACE)
        code = self._process.exitcode
        self.end()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        return lost(
            self.job,
            "LIM001",
            f"the process that validated the model ended {how}",
            "it ran out of memory, or was ended from outside: allow more memory (--max-memory)",
        )

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process = None


def _serve(pipe: Any) -> None:
    """Do the jobs that arrive through `pipe`, and send back their results.

    This function runs in the worker process. It returns when the pipe is closed.
    """
    # Ctrl-C is meant for the parent process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None and os.name == "posix":
        end_with(parent.sentinel)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(done(job))
