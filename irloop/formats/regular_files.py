"""What may be opened as a file: a pipe would be waited for, without end when nobody writes."""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["what_else"]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def what_else(path: str | os.PathLike[str]) -> str:
    """What stands at `path` in the place of a file ("a pipe"); empty for a file, or for nothing.

    Raises:
        OSError: when it cannot be looked at for another reason than that it is not there.
        ValueError: when `path` can be no path, as with a NUL in it.
    """
    try:
        return _KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return ""
        raise
