"""Starts the processes of a local cluster by forking one process.

That process has already imported the modules that all the others need.
"""

from __future__ import annotations

import os
import signal
from multiprocessing import forkserver, resource_tracker

from irloop import children

__all__ = ["METHOD", "THREADS", "prepare"]

#: The way in which Dask starts the processes of a local cluster.
METHOD = "forkserver"

#: NumPy and the engines compute in one thread, because there is a worker for each processor.
THREADS = {
    name: os.environ.get(name, "1")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
}


def prepare() -> None:
    """Start the process that forks the workers, and import the modules of the workers in it.

    Ctrl-C in a terminal sends SIGINT to all of these processes. In the new process and in the
    workers SIGINT stays blocked. Only the calling process handles it, and then ends the others.
    """
    # Starting the resource tracker unblocks the signal, so start it before the signal is blocked.
    with children.isolated():
        resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        forkserver.set_forkserver_preload(["distributed", "irloop.fleet.task"])
        with children.isolated(**THREADS):
            forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
