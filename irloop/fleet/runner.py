"""Runs the steps on models in a child process, and survives its crashes and hangs."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irloop.diagnostics import one_line
from irloop.engines.watch import PERIOD, held_by
from irloop.fleet.child import LIFELINE

__all__ = ["Limits", "Runner"]

#: The environment variables that a child process inherits: those of the system, of Python, of
#: threads and of the engines. Credentials of stores are not among them: the worker fetches the
#: models, and a hostile one could only run in the child.
_NEEDED = re.compile(
    r"PATH|HOME|USER|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|LD_LIBRARY_PATH|DYLD_\w+|VIRTUAL_ENV"
    r"|PYTHON\w*|OMP_\w+|OPENBLAS_\w+|MKL_\w+|KMP_\w+|VECLIB_\w+|ORT_\w+|ONNXRUNTIME_\w+"
    r"|OV_\w+|OPENVINO_\w+|CUDA_\w+|COVERAGE_\w+|COV_\w+"
)

#: The parent's default limits for a child process: the memory and the seconds beyond the limits
#: that the child sets itself.
SPARE_MEMORY = 2 << 30
GRACE = 15.0

#: A child that still holds more than this after a model is replaced.
TIRED = 1 << 30

#: The longest answer that is read, in bytes.
LONGEST = 16 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for a model in bytes and seconds; None: by its size, as in irloop's commands."""

    memory: int | None = None
    seconds: float | None = None

    def outside(self, size: int, factor: float) -> tuple[int, float]:
        """The limits at which the parent kills the child."""
        memory = self.memory or (2 << 30) + 8 * size
        seconds = self.seconds or (60.0 + size / 2**20) * factor
        return memory + SPARE_MEMORY, seconds + GRACE


class _LostError(Exception):
    """The child ended or was killed, for the reason in `verdict` and the message."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(detail)
        self.verdict = verdict


class Runner:
    """A child process that works on one model after the other; it is replaced when it dies."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._child: subprocess.Popen[bytes] | None = None
        self._lifeline = -1
        self._unread = b""

    def data_files(self, path: str, size: int) -> list[str]:
        """The names of the external data files of an .onnx; empty after a crash."""
        try:
            self._send({"data": path})
            names = self._answer(*self.limits.outside(size, 1.0)).get("data")
        except _LostError:
            # The model crashes the reader, which the steps will report.
            return []
        return [str(name) for name in names] if isinstance(names, list) else []

    def steps(
        self, steps: Sequence[str], model: str, size: int, **more: Any
    ) -> Iterator[dict[str, Any]]:
        """Run each step on a model, and return the answers; `more` is sent to the child.

        After a crash the step is tried again. After a second crash the model is quarantined: its
        other steps are not run.
        """
        left = list(steps)
        crashes = 0
        while left:
            request = {"steps": left, "model": model, **more}
            request |= {"memory": self.limits.memory, "seconds": self.limits.seconds}
            try:
                self._send(request)
                for step in tuple(left):
                    factor = 10.0 if step in ("check", "conform") else 1.0
                    answer = self._answer(*self.limits.outside(size, factor))
                    yield {**answer, "step": step}
                    left.remove(step)
            except _LostError as error:
                crashes += error.verdict == "crashed"
                if error.verdict == "crashed" and crashes < 2:
                    continue
                yield from _given_up(left, error)
                return
        self._rest()

    def close(self) -> None:
        """End the child process and its own children."""
        child, self._child, self._unread = self._child, None, b""
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
                # The child has ended: closing fails where buffered data cannot be written to it.
                continue
        os.close(self._lifeline)
        child.wait()

    def _rest(self) -> None:
        if self._child is not None and (held_by(self._child.pid) or 0) > TIRED:
            self.close()

    def _start(self) -> subprocess.Popen[bytes]:
        # The child sees this pipe close when the parent is killed.
        ours, theirs = os.pipe()
        places = os.pathsep.join(place or os.getcwd() for place in sys.path)
        try:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "irloop.fleet.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(ours,),
                start_new_session=True,
                env={
                    **{
                        name: value for name, value in os.environ.items() if _NEEDED.fullmatch(name)
                    },
                    "PYTHONWARNINGS": "ignore",
                    "PYTHONPATH": places,
                    LIFELINE: str(ours),
                },
            )
        finally:
            os.close(ours)
        self._child, self._lifeline, self._unread = child, theirs, b""
        return child

    def _send(self, request: dict[str, Any]) -> None:
        child = self._child or self._start()
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
        except OSError:
            raise self._ended() from None

    def _answer(self, memory: int, seconds: float) -> dict[str, Any]:
        """Wait for the next line of the child; return it as a dictionary.

        Raises:
            _LostError: when the child ends, or was killed because of a limit.
        """
        child = self._child
        assert child is not None
        assert child.stdout is not None
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            ready, _, _ = select.select([child.stdout], [], [], PERIOD)
            if ready:
                data = os.read(child.stdout.fileno(), 1 << 16)
                if not data:
                    raise self._ended()
                self._unread += data
            elif time.monotonic() > end:
                self.close()
                raise _LostError("timeout", f"more than {seconds:g} seconds")
            elif (held := held_by(child.pid) or 0) > memory:
                self.close()
                raise _LostError("out-of-memory", f"{held} bytes, {memory} are allowed")
            if len(self._unread) > LONGEST:
                self.close()
                raise _LostError("crashed", "its answer does not end")
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            self.close()
            raise _LostError("crashed", "its answer cannot be read")
        return found

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


def _given_up(steps: Sequence[str], error: _LostError) -> Iterator[dict[str, Any]]:
    """The answers for a step that did not finish and for the steps after it."""
    codes = {"timeout": "LIM002", "out-of-memory": "LIM001", "crashed": "SWP001"}
    code = codes[error.verdict]
    verdict = "quarantined" if error.verdict == "crashed" else error.verdict
    for at, step in enumerate(steps):
        reason = one_line(str(error))
        detail = f"{reason}, twice" if verdict == "quarantined" else reason
        if at:
            detail = f"not run: {steps[0]} ended with {verdict}"
        found = {"code": code, "severity": "error", "message": detail, "line": None, "place": ""}
        yield {"step": step, "verdict": verdict, "detail": detail, "codes": [found]}
