"""The program of the child process that works on one model after the other.

Each line of the input is a list of requests in JSON, each line of the output an answer:

- ``{"load": [step, ...]}``: imports the modules of these steps; not answered;
- ``{"data": path}``: answered by ``{"data": [name, ...]}``, the external data files of an .onnx;
- ``{"steps": [...], "model": path, ...}``: answered by a line for each step as soon as it is done.

The parent process may send requests before the earlier ones are answered. It also limits memory and
time, and may kill the child.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from irloop.allowance import Allowance, Holder, allowance_for
from irloop.comparison.outcome import DIFFERENT, EQUAL_WHERE_RUN, INCONCLUSIVE
from irloop.diagnostics import Diagnostic, Severity, one_line
from irloop.errors import (
    InferenceError,
    InternalError,
    IrloopError,
    LimitError,
    ReadError,
    UnsupportedError,
)
from irloop.files import ParsedOnce, use_scratch
from irloop.fleet.verdicts import TARGETS
from irloop.lifeline import end_with

__all__ = ["LIFELINE", "main"]

#: The environment variable with the number of a pipe that closes when the parent dies.
LIFELINE = "IRLOOP_LIFELINE"

#: Maximum number of findings that are kept for a step, and maximum length of the text of a finding.
FINDINGS_KEPT = 500
LONGEST = 1000

#: Steps that run a model many times have this many times the usual time limit.
RUNS = {"check": 10.0, "conform": 10.0}

_PEAK = re.compile(rb"VmHWM:\s*(\d+)")
_LIMITS = {"LIM001": "out-of-memory", "LIM002": "timeout", "LIM003": "too-many-steps"}

#: Verdicts without a converted model that do not depend on the limits of the step.
_FINAL = frozenset({"refused", "unreadable", "invalid", "kept"})

Job = dict[str, Any]
Answer = dict[str, Any]


def main() -> None:
    """Answer requests until the input ends or the parent process dies."""
    # What engines print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    end_with(int(os.environ.pop(LIFELINE)))
    _leave_no_core()
    holder, peak = Holder(), _Peak()
    loaded: set[str] = set()
    requests = itertools.chain.from_iterable(map(json.loads, sys.stdin.buffer))
    for request in requests:
        if "data" in request:
            _send(answers, {"data": _data_files(request["data"], holder)})
            continue
        if "load" in request:
            _load_modules(request["load"], loaded)
            continue
        _load_modules(request["steps"], loaded)
        use_scratch(os.path.dirname(request["output"]))
        model = _Model(request)
        for step in request["steps"]:
            _send(answers, _timed(step, model, holder, peak))
        model.file.close()


def _load_modules(steps: Iterable[str], loaded: set[str]) -> None:
    """Import the modules that `steps` need, and add the steps to the set `loaded`.

    Imports happen here, before any step is timed, so they do not add to the time of the first
    model. After the first imports, all existing objects are excluded from garbage collection.
    Otherwise each collection would also search the objects of the modules.
    """
    is_first = not loaded
    for step in steps:
        if step not in loaded:
            for module in _MODULES[step]:
                importlib.import_module(module)
            loaded.add(step)
    if is_first:
        gc.freeze()


def _send(answers: Any, answer: Answer) -> None:
    # Names in files may be invalid Unicode, which JSON in ASCII can express.
    answers.write(json.dumps(answer).encode("ascii") + b"\n")
    answers.flush()


def _leave_no_core() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _data_files(path: str, holder: Holder) -> list[str]:
    from irloop.formats.onnx.data_files import data_files

    try:
        with holder.held(allowance_for([path])):
            return list(data_files(path))
    except (IrloopError, ValueError):
        # The steps report the problems of the file.
        return []


class _Model:
    """A model of a request, and the results that a step leaves for later steps.

    `file` is the model file, parsed at most once; but after a step whose verdict is not "valid",
    the next step parses it again. `converted` holds the names of the files that conversion wrote.
    If conversion wrote no file, and another attempt would not either, `unconverted` holds its
    answer; otherwise it is None.
    """

    def __init__(self, request: Job) -> None:
        self.path: str = request["model"]
        self.file = ParsedOnce(self.path)
        self.output: str = request["output"]
        self.to: str = request["to"]
        self.memory: int | None = request["memory"]
        self.converted: list[str] = []
        self.unconverted: Answer | None = None
        self._seconds: float | None = request["seconds"]
        self._allowances: dict[float, Allowance] = {}

    def allowance(self, runs: float) -> Allowance:
        """The limits for a step that runs the model `runs` times."""
        if runs not in self._allowances:
            self._allowances[runs] = allowance_for([self.path], self.memory, self._seconds, runs)
        return self._allowances[runs]

    def start_anew(self) -> None:
        """Forget the parsed file."""
        self.file.close()
        self.file = ParsedOnce(self.path)


def _timed(step: str, model: _Model, holder: Holder, peak: _Peak) -> Answer:
    """Run a step on a model; return its answer with the time and this process's peak memory.

    An IrloopError becomes an answer, too.
    """
    peak.forget()
    start = time.perf_counter()
    try:
        with holder.held(model.allowance(RUNS.get(step, 1.0))):
            answer = _STEPS[step](model)
    except IrloopError as error:
        answer = _failure(error)
    if step == "convert" and answer["verdict"] in _FINAL:
        model.unconverted = dict(answer)
    if answer["verdict"] != "valid":
        model.start_anew()
    answer |= {
        "step": step,
        "seconds": time.perf_counter() - start,
        "memory": peak.read(),
    }
    return answer


def _validate(model: _Model) -> Answer:
    from irloop import validate

    # A sweep judges models of many authors, so they cannot suppress what is wrong with them.
    report = validate(model.file, no_ignore=True)
    verdict = "invalid" if report.has_errors else "valid"
    return {"verdict": verdict, "codes": _codes(report)}


def _convert(model: _Model) -> Answer:
    """Convert a model and save it at `model.output`; the answer lists the written files.

    An ONNX model is not converted to ONNX again.
    """
    from irloop import convert, read_model, save_model

    dialect, version = TARGETS[model.to]
    source = read_model(model.file, functions=dialect != "onnx")
    if source.dialect == dialect and dialect == "onnx":
        return {"verdict": "kept", "detail": "it is ONNX already"}
    result, notes = convert(source, "onnx" if dialect == "onnx" else "openvino")
    files = save_model(result, model.output, ir_version=version)
    model.converted = [os.path.basename(file) for file in files]
    return {"verdict": "converted", "codes": _codes(notes), "files": model.converted}


def _check(model: _Model) -> Answer:
    """Compare a model with its conversion; convert it if no earlier step did."""
    if model.unconverted is not None:
        return model.unconverted
    if not model.converted:
        before = _convert(model)
        if before["verdict"] != "converted":
            return before
    from irloop import compare

    memory = model.memory or 8 << 30
    return _compared(compare(model.path, model.output, max_memory=memory, converted=True))


def _conform(model: _Model) -> Answer:
    """Compare the results of the built-in executor and of the engine for the model's format."""
    from irloop import compare

    path = model.path
    engine = "openvino" if path.lower().endswith(".xml") else "onnxruntime"
    memory = model.memory or 8 << 30
    return _compared(compare(path, path, engine_a="numpy", engine_b=engine, max_memory=memory))


#: The codes of verdicts of a comparison.
_CODES = {DIFFERENT: "SWP003", EQUAL_WHERE_RUN: "SWP005", INCONCLUSIVE: "SWP004"}


def _compared(comparison: Any) -> Answer:
    found = comparison.to_dict()
    measured = [item for item in found["outputs"] if item["max_abs"] is not None]
    found_out = comparison.cause or comparison.divergence or "; ".join(comparison.problems)
    detail = comparison.headline if comparison.unrun else str(found_out)
    answer: Answer = {"verdict": comparison.outcome, "detail": detail}
    code = _CODES.get(comparison.outcome)
    if code is not None:
        severity = Severity.ERROR if code != "SWP004" else Severity.WARNING
        answer["codes"] = _codes([Diagnostic(code, severity, detail or comparison.headline)])
    for key in ("max_abs", "max_rel"):
        values = [float(item[key]) for item in measured if item[key] is not None]
        answer[key] = max(values, default=None)
    return answer


_VALIDATION = ("irloop.validation.engine", "irloop.formats.onnx.outline")
_CONVERSION = ("irloop.conversion.pipelines", "irloop.formats.model_files")
_MODULES = {
    "validate": _VALIDATION,
    "convert": _CONVERSION,
    "check": (*_CONVERSION, "irloop.comparison.compare"),
    "conform": ("irloop.comparison.compare",),
}

_STEPS: dict[str, Callable[[_Model], Answer]] = {
    "validate": _validate,
    "convert": _convert,
    "check": _check,
    "conform": _conform,
}


def _failure(error: IrloopError) -> Answer:
    verdict = "failed"
    if isinstance(error, LimitError):
        verdict = _LIMITS.get(error.diagnostics[0].code, "timeout")
    elif isinstance(error, UnsupportedError):
        verdict = "refused"
    elif isinstance(error, (ReadError, InferenceError)):
        verdict = "unreadable" if isinstance(error, ReadError) else "invalid"
    elif isinstance(error, InternalError):
        verdict = "internal-error"
    answer: Answer = {
        "verdict": verdict,
        "detail": _short(error.message),
        "codes": _codes(error.diagnostics),
    }
    if verdict == "refused":
        answer["refusals"] = [_refusal(item) for item in error.diagnostics[:FINDINGS_KEPT]]
    return answer


def _refusal(item: Diagnostic) -> dict[str, str]:
    place = item.location.path
    operation, _, reason = item.message.rpartition(f" {place!r} cannot be converted: ")
    return {
        "operation": _short(operation),
        "reason": _short(reason),
        "place": _short(place),
    }


def _codes(items: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    worst = sorted(items, key=lambda item: item.severity.rank)
    return [
        {
            "code": item.code,
            "severity": item.severity.value,
            "message": _short(shown.message),
            "line": item.location.line,
            "place": _short(item.location.path or item.location.element),
        }
        for item in worst[:FINDINGS_KEPT]
        # The table may be published, too.
        for shown in [item.for_public_logs() if item.shows_weights else item]
    ]


def _short(text: str) -> str:
    flat = one_line(text)
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]}..."


class _Peak:
    """Measures the peak resident memory of this process, where the system can (Linux).

    The two files in /proc/self that reset and report the peak stay open, because opening them takes
    longer than reading them.
    """

    def __init__(self) -> None:
        self._reset = self._opened("/proc/self/clear_refs", os.O_WRONLY)
        self._status = self._opened("/proc/self/status", os.O_RDONLY)

    @staticmethod
    def _opened(path: str, flags: int) -> int | None:
        try:
            return os.open(path, flags)
        except OSError:
            return None

    def forget(self) -> None:
        """Reset the peak, so that `read` reports the peak of the next step only.

        If the system cannot reset it, the peak covers all earlier steps of this process, too.
        """
        if self._reset is not None:
            with suppress(OSError):
                os.write(self._reset, b"5")

    def read(self) -> int | None:
        """The peak resident memory in bytes; None if the system does not report it."""
        if self._status is None:
            return None
        found = _PEAK.search(os.pread(self._status, 4096, 0))
        return int(found[1]) * 1024 if found else None


if __name__ == "__main__":
    main()
