"""Runs the steps on models in a child process, and handles crashes and hangs of the child."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from irloop import children
from irloop.diagnostics import one_line
from irloop.engines.watch import PERIOD, held_by
from irloop.fleet.child import LIFELINE

__all__ = ["Limits", "Runner", "Task"]

#: The environment variables that a child process inherits: those of the system, of Python, of
#: threads and of the engines. Credentials of stores are not among them, because the worker fetches
#: the models, and only the child runs a model that may be hostile.
_NEEDED = re.compile(
    r"PATH|HOME|USER|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|DYLD_\w+|VIRTUAL_ENV"
    r"|PYTHON\w*|OMP_\w+|OPENBLAS_\w+|MKL_\w+|KMP_\w+|VECLIB_\w+|ORT_\w+|ONNXRUNTIME_\w+"
    r"|OV_\w+|OPENVINO_\w+|CUDA_\w+|COVERAGE_\w+|COV_\w+"
)

#: The parent allows a child this much more than the limits that the child sets itself: bytes of
#: memory, and seconds.
SPARE_MEMORY = 2 << 30
GRACE = 15.0

#: A child that still holds more bytes of memory than this after its models is replaced.
TIRED = 1 << 30

#: Maximum length of an answer that is read, in bytes.
LONGEST = 16 << 20

#: Models of at most SMALL bytes whose requests have at most SHORT characters are sent before
#: earlier models are finished: at once if the child has no other work, otherwise TOGETHER at a
#: time. When AHEAD models are unfinished (their requests take less than a pipe holds), this process
#: waits until at most FEW are. It sleeps until probably only half of FEW are left, for at least
#: SHORTEST and at most PAUSE seconds.
SMALL = 1 << 20
SHORT = 1000
AHEAD = 60
FEW = 16
TOGETHER = 8
SHORTEST = 0.002
PAUSE = 0.15


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one model: memory in bytes and time in seconds.

    None means that the limit depends on the size of the model, as in irloop's commands.
    """

    memory: int | None = None
    seconds: float | None = None

    def outside(self, size: int, factor: float) -> tuple[int, float]:
        """The memory (bytes) and time (seconds) at which the parent kills the child.

        A limit that is not set grows with `size`, the size of the model's files in bytes. `factor`
        multiplies the time if its limit is not set.
        """
        memory = self.memory or (2 << 30) + 8 * size
        seconds = self.seconds or (60.0 + size / 2**20) * factor
        return memory + SPARE_MEMORY, seconds + GRACE


class _LostError(Exception):
    """Raised if the child ended or was killed.

    `verdict` classifies the reason, and the message describes it.
    """

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict = verdict


@dataclass(slots=True)
class Task:
    """A model, the steps to run on it, and their answers so far.

    `size` is the size of its files in bytes. A converted model is written to `output`.
    """

    model: str
    steps: Sequence[str]
    size: int
    to: str
    output: str
    answers: list[dict[str, Any]] = field(default_factory=list)
    crashes: int = 0

    @property
    def left(self) -> Sequence[str]:
        """The steps of this task that the child process has not answered yet."""
        return self.steps[len(self.answers) :]


_AnyTask = TypeVar("_AnyTask", bound=Task)


class Runner:
    """A child process that works on one model after the other; it is replaced when it dies.

    Small models are sent before the child has finished earlier ones, so that it never waits and
    this process wakes up once for several answers. Limits and crashes still concern only one model:
    the child answers in the order of the requests, so it is working on the first task for
    which an answer is missing.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._child: subprocess.Popen[bytes] | None = None
        self._lifeline = -1
        self._unread = b""
        self._given: deque[Task] = deque()
        #: Requests for tasks in `_given` that are not sent yet; they are sent together.
        self._unsent: list[str] = []
        #: The mean of the seconds that the child reported for its last models.
        self._mean = 0.0
        #: When the child began its current model, and when its memory was last measured.
        self._since = 0.0
        self._looked = 0.0

    def load(self, steps: Sequence[str]) -> None:
        """Start the child, and let it import the modules of these steps."""
        self._unsent.append(json.dumps({"load": steps}))
        self._send_if_alive()

    def data_files(self, path: str, size: int) -> list[str]:
        """Ask the child process for the names of the external data files of an .onnx.

        The child must have finished all its tasks. `size` is that of the file at `path`. The list
        is empty if the child crashes or exceeds its limits.
        """
        assert not self._given
        memory, seconds = self.limits.outside(size, 1.0)
        try:
            self._unsent.append(json.dumps({"data": path}))
            self._send()
            self._since = time.monotonic()
            while not (lines := self._lines(memory, seconds)):
                continue
            names = next(self._parsed(lines[:1])).get("data")
        except _LostError:
            # If the model crashes the reader, the steps will report this.
            self.close()
            return []
        return [str(name) for name in names] if isinstance(names, list) else []

    def run(self, tasks: Iterable[_AnyTask | None]) -> Iterator[_AnyTask]:
        """Run the steps of each task in a child process, and yield the tasks with their answers.

        The tasks are yielded in the order of `tasks`. At a None, the runner finishes all earlier
        tasks before it takes the next task.

        If a step crashes the child, it is tried again. After a second crash of the same task, the
        model is quarantined, and the remaining steps are not run.
        """
        for task in tasks:
            if task is None:
                yield from self._finished(0)
                continue
            request = self._request(task)
            alone = task.size > SMALL or len(request) > SHORT
            if alone:
                yield from self._finished(0)
            self._give(task, request)
            if alone or len(self._given) >= AHEAD:
                yield from self._finished(0 if alone else FEW)
        yield from self._finished(0)

    def _request(self, task: Task) -> str:
        request: dict[str, Any] = {"steps": task.left, "model": task.model}
        request |= {"to": task.to, "output": task.output}
        request |= {"memory": self.limits.memory, "seconds": self.limits.seconds}
        return json.dumps(request)

    def _give(self, task: Task, request: str) -> None:
        if not self._given:
            self._since = time.monotonic()
        self._given.append(task)
        self._unsent.append(request)
        if len(self._unsent) in (len(self._given), TOGETHER):
            # Send at once if the child has no other task, because it waits; else send only once
            # TOGETHER requests have been collected.
            self._send_if_alive()

    def _finished(self, most: int) -> Iterator[Any]:
        """Wait until at most `most` tasks are unfinished; yield the tasks that finish meanwhile."""
        self._send_if_alive()
        while len(self._given) > most:
            task = self._given[0]
            factor = 10.0 if task.left[0] in ("check", "conform") else 1.0
            try:
                lines = self._lines(*self.limits.outside(task.size, factor))
                for answer in self._parsed(lines):
                    yield from self._take(answer)
            except _LostError as error:
                yield from self._lost(error)
        if not self._given and self._child and (held_by(self._child.pid) or 0) > TIRED:
            self.close()

    def _take(self, answer: dict[str, Any]) -> Iterator[Task]:
        if not self._given:
            # The child sent something although nothing was requested, so it cannot be relied on.
            self.close()
            return
        task = self._given[0]
        task.answers.append({**answer, "step": task.left[0]})
        if not task.left:
            self._given.popleft()
            self._mean += (_seconds_of(task) - self._mean) / FEW
            yield task

    def _lost(self, error: _LostError) -> Iterator[Task]:
        """Send the unfinished tasks to a new child, after the old one was lost.

        The first task was running in the lost child. If the child crashed, and this is the task's
        first crash, the task is sent again. After a second crash, a timeout or lack of memory, it
        is given up and yielded.
        """
        task = self._given[0]
        task.crashes += error.verdict == "crashed"
        if error.verdict != "crashed" or task.crashes == 2:
            task.answers += _given_up(task.left, error)
            self._given.popleft()
            yield task
        unfinished, self._given = self._given, deque()
        for other in unfinished:
            self._give(other, self._request(other))
        self._send_if_alive()

    def close(self) -> None:
        """End the child process and its own children."""
        child, self._child, self._unread = self._child, None, b""
        self._unsent.clear()
        if child is None:
            return
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            child.kill()
        for stream in (child.stdin, child.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                # The child has ended, so closing fails if buffered data cannot be written to it.
                continue
        os.close(self._lifeline)
        child.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        # The child sees this pipe close when the parent is killed.
        ours, theirs = os.pipe()
        needed = {name: value for name, value in os.environ.items() if _NEEDED.fullmatch(name)}
        try:
            child = subprocess.Popen(  # noqa: S603 (our interpreter)
                children.command("irloop.fleet.child"),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(ours,),
                start_new_session=True,
                env=children.environment({**needed, LIFELINE: str(ours)}),
            )
        finally:
            os.close(ours)
        self._child, self._lifeline, self._unread = child, theirs, b""
        return child

    def _send_if_alive(self) -> None:
        # A child that has died is noticed when its answers are read.
        with suppress(_LostError):
            self._send()

    def _send(self) -> None:
        if not self._unsent:
            return
        child = self._child or self._start()
        assert child.stdin is not None
        requests = f"[{','.join(self._unsent)}]\n"
        self._unsent.clear()
        try:
            left = memoryview(requests.encode())
            while left:
                left = left[child.stdin.write(left) :]
        except OSError:
            raise _LostError("crashed", "the process ended") from None

    def _lines(self, memory: int, seconds: float) -> list[bytes]:
        """Wait a moment for output of the child process, and return its complete lines.

        The list is empty if no line is complete yet.

        Args:
            memory: the number of bytes that the child may use.
            seconds: how long the child may take between two answers.

        Raises:
            _LostError: when the child has ended, or was killed because of a limit.
        """
        child = self._child
        assert child is not None
        assert child.stdout is not None
        wait = PERIOD
        if len(self._given) > FEW:
            # The child has enough to do, so read several answers at once.
            more = len(self._given) - FEW // 2
            time.sleep(min(PAUSE, max(SHORTEST, more * self._mean)))
            wait = 0.0
        lines: list[bytes] = []
        if select.select([child.stdout], [], [], wait)[0]:
            data = os.read(child.stdout.fileno(), 1 << 16)
            if not data:
                raise self._ended()
            *lines, self._unread = (self._unread + data).split(b"\n")
        now = time.monotonic()
        if lines:
            self._since = now
        elif now > self._since + seconds:
            self.close()
            raise _LostError("timeout", f"more than {seconds:g} seconds")
        if len(self._unread) > LONGEST:
            self.close()
            raise _LostError("crashed", "its answer does not end")
        if not lines and now > self._looked + PERIOD:
            self._looked = now
            if (held := held_by(child.pid) or 0) > memory:
                self.close()
                raise _LostError("out-of-memory", f"{held} bytes, {memory} are allowed")
        return lines

    def _parsed(self, lines: Sequence[bytes]) -> Iterator[dict[str, Any]]:
        """The answer in each line.

        Raises:
            _LostError: for the first line that is no answer.
        """
        together = _decoded(b"[%b]" % b",".join(lines))
        if isinstance(together, list) and len(together) == len(lines):
            answers = together
        else:
            answers = [_decoded(line) for line in lines]
        for answer in answers:
            if not isinstance(answer, dict):
                self.close()
                raise _LostError("crashed", "its answer cannot be read")
            yield answer

    def _ended(self) -> _LostError:
        child = self._child
        assert child is not None
        try:
            code = child.wait(GRACE)
        except subprocess.TimeoutExpired:
            code = 0
        self.close()
        how = f"signal {-code}" if code < 0 else f"status {code}"
        return _LostError("crashed", f"the process ended with {how}")


def _decoded(text: bytes) -> Any:
    """The value that a JSON string encodes; None if the string cannot be read."""
    try:
        return json.loads(text.decode("ascii"))
    except (ValueError, RecursionError):
        return None


def _seconds_of(task: Task) -> float:
    """Return the seconds that a task took, as reported by the child process that ran it.

    The result is at most `PAUSE`. It is also `PAUSE` if the reported time is negative.
    """
    reported = (answer.get("seconds") for answer in task.answers)
    total = sum(seconds for seconds in reported if isinstance(seconds, float))
    return total if 0.0 <= total <= PAUSE else PAUSE


def _given_up(steps: Sequence[str], error: _LostError) -> Iterator[dict[str, Any]]:
    """Yield an answer for the step that the child did not finish, and for each step after it.

    `steps` starts with the unfinished step; the other steps are reported as not run.
    """
    codes = {"timeout": "LIM002", "out-of-memory": "LIM001", "crashed": "SWP001"}
    code = codes[error.verdict]
    verdict = "quarantined" if error.verdict == "crashed" else error.verdict
    for number, step in enumerate(steps):
        reason = one_line(str(error))
        detail = f"{reason}, twice" if verdict == "quarantined" else reason
        if number:
            detail = f"not run: {steps[0]} ended with {verdict}"
        reported = {"code": code, "severity": "error", "message": detail, "line": None, "place": ""}
        yield {"step": step, "verdict": verdict, "detail": detail, "codes": [reported]}
