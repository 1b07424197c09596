"""Pauses Python's garbage collector while a model is read or validated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run a block without garbage collection.

    A graph consists of many objects, none of which is garbage: repeated searches while they are
    created take longer than creating them. At the end they are marked as old, so that the next
    collection skips them, too.
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
