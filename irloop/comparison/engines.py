"""Running a model with the inputs of every trial, in any engine.

irloop's own executor runs here, bounded by its limits, and every other engine in a process of its
own (see `irloop.engines`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irloop.comparison.inputs import Trial
from irloop.engines.catalogue import engine_of, require
from irloop.engines.process import Process
from irloop.errors import IrloopError
from irloop.execution.limits import Limits
from irloop.execution.loops import UNDEFINED
from irloop.execution.session import Session
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.model import Model, Node

__all__ = ["ITERATIONS", "Run", "run_all"]

#: A loop that made-up inputs keep running for longer is taken for one without an end.
ITERATIONS = 200_000


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
    chosen = engine_of(engine)
    require(chosen, model)
    if chosen.name == "numpy":
        return _own(model, trials, seconds, widen)
    with Process(chosen) as process, tempfile.TemporaryDirectory(prefix="irloop-") as folder:
        try:
            path = _file_of(model, Path(folder)) if file is None else Path(file)
        except IrloopError as error:
            reason = f"the model cannot be written for {engine}: {error.message}"
            return [Run(reason=reason) for _ in trials]
        return _outside(process, path, trials, seconds)


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


def _outside(process: Process, model: Path, trials: Sequence[Trial], seconds: float) -> list[Run]:
    process.load(model)
    answers = [process.run(trial.arrays, seconds=seconds) for trial in trials]
    return [Run(item.outputs, "" if item.failure is None else str(item)) for item in answers]
