"""Runs a model with the inputs of every trial: in irloop's executor, or in another engine.

The executor runs in this process, bounded by its limits, and records the branches and iterations;
every other engine runs in a separate process (see `irloop.engines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irloop import budget
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
from irloop.progress import told

__all__ = ["ITERATIONS", "Run", "run_inside", "run_outside", "run_trial", "written"]

#: A loop that runs longer on generated inputs counts as endless.
ITERATIONS = 200_000

#: The least time for importing an engine and loading a model, however short a run may be.
LOADING = 120.0


@dataclass(slots=True)
class Run:
    """The result of one trial in an engine: outputs, or the reason why there are none.

    `undefined` is set if an output has no value: the last value of a loop that never ran. Only the
    NumPy engine reports that, the trip counts of loops, the branches taken, and the loops that
    their condition `stopped` before their trip count. `late` is set when time ran out.
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
        return [Run(reason=reason_of(error)) for _ in trials]
    runs = []
    for number, trial in enumerate(trials):
        told("trials", number, len(trials))
        runs.append(run_trial(session, trial, seconds))
    return runs


def reason_of(error: IrloopError) -> str:
    """The message of an error with the values that were expected and found."""
    first = error.diagnostics[0]
    facts = {"expected": first.expected, "found": first.found}
    listed = ", ".join(f"{word} {text}" for word, text in facts.items() if text)
    return f"{error.message} ({listed})" if listed else error.message


def run_trial(session: Session, trial: Trial, seconds: float) -> Run:
    """Run one trial in irloop's own executor."""
    if trial.reset:
        session.reset()
    limits = Limits(
        max_iterations=ITERATIONS, max_seconds=seconds, max_memory=budget.current().memory
    )
    try:
        found = session.run(trial.arrays, limits=limits)
    except IrloopError as error:
        return Run(reason=reason_of(error), late=isinstance(error, LimitError))
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

    All trials use one compiled model. After a run that does not return, no other trial is run.
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
    """Write the model in memory to a file for an engine.

    Raises:
        IrloopError: when its format cannot hold the model.
    """
    if model.dialect == "onnx":
        return Path(onnx_writer.write(model, folder / "model.onnx", check=False)[0])
    return Path(ir_writer.write(model, folder / "model.xml", version=11)[0])
