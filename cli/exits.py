"""The exit statuses of the commands.

Status 1 means that the check found something wrong with a model, and 2 that it could not check.
A pipeline can thus treat the two cases differently.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Exit"]


class Exit(IntEnum):
    """The exit status of every command.

    An interrupted command ends as shells report it, with 128 and the number of the signal: 130
    after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """

    #: Everything was done and nothing was found.
    FINE = 0
    #: The model is invalid, cannot be converted or run, or the two models differ.
    FINDINGS = 1
    #: The check was impossible: wrong usage, no matching file, an unreadable file, a bug in irloop.
    NOT_CHECKED = 2
