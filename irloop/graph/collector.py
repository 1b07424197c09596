"""Pauses Python's garbage collector while a model is read or validated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


#: Holds True once the process is known to have frozen objects. It is remembered, because counting
#: frozen objects visits each of them.
_FROZEN: list[bool] = []

#: The number of objects that were marked as old since the last search of all old objects, and the
#: number of objects that this search left. Python does not count objects that are marked, so it
#: would never search them by itself.
_MARKED, _LEFT = [0], [0]

#: The collector searches old objects only after this many objects were marked as old. A command
#: that reads one model never reaches this number.
MANY = 250_000


@contextmanager
def collector_paused() -> Iterator[None]:
    """Run a block without garbage collection.

    A graph consists of many objects, none of which is garbage: repeated searches while they are
    created take longer than creating them. At the end they are marked as old, so that the next
    collection skips them, too. If the process itself has frozen objects (`gc.freeze`), they are not
    marked, because marking would unfreeze the frozen objects.

    Graphs contain cycles, which only the collector frees. A process that reads many models
    therefore searches the old objects once their number has grown by `MANY` and by a quarter.
    """
    if not gc.isenabled():
        yield
        return
    if not _FROZEN and gc.get_freeze_count():
        _FROZEN.append(True)
    if _MARKED[0] > max(MANY, _LEFT[0] // 4):
        gc.collect()
        gc.freeze()
        _MARKED[0], _LEFT[0] = 0, gc.get_freeze_count()
        gc.unfreeze()
    gc.disable()
    try:
        yield
    finally:
        if not _FROZEN:
            _MARKED[0] += gc.get_count()[0]
            gc.freeze()
            gc.unfreeze()
        gc.enable()
