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
