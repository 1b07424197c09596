"""The limits for the work on one model: memory, seconds and steps.

The operating system and the budget enforce them.
"""

from __future__ import annotations

import math
import os
import signal
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from irloop.budget import Budget, Expired, out_of_time
from irloop.errors import LimitError

__all__ = ["Allowance", "Holder", "allowance_for"]

#: The limits for a small file, suitable for CI machines. If a command runs the model once, the run
#: may take `ALL_STEPS`; otherwise each run may take `STEPS`.
MEMORY = 2 << 30
SECONDS = 60.0
STEPS = 400_000
ALL_STEPS = 1_000_000

#: How the limits grow with the size of the files: bytes of memory for each byte, the number of
#: bytes that adds a second, and the number of bytes that adds the steps of a small file. (A
#: convolution uses each weight thousands of times, so files need many steps.)
BYTES_A_BYTE = 8
BYTES_A_SECOND = 1 << 20
BYTES_ALL_STEPS = 1 << 20

#: Address space that NumPy's threads reserve for each processor, even if they are not used.
_A_PROCESSOR = 64 << 20


class Allowance:
    """Limits the memory, the time and the steps of the work on one model.

    `memory` is in bytes, and `seconds` is the time for all `runs` of the model together. If there
    are several runs, each run has a limit of steps, and so have all runs together: the limit for
    all of them is at least `full_runs` times that for one run (if `full_runs` is None, `runs`
    times). The limits of steps grow with the seconds for each run, and with `size`, the size of the
    model files in bytes.
    """

    def __init__(
        self,
        memory: int,
        seconds: float,
        runs: float = 1.0,
        full_runs: float | None = None,
        *,
        size: int = 0,
    ) -> None:
        self.memory = memory
        self.seconds = seconds
        longer = max(1.0, seconds / runs / SECONDS) + size / BYTES_ALL_STEPS
        together = STEPS * (runs if full_runs is None else full_runs)
        self.all_steps = int(longer * max(ALL_STEPS, together))
        self.steps = int(longer * STEPS) if runs > 1 else self.all_steps

    @contextmanager
    def held(self) -> Iterator[None]:
        """Limit the memory and the time of the work inside the block.

        Beyond the memory limit the system refuses memory (`MemoryError`), and at the end of the
        time a timer interrupts Python (`Expired`). Both also stop work that did not ask the budget
        first.
        """
        with _bounded_memory(self.memory), _alarm(self.seconds), self._enforced():
            yield

    @contextmanager
    def _enforced(self) -> Iterator[None]:
        """Limit the time, memory and steps of the code in a `with` block.

        Exceptions for exceeded limits, which a budget or the system raises, become `LimitError`.
        """
        # The budget does not count the temporaries of single steps, so it gets only a third of the
        # memory.
        budget = Budget(self.memory // 3, self.seconds, self.all_steps, self.steps)
        with budget.entered():
            try:
                yield
            except Expired as error:
                raise out_of_time("the command") from error
            except MemoryError as error:
                raise LimitError("memory ran out", code="LIM001", found=str(error)) from error


class Holder:
    """Applies the limits of an `Allowance` to each block of code in a worker process.

    Use it as `with holder.held(allowance)`. The limits are those of `Allowance.held`, but a holder
    makes fewer system calls. It leaves a memory limit in force until the next block sets another
    one, and uses one signal handler for the timers of all blocks. So the process should do no other
    work.

    Make the holder in the main thread, and make a new one after a fork.
    """

    def __init__(self) -> None:
        self._memory = _MemoryLimit()
        self._deadline = math.inf
        self._has_timer = hasattr(signal, "setitimer")
        if self._has_timer:
            signal.signal(signal.SIGALRM, self._expire)

    @contextmanager
    def held(self, allowance: Allowance) -> Iterator[None]:
        """Limit the work inside the block, as `Allowance.held` does."""
        self._memory.narrow(allowance.memory)
        self._deadline = time.monotonic() + allowance.seconds
        if self._has_timer:
            signal.setitimer(signal.ITIMER_REAL, allowance.seconds)
        try:
            with allowance._enforced():
                yield
        except BaseException:
            # What reports the failure may need more memory than is left.
            self._memory.restore()
            raise
        finally:
            # The timer runs on, and has no effect any more.
            self._deadline = math.inf

    def _expire(self, number: int, frame: object) -> None:
        # Before the deadline, a signal can only come from the timer of an earlier block, so ignore
        # it.
        if time.monotonic() >= self._deadline:
            raise Expired


def allowance_for(
    files: Iterable[Any],
    memory: int | None = None,
    seconds: float | None = None,
    runs: float = 1.0,
    full_runs: float | None = None,
) -> Allowance:
    """Derive the limits of memory, time and steps from the sizes of the files.

    `memory` (bytes) and `seconds` are limits that the user sets; they replace the derived ones.
    `runs` is how often a command runs the models: it multiplies the derived seconds.

    If `runs` is more than 1, there are two limits of steps: one for each run, and one for all runs
    together. The limit for all runs is `full_runs` (default: `runs`) times the limit for each run,
    but never less than the limit of a command with a single run.
    """
    total = sum(_size_of(file) for file in files)
    return Allowance(
        MEMORY + BYTES_A_BYTE * total if memory is None else memory,
        (SECONDS + total / BYTES_A_SECOND) * runs if seconds is None else seconds,
        runs if seconds is None else 1.0,
        full_runs,
        size=total,
    )


def _size_of(file: Any) -> int:
    """Return the size of a model file together with its .bin and .data files.

    Files that do not exist do not count; the size is 0 if `file` is not a path.
    """
    if not isinstance(file, str):
        return 0
    total = 0
    for path in {file, os.path.splitext(file)[0] + ".bin", f"{file}.data"}:
        with suppress(OSError, ValueError):
            status = os.stat(path)
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


class _MemoryLimit:
    """Limits the memory of this process through the operating system.

    This needs the module `resource` and /proc. Without them, memory is limited only for work that
    reserves it in the budget.
    """

    def __init__(self) -> None:
        self._statm = _opened("/proc/self/statm")
        self._extra = _A_PROCESSOR * (os.cpu_count() or 1)
        self._page = 0
        self._before = (0, 0)
        if self._statm is not None:
            import resource

            self._page = resource.getpagesize()
            self._before = resource.getrlimit(resource.RLIMIT_AS)

    def narrow(self, memory: int) -> None:
        """Limit the memory of this process to what it uses now plus `memory` bytes."""
        if self._statm is None:
            return
        import resource

        used = int(os.pread(self._statm, 64, 0).split(maxsplit=1)[0]) * self._page
        limits = _narrowed(used + memory + self._extra, self._before)
        resource.setrlimit(resource.RLIMIT_AS, limits)

    def restore(self) -> None:
        """Set the limit back to what it was when this object was made."""
        if self._statm is None:
            return
        import resource

        resource.setrlimit(resource.RLIMIT_AS, self._before)

    def close(self) -> None:
        if self._statm is not None:
            os.close(self._statm)


@contextmanager
def _bounded_memory(memory: int) -> Iterator[None]:
    limit = _MemoryLimit()
    try:
        limit.narrow(memory)
        yield
    finally:
        limit.restore()
        limit.close()


def _narrowed(wanted: int, before: tuple[int, int]) -> tuple[int, int]:
    """Return the limits (soft, hard) to set so that at most `wanted` bytes can be used.

    The soft limit is not raised above the limits in `before`, and the hard limit is kept. A
    negative limit means no limit.
    """
    bounds = [bound for bound in before if bound >= 0]
    return min(wanted, *bounds) if bounds else wanted, before[1]


def _opened(path: str) -> int | None:
    """Open a file of the system, such as /proc/self/statm, and return its descriptor.

    None if there is no such file, or if the system has no resource limits.
    """
    try:
        import resource  # noqa: F401 (Windows has none)

        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def expire(number: int, frame: object) -> None:
        raise Expired

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
