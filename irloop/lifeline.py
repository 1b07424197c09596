"""Ends a child process as soon as its parent ends, however that happens.

The parent keeps the writing end of a pipe, the lifeline; the child has its reading end. Nothing is
ever written: the pipe closes when the parent ends, even by SIGKILL.
"""

from __future__ import annotations

import os
import select
import signal
import threading

__all__ = ["end_group", "end_with"]


def end_with(lifeline: int) -> None:
    """Kill this process as soon as the other end of the pipe `lifeline` closes.

    `lifeline` is the file descriptor of the reading end. If this process leads a process group, the
    whole group is killed.

    On Linux the system sends the signal, which also ends a process that hangs inside an engine with
    Python's lock held. (PR_SET_PDEATHSIG is not used, because it would kill the child as soon as
    the thread that started it ends.) Elsewhere a thread waits for the pipe.
    """
    target = -os.getpid() if os.getpgrp() == os.getpid() else os.getpid()
    if not _signalled(lifeline, target):
        threading.Thread(target=_wait, args=(lifeline, target), daemon=True).start()
    elif select.select([lifeline], [], [], 0)[0]:
        # The parent ended before the system was asked for the signal.
        os.kill(target, signal.SIGKILL)


def end_group() -> None:
    """Kill this process and all others of its process group if it leads the group.

    Otherwise, and on systems without POSIX process groups, do nothing.
    """
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)


def _signalled(lifeline: int, target: int) -> bool:
    """Let the system send SIGKILL to process `target` when the pipe `lifeline` closes.

    Returns False if the system cannot do this.
    """
    import fcntl

    if not hasattr(fcntl, "F_SETSIG"):
        return False
    flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, target)
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
    return True


def _wait(lifeline: int, target: int) -> None:
    os.read(lifeline, 1)
    os.kill(target, signal.SIGKILL)
