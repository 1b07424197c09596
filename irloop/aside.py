"""The hidden folder beside the files that are written: temporary files, and what keeps them apart.

If the system permits, a file has no name before it is complete. Temporary files that need a name,
and scratch folders, are locked and are in this hidden folder beside the target. What is there and
not locked was left by a killed process: the next writer removes it. The target's folder itself is
never listed, because it may hold a million results. Only names of certain forms are removed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

__all__ = ["ASIDE", "in_aside", "is_at", "leave_aside", "lock", "new_name", "sweep", "turn"]

#: The name of the hidden folder.
ASIDE = f".irloop-tmp-{os.geteuid()}" if hasattr(os, "geteuid") else ".irloop-tmp"

#: The forms of names in it. `re` compiles them at the first use, which few runs reach.
_FILE = r"\.irloop-[0-9a-f]{16}\.tmp"
_FOLDER = r"\.irloop-scratch-[a-z0-9_]{8}"

#: The file that a process locks while it moves several files; its name matches `_FILE`.
_TURN = f".irloop-{0:016x}.tmp"

#: Only this user can read the hidden folder. Windows is an exception, because files would keep the
#: restriction after they are moved out of the folder.
_MODE = 0o777 if os.name == "nt" else 0o700

#: How often the hidden folder is made again when other processes remove it at the same moment.
_TRIES = 100

_Made = TypeVar("_Made")


def in_aside(folder: str, make: Callable[[str], _Made]) -> _Made:
    """Call `make` with the hidden folder inside `folder`, and return the result.

    The hidden folder is created if it is missing. If it cannot be created or belongs to another
    user, `folder` itself is used.
    """
    aside = os.path.join(folder, ASIDE)
    for _ in range(_TRIES):
        if not _made_aside(aside):
            break
        # Another process may remove the folder between the two calls.
        with suppress(FileNotFoundError):
            return make(aside)
    return make(folder)


def _made_aside(aside: str) -> bool:
    """Create the folder `aside` if it is missing; return whether it can be used.

    It can be used if it exists now and belongs to this user.
    """
    try:
        os.mkdir(aside, _MODE)
    except FileExistsError:
        return _is_own_folder(aside)
    except OSError:
        return False
    return True


def _is_own_folder(path: str) -> bool:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        # Another process has just removed it.
        return True
    except OSError:
        return False
    is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return is_own and stat.S_ISDIR(status.st_mode)


def leave_aside(path: str) -> None:
    """Remove the hidden folder that contained `path`, if nothing else is in it."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) == ASIDE:
        with suppress(OSError):
            os.rmdir(folder)


@contextmanager
def turn(folder: str) -> Iterator[None]:
    """Wait for the turn of this process to move several files into `folder`."""
    try:
        import fcntl  # noqa: F401 (Windows has none)
    except ImportError:
        yield
        return
    try:
        handle, name = in_aside(folder, _waited_for)
    except OSError:
        # Nothing can be locked here; moving the files will tell what is wrong, if anything is.
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(name)
        os.close(handle)
        leave_aside(name)


def _waited_for(folder: str) -> tuple[int, str]:
    """Open and lock the file in the hidden folder `folder` that only one process can lock."""
    import fcntl

    name = os.path.join(folder, _TURN)
    while True:
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        # A file system without locks must not prevent writing.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        if is_at(handle, name):
            return handle, name
        # The process that had the turn has removed the file.
        os.close(handle)


def new_name(folder: str) -> str:
    return os.path.join(folder, f".irloop-{os.urandom(8).hex()}.tmp")


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Return whether `entry` has a name that this module gives its temporary files and folders.

    The result is False for a symlink, whatever its name.
    """
    if entry.is_symlink():
        return False
    form = _FOLDER if entry.is_dir(follow_symlinks=False) else _FILE
    return re.fullmatch(form, entry.name) is not None


def lock(handle: int) -> bool:
    """Lock a file until it is closed; return False if another process holds the lock.

    On a system without such locks, return True and lock nothing.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def is_at(handle: int, path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return os.path.samestat(status, os.fstat(handle))


def sweep(folder: str) -> None:
    """Remove leftovers of killed irloop processes from the hidden subfolder of `folder`.

    Leftovers are temporary files and scratch folders of irloop that no process has locked. If the
    system has no file locks, nothing is removed, because leftovers cannot be told from files in
    use.
    """
    try:
        import fcntl
    except ImportError:
        # Without locks, unfinished files cannot be told from leftovers.
        return
    aside = os.path.join(folder, ASIDE)
    try:
        with os.scandir(aside) as entries:
            left = [entry for entry in entries if _is_ours(entry)]
    except OSError:
        return
    if not _is_own_folder(aside):
        return
    for entry in left:
        with suppress(OSError):
            handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if entry.is_dir(follow_symlinks=False):
                    import shutil

                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
            finally:
                os.close(handle)
    with suppress(OSError):
        os.rmdir(aside)
