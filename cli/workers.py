"""Processes that validate models; one of them may die without affecting the others."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process
from typing import Any

from irloop.allowance import allowance_for
from irloop.children import isolated
from irloop.lifeline import end_with

from .validation_job import IrloopFailure, Job, Outcome, done, lost

__all__ = ["Workers"]

#: Seconds beyond its own time limit after which a process is killed.
_GRACE = 10.0

#: The time limit for starting a process, in seconds.
_START = 60.0

#: The next job is sent to a process before it has finished the current one if both models are files
#: of at most this many bytes: small models take less time than waiting for the next job.
_SMALL = 1 << 16

#: The numbers of a group, and of a job in it.
_Place = tuple[int, int]
_Placed = tuple[_Place, Job]


class Workers:
    """A pool of `count` processes that run groups of jobs in parallel.

    A process runs the jobs of its group in order, and then takes the next group. There are never
    more processes than groups.
    """

    def __init__(self, groups: Sequence[Sequence[Job]], count: int) -> None:
        self._found: dict[tuple[int, int], Outcome | IrloopFailure] = {}
        self._waiting = deque(
            deque(((g, n), job) for n, job in enumerate(group)) for g, group in enumerate(groups)
        )
        self._workers = [_Worker() for _ in range(max(1, min(count, len(groups))))]

    def __enter__(self) -> Workers:
        # Each process gets a job before one of them gets a second.
        for worker in (*self._workers, *self._workers):
            self._next(worker)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()

    def outcome(self, group: int, number: int) -> Outcome | IrloopFailure:
        """Wait for job `number` of `group`, and return its result."""
        while (group, number) not in self._found:
            self._wait()
        return self._found.pop((group, number))

    def _wait(self) -> None:
        busy = [worker for worker in self._workers if worker.sent]
        latest = min(worker.deadline for worker in busy)
        connection.wait([worker.pipe for worker in busy], max(0.0, latest - time.monotonic()))
        for worker in busy:
            answered = worker.answer()
            if answered is not None:
                place, found = answered
                self._found[place] = found
                self._next(worker)

    def _next(self, worker: _Worker) -> None:
        """Send the worker the next job of its current group, unless it has enough to do.

        If the group is finished, the worker takes over the first group that no worker has started.
        """
        if not worker.jobs and self._waiting and not worker.is_filled:
            worker.jobs = self._waiting.popleft()
        worker.send_next()


class _Worker:
    """A process, its remaining jobs, and the jobs that were sent to it.

    The process does the jobs in the order in which they were sent.
    """

    def __init__(self) -> None:
        self.jobs: deque[_Placed] = deque()
        self.sent: deque[_Placed] = deque()
        self.deadline = 0.0
        self.pipe: Any = None
        self._process: Any = None

    @property
    def is_filled(self) -> bool:
        """Return whether no further job may be sent before the process has finished one."""
        return len(self.sent) > 1 or any(not _is_small(job) for _, job in self.sent)

    def send_next(self) -> None:
        """Send the next job, unless there is none or the process already has enough to do.

        If there is no process, one is started.
        """
        if not self.jobs or self.is_filled or (self.sent and not _is_small(self.jobs[0][1])):
            return
        starting = self._process is None
        if starting:
            # Start new interpreters: a fork would copy running threads.
            context = get_context("spawn")
            self.pipe, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other,), daemon=True)
            with isolated():
                self._process.start()
            other.close()
        self.sent.append(self.jobs.popleft())
        if len(self.sent) == 1:
            self._begin(_START * starting)
        # If the process has died, `answer` finds that out.
        with suppress(OSError):
            self.pipe.send(self.sent[-1][1])

    def _begin(self, extra: float = 0.0) -> None:
        """Set the deadline of the job that the process is doing now.

        The job gets `extra` seconds in addition to its usual time.
        """
        job = self.sent[0][1]
        allowed = allowance_for([job.model, job.weights], job.memory, job.seconds)
        self.deadline = time.monotonic() + allowed.seconds + _GRACE + extra

    def answer(self) -> tuple[_Place, Outcome | IrloopFailure] | None:
        """Return the next result with the place of its job; None if there is none yet.

        The place holds the numbers of the group and of the job. If the process has died, or the
        time for its current job is over, the result is a failure of this job.
        """
        try:
            if self.pipe.poll():
                outcome: Outcome | IrloopFailure = self.pipe.recv()
                place, _ = self.sent.popleft()
                if self.sent:
                    self._begin()
                return place, outcome
        except (EOFError, OSError):
            return self._ended()
        if time.monotonic() < self.deadline:
            return None
        self.end()
        return self._lost(
            "LIM002",
            "validating the model takes longer than allowed",
            "allow more time (--max-seconds), or look for a loop that never ends",
        )

    def _ended(self) -> tuple[_Place, Outcome]:
        self._process.join(_GRACE)
        code = self._process.exitcode
        self.end()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        return self._lost(
            "LIM001",
            f"the process that validated the model ended {how}",
            "it ran out of memory, or was ended from outside: allow more memory (--max-memory)",
        )

    def _lost(self, code: str, message: str, fix: str) -> tuple[_Place, Outcome]:
        """Give up the job that the process was doing, and return the failure with the job's place.

        The jobs that were sent after it return to the remaining jobs, to be sent again.
        """
        place, job = self.sent.popleft()
        self.jobs.extendleft(reversed(self.sent))
        self.sent.clear()
        return place, lost(job, code, message, fix)

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self.pipe.close()
        self._process.kill()
        self._process.join()
        self._process = None


def _is_small(job: Job) -> bool:
    try:
        return os.path.getsize(job.model) <= _SMALL
    except (OSError, ValueError):
        return False


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
