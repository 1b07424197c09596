"""Does steps of onnx's inference for the harnesses, each in a fork of a small process.

A fork of the process of a harness takes many times as long, because that has much more memory.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import tempfile
from functools import cache
from typing import Any, BinaryIO, NamedTuple

from irloop.formats.onnx import apart

__all__ = ["in_a_fork", "start"]

#: The limit of one step in processor seconds.
SECONDS = 10


class Server(NamedTuple):
    """The small process, and the pipes to it and from it."""

    process: int
    questions: BinaryIO
    answers: BinaryIO


def in_a_fork(head: dict[str, Any], data: bytes) -> bytes:
    """The answer to one step, from a fork of the small process.

    Raises:
        ApartError: when the step fails or crashes.
    """
    server = start()
    try:
        pickle.dump((head, data), server.questions)
        server.questions.flush()
        status, answer = pickle.load(server.answers)  # noqa: S301 (our own process)
    except BaseException:
        # A late answer must not become the answer to the next step.
        start.cache_clear()
        os.kill(server.process, signal.SIGKILL)
        os.waitpid(server.process, 0)
        raise
    if status:
        raise apart.ApartError(f"refused, or crashed: {status}")
    return bytes(answer)


@cache
def start() -> Server:
    """Fork the small process, which should happen before this process has much memory."""
    to_read, to_ask = os.pipe()
    to_hear, to_answer = os.pipe()
    process = os.fork()
    if not process:
        try:
            os.close(to_ask)
            _serve(os.fdopen(to_read, "rb"), os.fdopen(to_answer, "wb"))
        finally:
            os._exit(0)
    os.close(to_read)
    os.close(to_answer)
    return Server(process, os.fdopen(to_ask, "wb"), os.fdopen(to_hear, "rb"))


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Do steps until the other process has ended."""
    import onnx.defs
    import onnx.inliner

    # The first use registers all operations, which no fork should repeat.
    onnx.defs.has("Relu")
    while True:
        try:
            head, data = pickle.load(questions)  # noqa: S301 (from our own process)
        except EOFError:
            return
        pickle.dump(_forked(head, data), answers)
        answers.flush()


def _forked(head: dict[str, Any], data: bytes) -> tuple[int, bytes]:
    """The status of the fork that did a step, and its answer."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            status = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
                file.write(apart.done(head, data))
                file.flush()
                status = 0
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        file.seek(0)
        return status, file.read()
