"""Pauses Python's garbage collector while a model is read or validated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


#: Holds True once the process is found to have frozen objects. It is remembered because counting
#: frozen objects visits each of them.
_FROZEN: list[bool] = []


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run a block without garbage collection.

    A graph consists of many objects, none of which is garbage: repeated searches while they are
    created take longer than creating them. At the end they are marked as old, so that the next
    collection skips them, too. A process that has frozen objects itself (`gc.freeze`) is an
    exception: marking would unfreeze these objects, so it is left out.
    """
    if not gc.isenabled():
        yield
        return
    if not _FROZEN and gc.get_freeze_count():
        _FROZEN.append(True)
    gc.disable()
    try:
        yield
    finally:
        if not _FROZEN:
            gc.freeze()
            gc.unfreeze()
        gc.enable()
