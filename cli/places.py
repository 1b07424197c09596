"""Identifies files and findings for CI services: by relative path and by a stable fingerprint."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path, PurePath
from urllib.parse import quote

from irloop.diagnostics import Diagnostic

__all__ = ["fingerprint", "relative", "slashed", "uri"]


def slashed(file: str, kind: type[PurePath] = PurePath) -> str:
    """The path with forward slashes, also on Windows, and without a leading `./`."""
    return kind(file).as_posix()


def relative(file: str) -> str:
    """The path with forward slashes.

    It is relative if the file is inside the current folder, else absolute.
    """
    path = Path(os.path.abspath(file))
    here = Path.cwd()
    found = path.relative_to(here) if path.is_relative_to(here) else path
    # File names need not be Unicode, but reports are.
    return os.fsencode(found.as_posix()).decode("utf-8", "backslashreplace")


def uri(file: str) -> str:
    """The URI of a file; relative if the file is in the working folder."""
    path = Path(os.path.abspath(file))
    here = Path.cwd()
    if path.is_relative_to(here):
        return quote(os.fsencode(path.relative_to(here).as_posix()))
    return path.as_uri()


def fingerprint(finding: Diagnostic) -> str:
    """Return a hash that identifies a finding even after its line has moved.

    The hash covers the code, the file, the path, the element and the message, but not the line.
    """
    place = finding.location
    parts = (finding.code, uri(place.file or ""), place.path, place.element, finding.message)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
