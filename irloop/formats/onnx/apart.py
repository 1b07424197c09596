"""Runs the checker and the inliner of onnx in a child process, so that a crash becomes an error.

Both infer types, and this inference trusts the numbers in a model. For example, an axis that is out
of range makes it write outside the memory of the shape, which crashes or corrupts the process. So a
model that is not known to be sound must not be checked or inlined in irloop's own process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from irloop import children
from irloop.budget import current, out_of_time

__all__ = ["ApartError", "answer", "check", "done", "inline"]

#: The time limit of a step in seconds, if the budget has none.
SECONDS = 600.0


class ApartError(Exception):
    """Raised if a step that runs in a separate process fails.

    The text is the message of the onnx package, or tells how the process ended.
    """


def check(path: str, *, full_check: bool) -> None:
    """Run ``onnx.checker`` on a file, in a child process.

    Raises:
        ApartError: when the checker refuses the model or crashes.
        LimitError: when it takes too long.
    """
    answer({"step": "check", "path": path, "full": full_check}, b"")


def inline(model: bytes, functions: list[tuple[str, str]]) -> bytes:
    """Expand operations that the standard defines as functions, in a child process.

    `model` is an encoded model, and `functions` holds (domain, name) of each function. Returns the
    encoded result.

    Raises:
        ApartError: when onnx cannot expand them or crashes.
        LimitError: when it takes too long.
    """
    return answer({"step": "inline", "functions": functions}, model)


def answer(head: dict[str, Any], data: bytes) -> bytes:
    """Run a step of onnx in a child process, and return the bytes that the child prints.

    A step is a check or the inlining of functions (see `done`). The child receives `head`, which
    names the step, as a line of JSON, followed by `data`.

    Raises:
        ApartError: when the step fails or crashes.
        LimitError: when the step takes too long.
    """
    seconds = min(max(current().seconds_left(), 0.0), SECONDS)
    head["seconds"] = seconds
    try:
        child = subprocess.run(  # noqa: S603 (our interpreter)
            children.command("irloop.formats.onnx.apart"),
            input=json.dumps(head).encode() + b"\n" + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            env=children.environment(),
        )
    except subprocess.TimeoutExpired:
        raise out_of_time(f"onnx's step {head['step']!r}") from None
    if child.returncode == 0:
        return child.stdout
    if child.returncode == 1:
        raise ApartError(child.stdout.decode("utf-8", errors="replace"))
    code = child.returncode
    how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    raise ApartError(f"onnx crashed ({how}) in its inference of types")


def main() -> int:
    """Check a model or inline functions, as a request on stdin asks; write the result to stdout.

    The request is a line of JSON that names the step, followed by the data of the step. If the step
    fails, write the text of the error to stdout instead, and return 1; otherwise return 0.
    """
    answers = os.fdopen(os.dup(1), "wb")
    # Text that onnx prints must not mix with the answer.
    os.dup2(2, 1)
    head = json.loads(sys.stdin.buffer.readline())
    _limit(head["seconds"])
    try:
        written = done(head, sys.stdin.buffer.read())
    except Exception as error:  # onnx raises exceptions without a common base class
        answers.write(str(error).encode("utf-8", errors="replace"))
        answers.close()
        return 1
    answers.write(written)
    answers.close()
    return 0


def _limit(seconds: float) -> None:
    """Let the system end this process after `seconds` of CPU time, and forbid core dumps.

    The limit also holds if the parent process was killed. On systems other than POSIX nothing is
    limited.
    """
    if os.name != "posix":
        return
    import resource

    _, highest = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = int(seconds) + 1
    if highest == resource.RLIM_INFINITY or wanted < highest:
        resource.setrlimit(resource.RLIMIT_CPU, (wanted, highest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def done(head: dict[str, Any], data: bytes) -> bytes:
    """Check a model or inline functions with the onnx package in this process.

    `head` describes this step. For a check it has the path of the file, and the result is empty. To
    inline functions, `data` is the encoded model, and the result is the model with the functions
    inlined.
    """
    import onnx
    import onnx.inliner

    if head["step"] == "check":
        onnx.checker.check_model(head["path"], full_check=head["full"])
        return b""
    wanted = [(domain, name) for domain, name in head["functions"]]
    model = onnx.ModelProto.FromString(data)
    made = onnx.inliner.inline_selected_functions(model, wanted, inline_schema_functions=True)
    return bytes(made.SerializeToString())


if __name__ == "__main__":
    sys.exit(main())
