"""Ends the command when it is interrupted: quietly, with the usual exit status.

`main` imports this module before all others, because loading them takes most of a small run. While
they load, Ctrl-C ends the process at once. While a command runs, Ctrl-C, SIGTERM and SIGHUP raise
KeyboardInterrupt, so that it removes its temporary files.
"""

from __future__ import annotations

import os
import signal

# The modules for types take longer to load than everything that happens here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType
    from typing import Any

__all__ = ["came", "end_at_once", "ignore", "raise_when_they_come", "restore"]

#: Signals that ask for the end of the process, and what happens if nobody handles them.
_DEFAULTS = {
    getattr(signal, name): default
    for name, default in (
        ("SIGINT", signal.default_int_handler),
        ("SIGTERM", signal.SIG_DFL),
        ("SIGHUP", signal.SIG_DFL),
    )
    if hasattr(signal, name)
}

#: The first signal that came while a command ran; empty if none did.
_FIRST: list[int] = []


def end_at_once() -> None:
    """Let Ctrl-C end the process without unwinding; there must be nothing to clean up."""
    _handle(_end, [signal.SIGINT])


def raise_when_they_come() -> None:
    """Let all signals raise KeyboardInterrupt from now on; after the first, only Ctrl-C does."""
    _handle(_raise, _DEFAULTS)


def ignore() -> None:
    """Ignore all signals from now on, because the process is about to end."""
    _handle(signal.SIG_IGN, _DEFAULTS)


def restore() -> None:
    """Let signals do what they do in other programs."""
    for number, default in _DEFAULTS.items():
        _handle(default, [number])


def came() -> int:
    """The first signal that came while a command ran; 0 if none did.

    Libraries may turn the KeyboardInterrupt into another exception: NumPy does while it loads.
    """
    return _FIRST[0] if _FIRST else 0


def _handle(handler: Any, numbers: Iterable[int]) -> None:
    for number in numbers:
        # Whoever starts the process may have chosen that a signal is ignored, as nohup does.
        if signal.getsignal(number) not in (_DEFAULTS[number], _end, _raise):
            continue
        try:
            signal.signal(number, handler)
        except ValueError:
            # Only the main thread may do this.
            return


def _end(number: int, _: FrameType | None) -> None:
    os.write(2, b"irloop: interrupted\n")
    os._exit(128 + number)


def _raise(number: int, _: FrameType | None) -> None:
    if _FIRST and number != signal.SIGINT:
        return
    _FIRST.append(number)
    raise KeyboardInterrupt


# From here on, while `main` imports the others.
end_at_once()
