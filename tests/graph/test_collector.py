"""The garbage collector is paused while a model is read, and restored afterwards."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Prints whether the collector was enabled during and after reading, and the number of frozen
#: objects.
PROGRAM = """
import gc
from irloop.graph.collector import collector_paused

{before}
count = gc.get_freeze_count()
for _ in range(2):
    with collector_paused():
        inside = gc.isenabled()
print(inside, gc.isenabled(), gc.get_freeze_count() == count, count > 0)
"""


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("", "False True True False"),
        ("gc.freeze()", "False True True True"),
        ("gc.disable()", "False False True False"),
    ],
)
def test_the_collector_is_as_before_afterwards(before: str, wanted: str) -> None:
    """Objects that the process itself has frozen, as servers do, also stay frozen."""
    program = PROGRAM.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == wanted


#: Prints how many of a million cycles that became garbage were alive at the same time, at most.
MANY_MODELS = """
import gc, weakref
from irloop.graph.collector import collector_paused

class Node:
    pass

alive, most = weakref.WeakSet(), 0
for _ in range(100):
    with collector_paused():
        for _ in range(10_000):
            node = Node()
            node.itself = node
        alive.add(node)
    most = max(most, len(alive))
print(most)
"""


def test_cycles_that_became_garbage_are_collected() -> None:
    """Python never collects objects marked as old on its own; formerly 100 models stayed in
    memory.
    """
    done = subprocess.run(
        [sys.executable, "-c", MANY_MODELS], capture_output=True, text=True, check=True
    )
    # A collection is due after 250,000 objects; each node and its dictionary are at most two
    # objects.
    assert int(done.stdout) <= 30
