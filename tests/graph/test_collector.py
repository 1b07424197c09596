"""The garbage collector while a model is read: paused, and as before at the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Prints whether the collector was enabled inside and afterwards, and the count of frozen objects.
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
    """Also objects that the process has frozen itself, as servers do, stay frozen."""
    program = PROGRAM.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == wanted


#: Prints the most cycles that were alive at the same time, of a million that became garbage.
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
    """Python never searches objects marked as old by itself: 100 models stayed in memory."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_MODELS], capture_output=True, text=True, check=True
    )
    # A search is due after 250,000 objects; each node and its dictionary are two at most.
    assert int(done.stdout) <= 30
