"""Reports the progress of long work to a listener.

The work calls `told` from time to time; no listener has to be passed through the functions. Without
a listener this costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "listening", "told"]

#: A listener gets the name of the work, the number of finished pieces, and the total (None:
#: unknown).
Listener = Callable[[str, int, int | None], None]


def told(what: str, done: int, total: int | None = None) -> None:
    """Report that `done` of `total` pieces of the work `what` are finished."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listen` with the progress of all work inside the block, in this thread."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


_LISTENER: ContextVar[Listener | None] = ContextVar("irloop_progress", default=None)
