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

    `reason` is the reason why it killed the process; it is empty if it did not kill it. The
    resident memory of a process is known only on Linux; elsewhere only time is limited.
    """

    def __init__(
        self, child: subprocess.Popen[bytes], *, seconds: float, memory: int | None
    ) -> None:
        self.reason = ""
        self.is_late = False
        self._child = child
        self._seconds = seconds
        self._memory = memory
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
        limited = self._memory is not None and held_by(self._child.pid) is not None
        while not self._done.wait(min(PERIOD if limited else self._seconds, self._seconds)):
            if time.monotonic() >= end:
                self.is_late = True
                self.reason = f"more than {round(self._seconds, 1):g} seconds"
                break
            held = held_by(self._child.pid) if limited else None
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
