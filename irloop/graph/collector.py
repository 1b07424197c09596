"""Pauses Python's garbage collector while a model is read or validated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run a block without garbage collection.

    A graph is many objects and no garbage: searching them again and again while they are made
    takes longer than making them. At the end they are marked as old, so that the next collection
    does not search all of them either.
    """
    if not gc.isenabled() or gc.get_freeze_count():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        gc.enable()
