"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from irloop.errors import WriteError

__all__ = ["write_whole"]


def write_whole(path: str, text: str) -> None:
    """Write `text` and a line end under another name, then rename.

    Raises:
        WriteError: when the file cannot be written; an old one is left as it was.
    """
    beside = f"{path}.{os.getpid()}.part"
    try:
        # Names of files need not be Unicode.
        Path(beside).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        os.replace(beside, path)
    except OSError as error:
        Path(beside).unlink(missing_ok=True)
        raise WriteError(f"cannot write {path}: {error.strerror}") from error
