"""What the exit status says.

1 and 2 are kept apart so that a pipeline can tell a bad model from a check that never ran.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """The exit status of every command."""

    #: Everything asked for was done and nothing was found.
    FINE = 0
    #: The model is invalid, cannot be converted or run, or the two models differ.
    FINDINGS = 1
    #: Nothing could be said: wrong usage, nothing matched, an unreadable file, a bug in irloop.
    COULD_NOT_LOOK = 2
    #: Somebody pressed Ctrl-C; nothing was written. (As shells say it.)
    INTERRUPTED = 130
