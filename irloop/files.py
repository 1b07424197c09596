"""Writes files so that they appear whole or not at all, and makes scratch folders."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, BinaryIO

from irloop.aside import in_aside, is_at, leave_aside, lock, new_name, sweep, turn
from irloop.opening import Path

__all__ = [
    "ParsedOnce",
    "move_together",
    "reason_of",
    "replacing",
    "scratch",
    "use_scratch",
    "write_report",
]


class ParsedOnce(os.PathLike[str]):
    """A path that keeps its parsed content until `close`, for several readers of one file.

    It can be passed wherever a path can. Some readers store the parsed file in `content`.
    Validation also stores the model that it has read; the next reader takes that model with
    `take_model`.
    """

    def __init__(self, path: Path, dialect: str | None = None) -> None:
        self.path = os.fspath(path)
        #: The dialect of a model that is only in memory, in `content`; `path` is its name.
        self.dialect = dialect
        self.content: Any = None
        self._model: tuple[Any, str] | None = None

    def __fspath__(self) -> str:
        return self.path

    def leave_model(self, model: Any, weights: Path = "") -> None:
        """Keep a model that was just read from this file, so that the next reader need not read it.

        The caller must not use the model afterwards. `weights` is the path of its weights file.
        """
        self._model = model, os.path.abspath(weights)

    def take_model(self, weights: Path = "") -> Any:
        """Return the model that was kept; a second call returns None.

        None is also returned if the model was read with another weights file.
        """
        model, self._model = self._model, None
        if model is None or model[1] != os.path.abspath(weights):
            return None
        return model[0]

    def close(self) -> None:
        """Release the parsed content and the kept model, which may take much memory."""
        self._model = None
        if self.content is not None:
            self.content.clear()
            self.content = None


def write_report(path: Path, data: bytes) -> None:
    """Write a report, completely or not at all.

    A device or a pipe is opened and written to, because renaming would replace it by a file. A link
    is replaced, wherever it leads: its maker may be a stranger. Only the links of the system to
    streams, such as /dev/stdout, are written through.

    Raises:
        OSError: when it cannot be written; an old file is unchanged.
    """
    if _is_stream(path):
        with open(path, "wb") as stream:
            stream.write(data)
        return
    with replacing(path) as (file,):
        file.write(data)


def _is_stream(path: Path) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    if stat.S_ISLNK(mode):
        folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
        return folder == "/dev" or folder.startswith("/proc/")
    return not stat.S_ISREG(mode)


def reason_of(error: OSError, path: Path) -> str:
    """Return the reason why a file could not be written, for an error message.

    If the disk is full, the reason also names this disk and the number of bytes that it has left.
    """
    reason = error.strerror or str(error)
    if error.errno not in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        return reason
    place = os.path.dirname(os.path.abspath(path))
    while not os.path.ismount(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    with suppress(OSError):
        import shutil  # loads all compressors, which no other path needs

        return f"{reason}: the disk of {place} has {shutil.disk_usage(place).free} bytes left"
    return f"{reason}: the disk of {place} is full"


#: Signals that may end the work of this process at any moment.
_SIGNALS = {
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")
    if hasattr(signal, name)
}

#: The folder given to `use_scratch`, if any.
_GIVEN: list[str] = []


@contextmanager
def replacing(*targets: Path) -> Iterator[tuple[BinaryIO, ...]]:
    """Yield a stream for each target; the written files replace the targets at the end.

    The targets are replaced when the block ends, the last target first, and together: if another
    process of irloop replaces the same files, all of them will be its files or all of them these.
    If the block raises an exception, the old files stay as they were, and no temporary files
    remain.

    Raises:
        OSError: when a file cannot be written.
    """
    with ExitStack() as stack:
        for folder in {os.path.dirname(os.path.abspath(target)) for target in targets}:
            sweep(folder)
        pending = [stack.enter_context(_pending(target)) for target in targets]
        yield tuple(item.stream for item in pending)
        for file in pending:
            file.stream.flush()
        with _together(targets):
            for file in reversed(pending):
                file.place()


def move_together(moves: Sequence[tuple[str, str]]) -> None:
    """Move files (from, to) on one file system in the same manner as `replacing` does.

    Raises:
        OSError: when a file cannot be moved.
    """
    with _together([target for _, target in moves]):
        for file, target in reversed(moves):
            os.replace(file, target)


@contextmanager
def _together(targets: Sequence[Path]) -> Iterator[None]:
    """Let no other process of irloop and no signal come between several moves to `targets`."""
    if len(targets) < 2:
        yield
        return
    folders = {os.path.dirname(os.path.abspath(target)) for target in targets}
    with ExitStack() as stack:
        # Always in the same order, so that no two processes wait for each other.
        for folder in sorted(folders):
            stack.enter_context(turn(folder))
        stack.enter_context(_undisturbed())
        yield


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals wait while the block runs; it must be short."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Pending:
    """A file that is being written; `name` is None as long as the file has no name on disk."""

    def __init__(self, target: Path) -> None:
        self._target = os.fspath(target)
        self._folder = os.path.dirname(os.path.abspath(target))
        self.name: str | None = None
        handle = _unnamed(self._folder)
        if handle is None:
            handle, self.name = in_aside(self._folder, _named)
        self.stream: BinaryIO = open(handle, "w+b")  # noqa: SIM115 (closed by `drop`)

    def place(self) -> None:
        """Give the file its final name."""
        if self.name is None and self._link(self._target):
            return
        if self.name is None:
            self.name = in_aside(self._folder, self._linked)
        os.replace(self.name, self._target)
        leave_aside(self.name)
        self.name = None

    def drop(self) -> None:
        """Close the file, and remove it unless it was given its final name."""
        # Closing writes the rest of the buffer; after a failure it fails again with the same error.
        with suppress(OSError):
            self.stream.close()
        if self.name is not None:
            with suppress(OSError):
                os.unlink(self.name)
            leave_aside(self.name)

    def _linked(self, folder: str) -> str:
        name = new_name(folder)
        self._link(name)
        return name

    def _link(self, name: str) -> bool:
        handle = self.stream.fileno()
        try:
            # Python asks the system to follow the link in /proc only if a descriptor is given.
            os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=handle, follow_symlinks=True)
        except FileExistsError:
            return False
        return True


@contextmanager
def _pending(target: Path) -> Iterator[_Pending]:
    file: _Pending | None = None
    try:
        with _undisturbed():
            file = _Pending(target)
        yield file
    finally:
        if file is not None:
            file.drop()


def _unnamed(folder: str) -> int | None:
    kind = getattr(os, "O_TMPFILE", None)
    if kind is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        handle: int = os.open(folder, kind | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise
    # A file that replaces another one has a temporary name for a moment, so it must be locked.
    lock(handle)
    return handle


def _named(folder: str) -> tuple[int, str]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        name = new_name(folder)
        handle = os.open(name, flags, 0o666)
        if lock(handle) and is_at(handle, name):
            return handle, name
        # Another process removed the file before it was locked, so try another name.
        os.close(handle)


@contextmanager
def scratch(folder: Path | None = None) -> Iterator[str]:
    """Make a new folder, by default in the system's temporary folder, and remove it at the end.

    Folders of killed processes are removed as well.
    """
    if folder is None and _GIVEN:
        yield from _part_of(_GIVEN[0])
        return
    # tempfile is imported here, because importing it at the top of the file would make every
    # command start a tenth slower. The same is true of shutil.
    import tempfile

    parent = os.path.abspath(tempfile.gettempdir() if folder is None else folder)
    sweep(parent)
    import shutil

    path, handle = "", None
    try:
        with _undisturbed():
            path, handle = in_aside(parent, _new_scratch)
        yield path
    finally:
        if path:
            shutil.rmtree(path, ignore_errors=True)
            leave_aside(path)
        if handle is not None:
            os.close(handle)


def use_scratch(folder: str) -> None:
    """Make all scratch folders of this process inside `folder`, which the parent process owns.

    The parent removes `folder` at the end, even if this process is killed. So the scratch folders
    need no locks, and making one takes half as long.
    """
    _GIVEN[:] = [folder]


def _part_of(folder: str) -> Iterator[str]:
    """Make a temporary folder in `folder`, yield its path, and remove it at the end."""
    import shutil
    import tempfile

    path = tempfile.mkdtemp(dir=folder)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _new_scratch(folder: str) -> tuple[str, int | None]:
    """Create a folder, and lock it if the system supports this.

    Returns the path, and the descriptor that holds the lock; None for the descriptor if there is no
    lock.
    """
    import tempfile

    while True:
        path = tempfile.mkdtemp(prefix=".irloop-scratch-", dir=folder)
        handle = _opened_folder(path)
        if handle is None and os.path.isdir(path):
            return path, None
        if handle is not None and lock(handle) and is_at(handle, path):
            return path, handle
        # Another process took the folder for a leftover before it was locked: make another one.
        if handle is not None:
            os.close(handle)


def _opened_folder(path: str) -> int | None:
    """Open a folder for locking; return its descriptor, or None if it cannot be opened.

    On Windows, folders cannot be opened.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return None
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    return None
