"""Addresses of files: local paths, and all addresses that fsspec can open (s3://, gs://, https://).

Credentials are never taken from arguments: fsspec's packages read them from their own environment
variables and configuration files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from irloop.diagnostics import one_line
from irloop.errors import UsageError
from irloop.files import reason_of, replacing

__all__ = [
    "Place",
    "fetching_from",
    "is_local",
    "place_of",
    "put",
    "remove_older",
    "target_of",
    "without_secrets",
]

#: Stores that never show a partly written file.
_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "memory"}

#: The packages that open each kind of address; the extra `fleet` does not install them.
_PACKAGES = {
    **dict.fromkeys(("http", "https"), "aiohttp"),
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "adlfs"),
    **dict.fromkeys(("oci", "ocilake"), "ocifs"),
    "hf": "huggingface_hub",
}

#: The kinds of addresses to which results cannot be written, each with the reason.
_READ_ONLY = {
    "hf": "each file would be a commit of its own in the repository",
    **dict.fromkeys(("http", "https"), "web servers do not accept files"),
    **dict.fromkeys(("oci", "ocilake"), "writing whole files to this store has not been tested"),
    "memory": "each process has a memory of its own, which ends with it",
}

_PROTOCOL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)(?:://|::)")

#: The user and password in an address. Azure and OCI have the name of a container there, as in
#: abfs://container@account.dfs.core.windows.net, and take no credentials from addresses.
_SECRET = re.compile(r"(?<!\baz)(?<!\babfs)(?<!\babfss)(?<!\boci)(?<!\bocilake)://[^/@\s]*@")


class Place(NamedTuple):
    """A file system and a path in it; its address is `prefix`, the path and `suffix`."""

    fs: Any
    path: str
    prefix: str = ""
    suffix: str = ""
    local: bool = False

    def address(self, path: str) -> str:
        """Add the prefix and the suffix of this place to `path`, to make an address."""
        return f"{self.prefix}{path}{self.suffix}"


def is_local(address: str) -> bool:
    """Return whether `address` is a path on this machine."""
    found = _PROTOCOL.match(address)
    return found is None or found[1] in ("file", "local")


def without_secrets(address: str) -> str:
    """The address without user and password, for messages and tables."""
    return _SECRET.sub("://", address) if "@" in address else address


def place_of(address: str) -> Place:
    """The file system and path of an address.

    Raises:
        UsageError: for a protocol that no installed package supports, or an invalid address.
    """
    import fsspec

    if is_local(address):
        path = os.path.abspath(re.sub(r"^(file|local)://", "", address))
        return Place(fsspec.filesystem("file"), path, local=True)
    shown = without_secrets(address)
    try:
        # Listings must not be cached, because a store may have millions of entries.
        fs, path = fsspec.core.url_to_fs(address, use_listings_cache=False)
    except ImportError as error:
        found = _PROTOCOL.match(address)
        package = _PACKAGES.get(found[1].lower() if found else "", "the package of this store")
        raise UsageError(
            f"{shown}: {one_line(str(error))}",
            cause="a package for this kind of address is not installed, or its import fails",
            fix=f"pip install {package}, here and on all workers",
        ) from None
    except Exception as error:
        raise UsageError(f"{shown} cannot be opened: {error}") from None
    path = str(path)
    first, chained, rest = address.partition("::")
    if chained:
        return Place(fs, path, f"{_protocol(fs)}://", f"::{rest}")
    start = first.find(path) if path else -1
    if start < 0 and "@" in first:
        raise UsageError(
            f"{shown}: an account in an address is not supported",
            cause="the addresses of the models in it would not contain the account",
            fix="give the container only, as in abfs://container/folder, and the account in "
            "AZURE_STORAGE_ACCOUNT_NAME",
        )
    return Place(fs, path, first[:start] if start >= 0 else f"{_protocol(fs)}://")


def target_of(address: str) -> str:
    """Return the address of a folder for results in the form that workers need.

    A local path becomes absolute. An address of a store that irloop can write to, such as s3://,
    is returned unchanged.

    Raises:
        UsageError: for an address to which irloop cannot write results, such as https://.
    """
    if is_local(address):
        return place_of(address).path
    for kind in _PROTOCOL.findall(address):
        reason = _READ_ONLY.get(kind.lower())
        if reason is not None:
            raise UsageError(
                f"{without_secrets(address)}: results are not written to {kind}://",
                cause=reason,
                fix="give a folder or an address of another store (s3://, gs://) as the target",
            )
    return address


def _protocol(fs: Any) -> str:
    return str(fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0])


@contextmanager
def fetching_from(address: str) -> Iterator[None]:
    """Turn every exception of a storage package into a `UsageError` about the address.

    These packages raise many kinds of exceptions, whose texts may contain signed addresses.
    """
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UsageError(f"{without_secrets(address)} cannot be read: {reason}") from error


def put(address: str, data: bytes) -> None:
    """Write a file completely or not at all; create missing folders.

    Raises:
        UsageError: when it cannot be written.
    """
    if is_local(address):
        try:
            os.makedirs(os.path.dirname(os.path.abspath(address)), exist_ok=True)
            with replacing(address) as (file,):
                file.write(data)
        except OSError as error:
            raise UsageError(f"cannot write {address}: {reason_of(error, address)}") from error
        return
    place = place_of(address)
    try:
        if _protocol(place.fs) in _WHOLE:
            place.fs.pipe_file(place.path, data)
            return
        folder, _, name = place.path.rpartition("/")
        aside = f"{folder}/.{name}.{os.getpid()}.tmp"
        place.fs.makedirs(folder, exist_ok=True)
        place.fs.pipe_file(aside, data)
        place.fs.mv(aside, place.path)
    except Exception as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise UsageError(f"cannot write {without_secrets(address)}: {reason}") from error


def remove_older(folder: str, seconds: float) -> None:
    """Remove the files of a folder that were last written more than `seconds` ago.

    Files of stores that cannot list, date or remove them stay where they are.
    """
    place = place_of(folder)
    with suppress(Exception):
        for path in place.fs.ls(place.path, detail=False):
            time = place.fs.modified(path)
            # fsspec returns times without a zone in UTC.
            written = time if time.tzinfo else time.replace(tzinfo=UTC)
            if (datetime.now(UTC) - written).total_seconds() > seconds:
                place.fs.rm_file(path)
