"""Makes `irloop.validate` fail as an engine may, for models with a mark in their text.

Python imports this module by its name when it starts, in every process of a test that has this
folder in PYTHONPATH.
"""

import os
import time
from pathlib import Path
from typing import Any

import irloop

_validate = irloop.validate


def validate(path: str, *more: Any, **options: Any) -> Any:
    text = Path(path).read_bytes()
    if b"irloop-test: die" in text:
        os.kill(os.getpid(), 9)
    if b"irloop-test: hang" in text:
        # The alarm that ends the child when its time is over is switched off, too.
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(3600)
    return _validate(path, *more, **options)


irloop.validate = validate
