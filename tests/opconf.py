"""The conformance cases of single operations, with outputs recorded from OpenVINO."""

from __future__ import annotations

import atexit
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["cases", "opconf"]

ARCHIVE = Path(__file__).parent / "fixtures" / "opconf.tar.xz"


@cache
def opconf() -> Path:
    """The folder of the unpacked archive, which is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="irloop-opconf-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def cases() -> Path:
    """The folder with a folder for each operation, and in it one for each case."""
    return opconf() / "cases"
