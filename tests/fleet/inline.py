"""A cluster whose tasks run at once in this process, for tests of the driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irloop.fleet.cluster import Cluster
from irloop.fleet.runner import Limits
from irloop.fleet.task import versions

#: Receives the number of a task (from 1), and may raise an exception in its place.
Fault = Callable[[int], None]


class CancelledError(Exception):
    """The scheduler was lost while a task ran."""


class Future:
    def __init__(self, work: Callable[[], Any]) -> None:
        self._value: Any = None
        self._error: Exception | None = None
        self.status = "finished"
        try:
            self._value = work()
        except CancelledError:
            self.status = "cancelled"
        except Exception as error:
            self._error = error
            self.status = "error"

    def result(self, timeout: float) -> Any:
        return self._value

    def exception(self, timeout: float) -> Exception | None:
        return self._error

    def add_done_callback(self, call: Callable[[Any], object]) -> None:
        call(self)


def no_fault(number: int) -> None:
    """Every task runs."""


class InlineClient:
    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self.keys: list[str] = []
        self.calls: list[tuple[Any, ...]] = []
        self.big: list[bool] = []

    def submit(self, function: Callable[..., Any], *args: Any, **options: Any) -> Future:
        self.keys.append(options["key"])
        self.calls.append(args)
        self.big.append(options["big"])
        number = len(self.keys)

        def work() -> Any:
            self._fault(number)
            return function(*args, big=options["big"])

        return Future(work)


class InlineCluster(Cluster):
    def __init__(self, fault: Fault = no_fault) -> None:
        self.client = InlineClient(fault)
        self.versions = versions()
        self.marks_big = True
        self.reconnected = 0
        self.lost = False

    @property
    def is_connected(self) -> bool:
        return not self.lost

    def warm(self, limits: Limits, steps: Sequence[str]) -> None:
        """The tests of the driver start their children themselves."""

    def reconnect(self) -> None:
        self.lost = False
        self.reconnected += 1

    def threads(self) -> int:
        return 2
