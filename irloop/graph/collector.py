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
    """Pause Python's garbage collector in the block.

    A graph consists of many objects, and none of them is garbage while it is built. Searching for
    garbage would take longer than building the graph.

    At the end of the block, the new objects are marked as old, so that the next collections skip
    them. They are not marked if the process has called `gc.freeze`, because marking would unfreeze
    its objects.

    Graphs contain cycles, which only the collector frees. Therefore a process that reads many
    models must still search all old objects from time to time. This is done at the beginning of the
    block, if the number of objects that were marked since the last such search exceeds `MANY`, and
    also exceeds a quarter of the objects that were left after that search.
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
