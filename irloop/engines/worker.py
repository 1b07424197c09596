"""The program of the child process, in which an engine runs one model repeatedly.

Messages come in through stdin and go out through stdout (see `child_messages`). The first message
names the engine, so that it can be imported before the model exists; the second names the model;
each later message carries the inputs of a run. The answer to the second message is {"names": names}
with the names of the outputs, as far as the engine tells them; the answer to each later message is
{} with the outputs. If the engine fails, the answer is {"error": text}.

The process ends when its parent ends, even during a run, because its input then ends. If the system
allows it, the parent also passes the number of a pipe as an argument. The process is killed when
this pipe closes (see `lifeline`).
"""

from __future__ import annotations

import importlib
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import IO, Any, cast

from irloop import lifeline
from irloop.engines import child_messages

__all__ = ["main"]

#: Maximum length of an error text, because engines explain themselves at length.
LONGEST = 600

Runner = Callable[[Sequence[Any]], Any]
Maker = Callable[..., Runner]
Message = tuple[dict[str, Any], list[Any]]
Requests = queue.SimpleQueue[Message]


def main() -> None:
    """Answer messages until the input ends."""
    for pipe in sys.argv[1:]:
        lifeline.end_with(int(pipe))
    # Text that engines print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: Requests = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    # The parent may no longer read the answers.
    with suppress(OSError):
        _serve(requests, answers)
    # Skip the destructors of the engines, because they may wait for their threads for ever.
    os._exit(0)


def _read(stream: IO[bytes], requests: Requests) -> None:
    """Put each message from `stream` into `requests`.

    When the stream ends, this process and its group end at once, even during a run.
    """
    while (message := child_messages.receive(stream)) is not None:
        requests.put(message)
    # End the group here. The lifeline closes at the same time and would end it, too, but not once
    # this process is gone.
    lifeline.end_group()
    os._exit(0)


def _serve(requests: Requests, answers: IO[bytes]) -> None:
    first, _ = requests.get()
    try:
        maker = _maker(first["engine"])
    except Exception as error:
        requests.get()
        child_messages.send(answers, {"error": _error_text(error)})
        return
    head, _ = requests.get()
    try:
        runner = maker(head["model"], head["options"]) if head["options"] else maker(head["model"])
    except Exception as error:
        # Any exception of an engine is its answer.
        child_messages.send(answers, {"error": _error_text(error)})
        return
    child_messages.send(answers, {"names": getattr(runner, "output_names", [])})
    while True:
        head, values = requests.get()
        try:
            if head["reset"] and hasattr(runner, "reset"):
                runner.reset()
            outputs = list(runner(values))
        except Exception as error:
            child_messages.send(answers, {"error": _error_text(error)})
            continue
        child_messages.send(answers, {}, outputs)


def _maker(engine: str) -> Maker:
    # When it is imported, OpenVINO sends telemetry from a fork of this process, which keeps our
    # pipes open and may wait for a lock for ever. It sends none if this package is missing.
    sys.modules["openvino_telemetry"] = cast("Any", None)
    if engine in _MAKERS:
        module, function = _MAKERS[engine]
    else:
        module, _, function = engine.partition(":")
        # The function is often in a file of the current folder, which may hold files of strangers:
        # nothing else is imported from there if the module is installed.
        if find_spec(module.partition(".")[0]) is None:
            sys.path.append(os.getcwd())
    maker: Maker = getattr(importlib.import_module(module), function)
    return maker


def _error_text(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:LONGEST]


#: The constructor of each engine's runner; its module is imported only when it is needed.
_MAKERS: Mapping[str, tuple[str, str]] = {
    "numpy": ("irloop.engines.numpy_runner", "NumpyRunner"),
    "onnxruntime": ("irloop.engines.onnxruntime_runner", "OnnxRuntimeRunner"),
    "openvino": ("irloop.engines.openvino_runner", "OpenVinoRunner"),
    "openvino-2020": ("irloop.engines.openvino_2020_runner", "OpenVino2020Runner"),
    "onnx-reference": ("irloop.formats.onnx.evaluator", "reference_evaluator"),
}

if __name__ == "__main__":
    main()
