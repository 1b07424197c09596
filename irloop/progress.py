"""Reports the progress of long work to a listener.

Code that works for a long time calls `told` from time to time, which informs the listener of the
thread. So no function needs a listener as an argument. Without a listener the reports cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import TypeVar

__all__ = ["Listener", "counted", "listener", "listening", "told"]

Item = TypeVar("Item")

#: A listener gets the name of the work, the number of finished pieces, and the total (None:
#: unknown).
Listener = Callable[[str, int, int | None], None]


def listener() -> Listener | None:
    """The progress listener of this thread, or None.

    Code that makes many reports looks it up only once.
    """
    return _LISTENER.get()


def told(what: str, done: int, total: int | None = None) -> None:
    """Report that `done` of `total` pieces of the work `what` are finished.

    Work that begins before earlier work is finished counts as a part of the next piece of the
    earlier work. Therefore the last call for work with a total must have `done` equal to `total`;
    otherwise all work that follows would count as a part of it. `counted` takes care of this.
    """
    call = _LISTENER.get()
    if call is not None:
        call(what, done, total)


def counted(what: str, items: Iterable[Item], total: int, every: int = 1) -> Iterator[Item]:
    """Yield `items`, and report the progress to the listener of this thread, if there is one.

    The listener is told how many of the `total` items of the work `what` are done: before the
    first item, after every `every` items, and at the end.
    """
    call = _LISTENER.get()
    return iter(items) if call is None else _counted(call, what, items, total, every)


def _counted(
    call: Listener, what: str, items: Iterable[Item], total: int, every: int
) -> Iterator[Item]:
    rest, number = iter(items), 0
    for item in rest:
        call(what, number, total)
        yield item
        yield from islice(rest, every - 1)
        number += every
    call(what, total, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener` with the progress of all work inside the block, in this thread."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


_LISTENER: ContextVar[Listener | None] = ContextVar("irloop_progress", default=None)
