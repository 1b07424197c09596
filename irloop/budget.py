"""The budget of the work on one model: memory, seconds and steps.

A step is a unit of work that takes about five microseconds. A `Budget` is entered once, where a
call enters irloop. All functions that this call runs ask the current budget: `reserve` before they
allocate memory, `spend` before work that takes many steps, and `check` from time to time. They need
not pass the budget on. Without a budget, a single allocation may take 8 GiB.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from irloop.errors import LimitError

__all__ = ["Budget", "Expired", "current", "out_of_time", "reserve", "spend"]


class Expired(BaseException):
    """Raised if time has run out.

    It is not an `Exception`, so that code that tolerates errors does not catch it.
    """


@dataclass(slots=True)
class Budget:
    """Limits of the work on one model; None means no limit.

    `memory` limits the bytes of a single allocation, and `seconds` the time of all work together.
    `operations` limits the total work of kernels and loops, and `operations_a_run` the work of one
    run of a model. Both are counted in steps of about five microseconds.
    """

    memory: int | None = None
    seconds: float | None = None
    operations: int | None = None
    operations_a_run: int | None = None
    #: Bytes of results that were computed at conversion time and are kept.
    folded: int = 0
    _deadline: float | None = field(default=None, repr=False)
    _spent: int = field(default=0, repr=False)
    _outer: Budget | None = field(default=None, repr=False)

    @contextmanager
    def entered(self) -> Iterator[Budget]:
        """Make this the budget of all work inside the block.

        An outer budget also applies, and is charged for the work, too.
        """
        outer = self._outer = _CURRENT.get()
        if self.seconds is not None:
            self._deadline = time.monotonic() + self.seconds
        for name in ("memory", "operations", "operations_a_run", "_deadline"):
            mine, other = getattr(self, name), getattr(outer, name)
            if mine is None or (other is not None and other < mine):
                setattr(self, name, other)
        token = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(token)

    def reserve(self, nbytes: int, what: str) -> None:
        """Raise if `nbytes` bytes for `what` exceed the memory limit, or if time has run out.

        `what` names the work that needs the memory.

        Raises:
            LimitError: when a limit is exceeded; the code is LIM001 for memory, LIM002 for time.
        """
        if self.memory is not None and nbytes > self.memory:
            raise LimitError(
                f"{what} would take more memory than allowed",
                code="LIM001",
                expected=f"at most {self.memory:,} bytes",
                found=f"{nbytes:,} bytes",
                fix="allow more memory (--max-memory) if the sizes are intended",
            )
        self.check(what)

    def spend(self, operations: int, what: str) -> None:
        """Count `operations` steps of the work called `what`, and check the limits.

        Raises:
            LimitError: when more steps were counted than allowed (LIM003), or time has run out
                (LIM002).
        """
        payer: Budget | None = self
        while payer is not None:
            payer._spent += operations
            if payer.operations is not None and payer._spent > payer.operations:
                payer._require(payer._spent, what)
            payer = payer._outer
        self.check(what)

    def afford(self, operations: int, what: str) -> None:
        """Raise an error if this many more steps would exceed the limit on steps.

        The steps are not charged. Call this before work that charges its own steps at the end.
        `what` names the work in the error message.

        Raises:
            LimitError: when the steps would exceed the limit; the code is LIM003.
        """
        payer: Budget | None = self
        while payer is not None:
            payer._require(payer._spent + operations, what)
            payer = payer._outer

    def _require(self, steps: int, what: str) -> None:
        if self.operations is not None and steps > self.operations:
            raise LimitError(
                f"{what} would take more steps than allowed",
                code="LIM003",
                expected=f"at most {self.operations:,} steps",
                found=f"{steps:,} steps",
                fix="allow more time (--max-seconds) if the sizes are intended",
            )

    @property
    def spent(self) -> int:
        """The number of steps counted so far."""
        return self._spent

    def steps_left(self) -> float:
        """The number of steps that may still be counted; infinite without a limit."""
        left = math.inf if self.operations is None else self.operations - self._spent
        return left if self._outer is None else min(left, self._outer.steps_left())

    def seconds_left(self) -> float:
        """The seconds until time runs out; infinite without a limit."""
        return math.inf if self._deadline is None else self._deadline - time.monotonic()

    def of_a_run(self) -> Budget:
        """Make a budget for one run of a model; its work is charged to this budget, too."""
        return Budget(operations=self.operations_a_run)

    def check(self, what: str) -> None:
        """Raise if time has run out.

        Raises:
            LimitError: when time has run out; the code is LIM002.
        """
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise out_of_time(what)


def out_of_time(what: str) -> LimitError:
    """Make the error for work that took too long; `what` names the work."""
    error = LimitError(
        f"{what} takes longer than allowed",
        code="LIM002",
        fix="allow more time (--max-seconds), or look for a loop that never ends",
    )
    error.by_clock = True
    return error


#: The budget if none was entered: more than any single step needs.
_STANDARD = Budget(memory=8 << 30)
_CURRENT: ContextVar[Budget] = ContextVar("irloop_budget", default=_STANDARD)


def current() -> Budget:
    """Return the budget that applies now: that of the innermost `with` block of `Budget.entered`.

    Outside of such blocks, it is the standard budget, which has a memory limit of 8 GiB.
    """
    return _CURRENT.get()


def reserve(nbytes: int, what: str) -> None:
    """Check that `nbytes` bytes fit in the current budget, as `Budget.reserve` does."""
    _CURRENT.get().reserve(nbytes, what)


def spend(operations: int, what: str) -> None:
    """Count `operations` steps of the work called `what` in the current budget.

    Raises:
        LimitError: when more steps were counted than allowed (LIM003), or time has run out
            (LIM002).
    """
    _CURRENT.get().spend(operations, what)
