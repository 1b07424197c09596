"""Models can be validated in several threads at the same time, even while the rules are loaded for
the first time.
"""

from __future__ import annotations

import subprocess
import sys

#: The program stops in the middle of the first rule file until a second thread has requested the
#: rules.
PROGRAM = """
import importlib.machinery as machinery, threading
from irloop.validation.engine import rule_classes

begun, go_on = threading.Event(), threading.Event()
load = machinery.SourceFileLoader.exec_module

def held(self, module):
    if "irl1" in module.__name__ and not begun.is_set():
        begun.set()
        go_on.wait(60)
    load(self, module)

machinery.SourceFileLoader.exec_module = held
found = {}

def ask(name):
    try:
        found[name] = len(rule_classes("IRL1"))
    except Exception as error:
        found[name] = repr(error)

first, second = (threading.Thread(target=ask, args=(name,)) for name in ("first", "second"))
first.start()
begun.wait(60)
second.start()
second.join(1)
go_on.set()
first.join()
second.join()
assert found["first"] == found["second"] > 10, found
"""


def test_a_second_thread_waits_for_the_rules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
