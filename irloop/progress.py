"""Tells whoever listens how far a long piece of work has come.

The work calls `told` as it goes on; nothing has to be passed down to it. Without a listener that
costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "listening", "told"]

#: Takes what is counted, how many are done, and how many there are (None: not known).
Listener = Callable[[str, int, int | None], None]


def told(what: str, done: int, total: int | None = None) -> None:
    """Tell that `done` of `total` pieces of the work called `what` are finished."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have `listener` told of all work inside the block, in this thread."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


_LISTENER: ContextVar[Listener | None] = ContextVar("irloop_progress", default=None)
