"""Opens files for reading: regular files only, and those that a model names only in its folder.

`open_regular` opens every file that a user or a model names. A path that a model names or implies
is a `PathBelow`, which `open_regular` never follows out of its folder.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Mapping, Sequence
from typing import Literal

from irloop.errors import UsageError

__all__ = [
    "SUFFIXES",
    "Path",
    "PathBelow",
    "RefusedFileError",
    "dialect_of",
    "is_address",
    "is_onnx_text",
    "location_below",
    "open_regular",
    "read_regular",
    "require_local",
    "weights_beside",
    "what_else",
]

Path = str | os.PathLike[str]

#: The dialect of each suffix of models, named as in `Model.dialect`.
SUFFIXES: Mapping[str, Literal["openvino", "onnx"]] = {
    ".xml": "openvino",
    ".onnx": "onnx",
    ".onnxtxt": "onnx",
}

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

#: Names of files that are never weights, but may hold what no log should show. Exporters name a
#: file of weights as the model or as a tensor, with any suffix or none, so others are not refused.
_NEVER_WEIGHTS = re.compile(
    r"""
    .*\.(
        ya?ml | json[5lc]? | toml | ini | cfg | conf | config | properties | env | envrc | tfvars
        | tfstate | plist | xml | html? | md | rst | txt | log | csv | tsv | lock
        | py | pyc | ipynb | sh | bash | zsh | bat | cmd | ps1 | js | mjs | jsx | tsx | rb | php
        | pem | key | crt | cer | der | csr | p12 | pfx | p8 | jks | keystore | kdbx | ppk | asc
        | gpg | ovpn | rdp | sql | sqlite3? | db | secrets? | credentials?
    )
    | id_(rsa|dsa|ecdsa|ed25519)(_sk)? | authorized_keys | known_hosts | kubeconfig
    | passwd | shadow | credentials? | secrets? | passwords?
    | makefile | dockerfile | containerfile | jenkinsfile | codeowners | readme | licen[cs]e
    """,
    re.VERBOSE,
)

#: How a hidden file ends if it belongs to a model whose name begins with a dot.
_ENDS_OF_WEIGHTS = (".bin", ".data", "_data")

#: How an address begins; Windows has drives of one letter.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

#: The errors of opening a link if links must not be followed.
_IS_LINK = (errno.ELOOP, errno.ENOTDIR, getattr(errno, "EMLINK", errno.ELOOP))

# Opening a pipe must not wait, and opening a terminal must not make it that of this process.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class RefusedFileError(OSError):
    """A file that a model names is not opened, because of its place or its name.

    `strerror` tells why, for example "leads out of the model's folder"; `expected` and `cause`
    complete an error message.
    """

    def __init__(self, reason: str, path: str, expected: str, cause: str) -> None:
        super().__init__(errno.EACCES, reason, path)
        self.expected = expected
        self.cause = cause


class PathBelow(os.PathLike[str]):
    """A path that a model names or implies: the file `name` in `folder`, the model's folder.

    `open_regular` opens it only if no link leads out of the folder, or to a file whose name is not
    one of weights. It can be passed wherever a path can; as a string it is an ordinary path.
    """

    __slots__ = ("folder", "name")

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = os.fspath(folder)
        self.name = name

    def __fspath__(self) -> str:
        return os.path.join(self.folder, self.name)

    def __str__(self) -> str:
        return self.__fspath__()


def dialect_of(path: Path) -> Literal["openvino", "onnx"] | None:
    """The dialect that the suffix of `path` indicates, or None."""
    return SUFFIXES.get(os.path.splitext(path)[1].lower())


def is_onnx_text(path: Path) -> bool:
    """Return whether the suffix of `path` is that of ONNX's text format, which no engine reads."""
    return os.fspath(path).lower().endswith(".onnxtxt")


def weights_beside(model: Path) -> PathBelow:
    """The default .bin of an .xml: it has the same name and is in the same folder."""
    folder, name = os.path.split(model)
    return PathBelow(folder, f"{os.path.splitext(name)[0]}.bin")


def location_below(folder: Path, location: str) -> PathBelow:
    """The path of the external data at `location` of a model in `folder`.

    Raises:
        RefusedFileError: when the location is not a path in the folder, or not one of weights.
    """
    # Only Windows separates folders by backslashes, but the same model must be refused everywhere.
    parts = re.split(r"[/\\]", location)
    is_absolute = location.startswith(("/", "\\")) or re.match("[A-Za-z]:", location) is not None
    if not location or is_absolute or ".." in parts or "\0" in location:
        raise RefusedFileError(
            "is not inside the model's folder",
            location,
            expected="a relative path without '..'",
            cause="the file was written by hand, or in order to read other files on this computer",
        )
    _require_name_of_weights(_parts(location), location)
    return PathBelow(folder, location)


def is_address(path: object) -> bool:
    """Return whether `path` is an address of a network or a store, such as ``https://...``."""
    return isinstance(path, str) and bool(_ADDRESS.match(path)) and not os.path.exists(path)


def require_local(path: Path) -> None:
    """Refuse the address of a file in a network or a store, such as ``https://...``.

    Raises:
        UsageError: saying what to do.
    """
    if is_address(path):
        import shlex

        shown = os.fspath(path)
        quoted = shlex.quote(shown)
        command = f"aws s3 cp {quoted} ." if shown.startswith("s3:") else f"curl -LO {quoted}"
        raise UsageError(
            f"{path} is an address, and models are read from files of this machine",
            fix=f"download it first, with the .bin of an .xml: {command}; "
            "commands on one model fetch it themselves after pip install 'irloop[fleet]'",
        )


def what_else(path: Path) -> str:
    """Return the kind of file at `path` if it is not a regular file, for example "a pipe".

    The result is an empty string for a regular file, and if nothing exists at `path`.

    Raises:
        OSError: when it cannot be examined although it exists.
        ValueError: when `path` cannot be a path, for example because it contains a NUL.
    """
    try:
        return _KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "")
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return ""
        raise


def open_regular(path: Path) -> io.FileIO:
    """Open a regular file for reading, unbuffered.

    Links are followed; those of a `PathBelow` only to places in its folder. Opening a pipe would
    block, and reading a device may never end, or have an effect.

    Raises:
        RefusedFileError: when a `PathBelow` leads out of its folder, or to another file than
            weights.
        OSError: when it is not a regular file, or cannot be opened.
    """
    if isinstance(path, PathBelow):
        handle = _opened_below(path)
    else:
        # Opening a device may already act on it, so the path is checked before; and again
        # afterwards, because something else may have taken its place.
        _require_regular(os.stat(path), path)
        handle = os.open(path, _FLAGS)
    try:
        _require_regular(os.fstat(handle), path)
    except OSError:
        os.close(handle)
        raise
    return io.FileIO(handle, "rb")


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
    raise OSError(errno.EINVAL, f"this is {kind}, not a file", os.fspath(path))


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a regular file.

    Raises:
        OSError: when it is not a regular file, has more than `most` bytes, or cannot be read.
    """
    with io.BufferedReader(open_regular(path)) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= most:
            # One extra byte is requested, to detect a file that grows while it is read.
            data = stream.read(size + 1)
            size = len(data)
    if size > most:
        raise OSError(errno.EFBIG, f"{size} bytes are more than {most}", os.fspath(path))
    return data


def _opened_below(path: PathBelow) -> int:
    folder, parts = path.folder or os.curdir, _parts(path.name)
    if os.open in os.supports_dir_fd:
        try:
            return _walked(folder, parts, path)
        except OSError as error:
            if error.errno not in _IS_LINK:
                raise
    # There is a link on the way. It is resolved without opening anything, and what it leads to is
    # opened without following another one, which may have been put there in the meantime.
    folder, target = os.path.realpath(folder), os.path.realpath(path)
    if not target.startswith(os.path.join(folder, "")):
        raise RefusedFileError(
            "leads out of the model's folder",
            os.fspath(path),
            expected=f"a file below {folder}",
            cause="a symbolic link points elsewhere",
        )
    parts = _parts(target[len(folder) :])
    _require_name_of_weights(parts, path)
    return _walked(folder, parts, path)


def _parts(name: str) -> list[str]:
    name = name.replace(os.altsep, os.sep) if os.altsep else name
    return [part for part in name.split(os.sep) if part not in ("", os.curdir)]


def _require_name_of_weights(parts: Sequence[str], path: Path) -> None:
    """Check that a file may hold weights, judged by the parts of its path in the model's folder.

    Raises:
        RefusedFileError: when it is hidden, or has the name of a text, settings or a secret.
    """
    *folders, name = parts or [os.curdir]
    is_hidden = name.startswith(".") and not name.endswith(_ENDS_OF_WEIGHTS)
    if is_hidden or any(folder.startswith(".") for folder in folders):
        reason = "is hidden or in a hidden folder"
    elif _NEVER_WEIGHTS.fullmatch(name.lower()):
        reason = "does not have the name of a file of weights"
    else:
        return
    raise RefusedFileError(
        reason,
        os.fspath(path),
        expected="a file of weights, such as model.onnx.data or model.bin",
        cause="the model was made in order to read other files",
    )


def _walked(folder: str, parts: Sequence[str], path: PathBelow) -> int:
    """Open the file `parts` in `folder`, following links only on the way to `folder`.

    Raises:
        OSError: with an error of `_IS_LINK` if there is a link among `parts`, and when the file is
            not a regular file or cannot be opened.
    """
    *folders, name = parts or [os.curdir]
    if os.open not in os.supports_dir_fd:
        target = os.path.join(folder, *parts)
        _require_regular(os.lstat(target), path)
        return os.open(target, _FLAGS)
    above = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
    place = os.open(folder, above)
    try:
        for each in folders:
            below = os.open(each, above | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = below
        status = os.stat(name, dir_fd=place, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        _require_regular(status, path)
        return os.open(name, _FLAGS | os.O_NOFOLLOW, dir_fd=place)
    finally:
        os.close(place)
