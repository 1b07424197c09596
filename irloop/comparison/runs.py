"""Running a model with the inputs of every trial: in irloop's own executor, or in another engine.

The executor runs here, bounded by its limits, and tells what it did; every other engine runs in a
process of its own (see `irloop.engines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irloop.comparison.inputs import Trial
from irloop.engines.answer import Failure
from irloop.engines.process import Process
from irloop.errors import IrloopError, LimitError
from irloop.execution.limits import Limits
from irloop.execution.loops import UNDEFINED
from irloop.execution.session import Session
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.model import Model, Node

__all__ = ["ITERATIONS", "Run", "run_inside", "run_outside", "run_trial", "written"]

#: A loop that made-up inputs keep running for longer is taken for one without an end.
ITERATIONS = 200_000

#: What importing an engine and loading a model may take at least, however short a run has to be.
LOADING = 120.0


@dataclass(slots=True)
class Run:
    """What an engine gave for one trial: outputs, or the reason why there are none.

    `undefined` is set where an output has no value: the last one of a loop that never ran. Only
    the NumPy engine tells that, how often loops ran, which branches were taken, and which loops
    their condition `stopped` before their trip count. `late` is set where time ran out.
    """

    outputs: list[Any] | None = None
    reason: str = ""
    undefined: bool = False
    late: bool = False
    counts: dict[Node, set[int]] = field(default_factory=dict)
    branches: dict[Node, set[str]] = field(default_factory=dict)
    stopped: set[Node] = field(default_factory=set)


def run_inside(
    model: Model, trials: Sequence[Trial], seconds: float, *, widen: bool | None = None
) -> list[Run]:
    """Run a model in irloop's own executor, once for each trial, each within `seconds`.

    With `widen` half precision is computed in single (see `Session`).
    """
    try:
        session = Session(model, widen=widen)
    except IrloopError as error:
        return [Run(reason=error.message) for _ in trials]
    return [run_trial(session, trial, seconds) for trial in trials]


def run_trial(session: Session, trial: Trial, seconds: float) -> Run:
    """Run one trial in irloop's own executor."""
    if trial.reset:
        session.reset()
    try:
        found = session.run(trial.arrays, limits=Limits(iterations=ITERATIONS, seconds=seconds))
    except IrloopError as error:
        return Run(reason=error.message, late=isinstance(error, LimitError))
    undefined = any(note.code == UNDEFINED for note in session.notes)
    return Run(
        list(found.values()),
        undefined=undefined,
        counts=session.counts,
        branches=session.branches,
        stopped=session.stopped,
    )


def run_outside(process: Process, trials: Sequence[Trial], seconds: float) -> list[Run]:
    """Run the model that a process has loaded once for each trial, each within `seconds`.

    All trials run in one compiled model. After a run that did not come back no other is tried.
    """
    runs: list[Run] = []
    for trial in trials:
        if runs and runs[-1].late:
            runs.append(runs[-1])
            continue
        answer = process.run(
            trial.arrays, seconds=seconds, loading=max(seconds, LOADING), reset=trial.reset
        )
        late = answer.failure is Failure.HUNG
        runs.append(Run(answer.outputs, "" if answer.failure is None else str(answer), late=late))
    return runs


def written(model: Model, folder: Path) -> Path:
    """A file of the model as it is in memory, for an engine to read.

    Raises:
        IrloopError: when its format cannot hold the model.
    """
    if model.dialect == "onnx":
        return Path(onnx_writer.write(model, folder / "model.onnx", check=False)[0])
    return Path(ir_writer.write(model, folder / "model.xml", version=11)[0])
