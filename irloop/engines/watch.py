"""Ends a child process that takes too long or uses too much memory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress

__all__ = ["MEMORY", "Watch", "held_by", "kill"]

#: The default memory limit of an engine's process, in bytes.
MEMORY = 8 * 2**30

#: The interval between two checks of the process, in seconds.
PERIOD = 0.05


class Watch:
    """Watches a child process in a separate thread, from its start to its end.

    `reason` is the reason why the watch killed the process; it is empty if the watch did not kill
    it. `processor` limits the processor time of all threads of the process, which does not depend
    on other processes. Resident memory and processor time are known only on Linux; elsewhere only
    the time of the clock is limited.
    """

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        *,
        seconds: float,
        memory: int | None,
        processor: float | None = None,
    ) -> None:
        self.reason = ""
        self.is_late = False
        self._child = child
        self._seconds = seconds
        self._memory = memory
        self._processor = processor
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        end = time.monotonic() + self._seconds
        bounded = self._memory is not None or self._processor is not None
        limited = bounded and held_by(self._child.pid) is not None
        used = _processor_seconds(self._child.pid)
        while not self._done.wait(min(PERIOD if limited else self._seconds, self._seconds)):
            if time.monotonic() >= end:
                self.is_late = True
                self.reason = f"more than {round(self._seconds, 1):g} seconds"
                break
            if not limited:
                continue
            spent = _processor_seconds(self._child.pid) - used
            if self._processor is not None and spent > self._processor:
                self.is_late = True
                self.reason = f"more than {round(self._processor, 1):g} seconds of processor time"
                break
            held = held_by(self._child.pid)
            if held is not None and self._memory is not None and held > self._memory:
                self.reason = f"{held / 2**20:.0f} MB, {self._memory / 2**20:.0f} MB are allowed"
                break
        if self.reason:
            kill(self._child)


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own group, and the processes that it started."""
    if os.name != "posix" or child.returncode is not None:
        child.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def held_by(process: int) -> int | None:
    """The resident memory of a process in bytes; None if it is unknown."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            pages = int(file.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _processor_seconds(process: int) -> float:
    """The processor time that a process has used; 0 if it is unknown."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The name of the program, in parentheses, may contain anything.
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
