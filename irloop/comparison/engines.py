"""The engines that models are run with.

`numpy` is irloop's own executor: it runs here, bounded by its limits. Every other engine runs
in a child process of its own with a time limit, so that a crash or an endless loop of an engine
is a finding and not the end.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from irloop.comparison.inputs import Trial
from irloop.errors import IrloopError, UsageError
from irloop.execution.limits import Limits
from irloop.execution.loops import UNDEFINED
from irloop.execution.session import Session
from irloop.formats import npz
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.model import Model, Node

__all__ = ["ENGINES", "Run", "require", "run_all"]

#: Each engine and the package it needs beside irloop itself.
ENGINES = {
    "numpy": None,
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "onnx-reference": "onnx",
}
#: A loop that made-up inputs keep running for longer is taken for one without an end.
ITERATIONS = 200_000

_ONNX_ONLY = ("onnxruntime", "onnx-reference")


@dataclass(slots=True)
class Run:
    """What an engine gave for one trial: outputs, or the reason why there are none.

    `undefined` is set where an output has no value: the last one of a loop that never ran.
    """

    outputs: list[Any] | None = None
    reason: str = ""
    undefined: bool = False
    counts: dict[Node, set[int]] = field(default_factory=dict)
    branches: dict[Node, set[str]] = field(default_factory=dict)


def require(engine: str, model: Model) -> None:
    """Make sure that an engine can be asked to run a model.

    Raises:
        UsageError: when there is no such engine, it is not installed, or the dialect is not its.
    """
    if engine not in ENGINES:
        raise UsageError(f"no engine {engine!r}", expected=", ".join(ENGINES), found=engine)
    package = ENGINES[engine]
    if package is not None and find_spec(package) is None:
        raise UsageError(f"the engine {engine!r} is not installed", fix=f"pip install {package}")
    if engine in _ONNX_ONLY and model.dialect != "onnx":
        raise UsageError(
            f"{engine} runs ONNX models only",
            expected="an ONNX model",
            found=f"a model of {model.dialect}",
            fix="convert it first, or take another engine",
        )


def run_all(
    engine: str,
    model: Model,
    trials: Sequence[Trial],
    *,
    seconds: float,
    file: str | None = None,
    widen: bool | None = None,
) -> list[Run]:
    """Run a model once for each trial (arrays in the order of its own inputs).

    `seconds` bounds each trial. `file` is where the model was read from, for engines that read
    it themselves; without it they get what is in memory. `widen` has the NumPy engine compute
    half precision in single.

    Raises:
        UsageError: when the engine cannot run such a model.
    """
    require(engine, model)
    if engine == "numpy":
        return _own(model, trials, seconds, widen)
    with tempfile.TemporaryDirectory(prefix="irloop-") as folder:
        place = Path(folder)
        try:
            path = _file_of(model, place) if file is None else Path(file)
        except IrloopError as error:
            reason = f"the model cannot be written for {engine}: {error.message}"
            return [Run(reason=reason) for _ in trials]
        return _outside(_Worker(engine, path, place), trials, seconds)


def _own(model: Model, trials: Sequence[Trial], seconds: float, widen: bool | None) -> list[Run]:
    try:
        session = Session(model, widen=widen)
    except IrloopError as error:
        return [Run(reason=error.message) for _ in trials]
    runs = []
    for trial in trials:
        session.reset()
        try:
            found = session.run(trial.arrays, limits=Limits(iterations=ITERATIONS, seconds=seconds))
        except IrloopError as error:
            runs.append(Run(reason=error.message))
            continue
        undefined = any(note.code == UNDEFINED for note in session.notes)
        values = list(found.values())
        runs.append(Run(values, "", undefined, session.counts, session.branches))
    return runs


def _file_of(model: Model, folder: Path) -> Path:
    """A file of the model as it is in memory, for an engine to read."""
    if model.dialect == "onnx":
        return onnx_writer.write(model, folder / "model.onnx", check=False)[0]
    return ir_writer.write(model, folder / "model.xml", version=11)[0]


class _Worker:
    """A child process that runs one model again and again; a new one after each failure."""

    def __init__(self, engine: str, model: Path, folder: Path) -> None:
        self._job = {"engine": engine, "model": str(model)}
        self._folder = folder
        self._child: subprocess.Popen[str] | None = None

    def run(self, number: int, trial: Trial, seconds: float) -> Run:
        given, made = self._folder / f"in{number}.npz", self._folder / f"out{number}.npz"
        npz.write(given, {f"in{at}": value for at, value in enumerate(trial.arrays)})
        job = {**self._job, "inputs": str(given), "outputs": str(made)}
        line = self._ask(json.dumps(job), seconds)
        if line is None:
            self.stop()
            return Run(reason=f"{self._job['engine']} took more than {seconds:g} seconds")
        if not line:
            code = self._ended()
            return Run(reason=f"{self._job['engine']} crashed (exit code {code})")
        answer = json.loads(line)
        if "error" in answer:
            return Run(reason=f"{self._job['engine']}: {answer['error']}")
        values = npz.read(made)
        return Run([values[f"out{at}"] for at in range(answer["count"])])

    def stop(self) -> None:
        """End the child process."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def _ended(self) -> int:
        assert self._child is not None
        code = self._child.wait()
        self.stop()
        return code

    def _ask(self, job: str, seconds: float) -> str | None:
        """The answer; empty when the child died, None when it took too long."""
        child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(job + "\n")
            child.stdin.flush()
        except BrokenPipeError:
            return ""
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                return None
        return child.stdout.readline()

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "irloop.comparison.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        return self._child


def _outside(worker: _Worker, trials: Sequence[Trial], seconds: float) -> list[Run]:
    try:
        return [worker.run(number, trial, seconds) for number, trial in enumerate(trials)]
    finally:
        worker.stop()
