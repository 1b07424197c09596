"""The exit statuses. With 1 and 2 a pipeline can tell a bad model from a check that never ran."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """The exit status of every command."""

    #: Everything was done and nothing was found.
    FINE = 0
    #: The model is invalid, cannot be converted or run, or the two models differ.
    FINDINGS = 1
    #: The check was impossible: wrong usage, no matching file, an unreadable file, a bug in irloop.
    NOT_CHECKED = 2
    #: The user pressed Ctrl-C; nothing was written. (Shells use this number.)
    INTERRUPTED = 130
