"""Runs a model in an engine in a child process, so that a crash ends only the child process."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from irloop import children
from irloop.engines import child_messages
from irloop.engines.answer import Answer, Failure
from irloop.engines.catalogue import Engine
from irloop.engines.watch import MEMORY, Watch, kill

__all__ = ["Process", "size_of_files"]

#: How many characters from the end of an engine's output a message quotes.
LAST_WORDS = 300

#: Loading a model may take one more second of processor time for this many bytes.
BYTES_A_SECOND = 1 << 16


class Process:
    """One engine with one model that is loaded once and run repeatedly.

    The child process starts immediately and imports the engine, then loads the model as soon as it
    is known; only the first `run` waits until both are done. After a crash or a hang, the next run
    starts a new process; a model that could not be loaded is not tried again.
    """

    def __init__(
        self,
        engine: Engine,
        model: str | os.PathLike[str] | None = None,
        *,
        options: Mapping[str, str] | None = None,
        memory: int | None = MEMORY,
    ) -> None:
        """Start the child process.

        Args:
            engine: the engine; see `catalogue.engine_of`.
            model: the path of the model, if it exists already; otherwise call `load` later.
            options: for ONNX Runtime ``optimization``: none or all; for OpenVINO properties of its
                CPU plugin.
            memory: the memory limit of the process in bytes; None means no limit.
        """
        self._engine = engine
        self._options = dict(options or {})
        self._memory = memory
        self._model: str | None = None
        self._size: float | None = None
        self._ready = False
        self._names: tuple[str, ...] = ()
        self._failed: Answer | None = None
        self._child: subprocess.Popen[bytes] | None = None
        #: The writing end of a pipe. The child ends when it closes, which also happens when this
        #: process is killed.
        self._lifeline: IO[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._start()
        if model is not None:
            self.load(model)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def load(self, model: str | os.PathLike[str], size: float | None = None) -> None:
        """Tell the child process to load a model, without waiting for the end of loading.

        The time limit of loading grows with `size`, in bytes (see `run`). None means the total size
        of the model's files.
        """
        self._model, self._size = os.fspath(model), size
        head = {"model": self._model, "options": self._options}
        try:
            child_messages.send(self._stdin, head)
        except OSError:
            # The child is dead; the run that reads its answer will notice.
            return

    def run(
        self,
        values: Sequence[Any],
        *,
        seconds: float,
        loading: float | None = None,
        processor: float | None = None,
        reset: bool = True,
    ) -> Answer:
        """Run the model; `values` are its inputs, in order.

        `seconds` limits the run. With `reset`, variables (ReadValue, Assign) get their initial
        values; otherwise they keep their values from the last run.

        The other two limits apply if the model is still being loaded. `loading` limits the seconds
        that this call waits for it, by default `seconds`. `processor` limits the processor time of
        loading in seconds; one second is added for every `BYTES_A_SECOND` bytes of the model. If
        `processor` is None, there is no such limit.
        """
        assert self._model is not None, "no model was loaded"
        if self._failed is not None:
            return self._failed
        if self._child is None:
            self._start()
            self.load(self._model, self._size)
        if not self._ready:
            size = size_of_files(self._model) if self._size is None else self._size
            most = None if processor is None else processor + size / BYTES_A_SECOND
            told = self._exchange(None, (), loading or seconds, Failure.REFUSED, most)
            if isinstance(told, Answer):
                self._failed = told
                self.close()
                return told
            self._names = tuple(map(str, told[0].get("names", ())))
            self._ready = True
        reply = self._exchange({"reset": reset}, values, seconds, Failure.RAISED)
        if isinstance(reply, Answer):
            return reply
        return Answer(self._engine, reply[1], names=self._names)

    def close(self) -> None:
        """End the child process."""
        child, self._child, self._ready = self._child, None, False
        if child is None:
            return
        kill(child)
        for stream in (child.stdin, child.stdout, self._log, self._lifeline):
            _close(stream)
        child.wait()

    def _exchange(
        self,
        head: dict[str, Any] | None,
        values: Sequence[Any],
        seconds: float,
        error: Failure,
        processor: float | None = None,
    ) -> tuple[dict[str, Any], list[Any]] | Answer:
        """Send a request to the child and wait for its answer.

        Returns the header and the outputs, or the failure of the engine. `head` and `values` are
        the request; if `head` is None, nothing is sent, and the method only waits. The child is
        killed after `seconds`, or after it has used `processor` seconds of processor time. Killing
        it also ends a blocked read or write of this method. `error` is the kind of failure to
        report if the child answers with an error.
        """
        child = self._child
        assert child is not None
        assert child.stdout is not None
        limits = Watch(child, seconds=seconds, memory=self._memory, processor=processor)
        with limits as watch:
            try:
                if head is not None:
                    child_messages.send(self._stdin, head, values)
                answer = child_messages.receive(child.stdout)
            except OSError:
                answer = None
        if answer is None:
            return self._died(watch)
        if "error" in answer[0]:
            return Answer(self._engine, None, error, answer[0]["error"])
        return answer

    def _died(self, watch: Watch) -> Answer:
        assert self._child is not None
        code = self._child.wait()
        printed = self._printed()
        self.close()
        if watch.reason:
            failure = Failure.HUNG if watch.is_late else Failure.OUTGREW
            return Answer(self._engine, None, failure, watch.reason)
        words = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        words = f"{words}; it printed: {printed}" if printed else words
        return Answer(self._engine, None, Failure.CRASHED, words)

    def _printed(self) -> str:
        """The end of the child's printed text, on one line."""
        assert self._log is not None
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 4 * LAST_WORDS))
        text = self._log.read().decode("utf-8", errors="replace")
        return " ".join(text.split())[-LAST_WORDS:]

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._child is not None
        assert self._child.stdin is not None
        return self._child.stdin

    def _start(self) -> None:
        self._log = tempfile.TemporaryFile(prefix="irloop-")  # noqa: SIM115 (close ends it)
        ours: list[int] = []
        if os.name == "posix":
            reader, writer = os.pipe()
            ours, self._lifeline = [reader], os.fdopen(writer, "wb", buffering=0)
        try:
            self._child = subprocess.Popen(  # noqa: S603 (our interpreter, and a number)
                children.command("irloop.engines.worker", *map(str, ours)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                pass_fds=ours,
                start_new_session=True,
                env=children.environment(),
            )
        finally:
            for pipe in ours:
                os.close(pipe)
        try:
            child_messages.send(self._stdin, {"engine": self._engine.name})
        except OSError:
            # The child is dead; the run that reads its answer will notice.
            return


def size_of_files(model: str | os.PathLike[str]) -> int:
    """Return the size in bytes of a model's file and the weights next to it.

    Missing files count as 0.
    """
    path = os.fspath(model)
    total = 0
    for item in {path, os.path.splitext(path)[0] + ".bin", f"{path}.data"}:
        with suppress(OSError):
            total += os.stat(item).st_size
    return total


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except OSError:
        # Unwritten data cannot be written, because the process has ended.
        return
