"""Queries `verdict_worker` in a child process, which is restarted after a crash or a time-out."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Verdict", "Verdicts"]

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far an engine came ("read", "compile", "infer", "accepted", "crash", "hang")."""

    stage: str
    message: str = ""

    @property
    def accepted(self) -> bool:
        """True when the engine accepted the model."""
        return self.stage == "accepted"

    @property
    def line(self) -> str:
        """Stage and message on one line, without locations in the engine's source code."""
        said = [
            text.strip()
            for text in self.message.splitlines()
            if text.strip() and not text.startswith(("Exception from ", "Check '"))
        ]
        return f"{self.stage}: {' '.join(said)}" if said else self.stage


class Verdicts:
    """One child process for all engines."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._child: subprocess.Popen[str] | None = None

    def of(self, engine: str, model: Path, *, last: str = "") -> Verdict:
        """The verdict of an engine; `last` is the stage after which to stop."""
        child = self._started()
        assert child.stdin is not None
        child.stdin.write(json.dumps({"engine": engine, "model": str(model), "last": last}) + "\n")
        child.stdin.flush()
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        timer = threading.Timer(self._seconds, stop)
        timer.start()
        try:
            return self._answer(child, late)
        finally:
            timer.cancel()

    def _answer(self, child: subprocess.Popen[str], late: threading.Event) -> Verdict:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(">"):
                answer = json.loads(line[1:])
                return Verdict(answer["stage"], answer["message"])
        code = _finish(child)
        self._child = None
        return Verdict("hang") if late.is_set() else Verdict("crash", f"signal {-code}")

    def _started(self) -> subprocess.Popen[str]:
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "benchmarks.verdict_worker"],
                cwd=Path(__file__).resolve().parents[1],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                errors="replace",
                text=True,
            )
        return self._child

    def close(self) -> None:
        """End the child process."""
        if self._child is not None:
            self._child.kill()
            _finish(self._child)
            self._child = None


def _finish(child: subprocess.Popen[str]) -> int:
    """Wait for a process that has ended, close its pipes, and return its exit status."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    return child.wait()
