"""Starts irloop's Python processes so that they import nothing from the current folder.

That folder may hold the models of strangers. Python looks there first when it starts with ``-c`` or
``-m``, so a file ``multiprocessing.py`` beside a model would run in every child process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["command", "environment", "isolated"]

#: Makes each Python that inherits it leave out the current folder, as its option ``-P`` does.
_SAFE = {"PYTHONSAFEPATH": "1"}


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in a new Python; call it with `environment`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment variables for a child process.

    The child imports from the same folders as this process, but for the current folder, and from no
    others. `base` holds the other variables, by default all of this process.
    """
    return {
        **(os.environ if base is None else base),
        **_SAFE,
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(_places()),
    }


@contextmanager
def isolated(**variables: str) -> Iterator[None]:
    """Let the Python processes that another library starts in this block leave out the folder.

    They inherit the environment of this process; `variables` are set in it during the block, too.
    """
    new = {**_SAFE, **variables}
    before = {name: os.environ.get(name) for name in new}
    os.environ.update(new)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _places() -> list[str]:
    """The absolute folders of `sys.path`; the current one only if irloop itself is in it."""
    here = os.getcwd()
    own = str(Path(__file__).resolve().parents[1])
    places = [place for place in sys.path if os.path.isabs(place)]
    return [place for place in places if place == own or not _is_folder(place, here)]


def _is_folder(place: str, here: str) -> bool:
    """Return whether both paths are the same folder."""
    return os.path.realpath(place) == os.path.realpath(here)
