"""Runs a model with the inputs of every trial: in irloop's executor, or in another engine.

The executor runs in this process, within its limits, and records the branches and iterations; every
other engine runs in a separate process (see `irloop.engines`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irloop import budget
from irloop.comparison.inputs import Trial
from irloop.engines.answer import Failure
from irloop.engines.process import Process
from irloop.errors import (
    ExecutionError,
    InternalError,
    IrloopError,
    LimitError,
    UnsupportedError,
)
from irloop.execution.limits import Limits
from irloop.execution.loops import UNDEFINED
from irloop.execution.session import Session
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.model import Model, Node
from irloop.progress import counted

__all__ = [
    "FEWER",
    "ITERATIONS",
    "Run",
    "limits_of",
    "reason_of",
    "reason_of_file",
    "run_inside",
    "run_outside",
    "run_trial",
    "run_trials",
    "written",
]

#: A loop that runs more iterations than this on generated inputs is assumed to be endless.
ITERATIONS = 200_000

#: This part of the limit applies after a trial that a limit ended, so that the other trials of an
#: endless loop cost little.
FEWER = 10

#: A further trial is run only if it leaves the steps of this many runs, for the other model and for
#: comparing the outputs.
RUNS_LEFT = 3

#: Minimum time limit, in seconds, for importing an engine and loading a model.
LOADING = 120.0

#: The limit of loading a small model in processor time, which does not depend on other work on the
#: machine, if a run may take `RUN_SECONDS`; it grows with the seconds of a run. Importing an engine
#: and loading a small model takes less than one second.
LOADING_PROCESSOR = 5.0
RUN_SECONDS = 60.0

#: If time has run out, a process still gets the request, and this many seconds to answer it.
LEAST = 0.1

#: The memory limit for outputs is divided by this number, because the outputs of all trials are
#: kept for up to four lanes (a lane is a model in an engine), and comparing them takes as much
#: memory again.
COPIES = 8


@dataclass(slots=True)
class Run:
    """The result of one trial in an engine: outputs, or the reason why there are none.

    `undefined` is true if an output has no value because it is the last value of a loop that never
    ran. Only the NumPy engine reports `undefined`, `counts` (the iterations of each loop),
    `branches` (the branches taken) and `stopped` (the loops that their condition ended before their
    trip count). `late` is true if time ran out or another limit was reached. `refused` is true if
    the work is known to exceed a limit; then no engine runs the trial. `names` are the names that
    the outputs have in an engine, as far as it tells them. `failure` tells how an engine failed,
    and `words` are its message.
    """

    outputs: list[Any] | None = None
    reason: str = ""
    undefined: bool = False
    late: bool = False
    refused: bool = False
    counts: dict[Node, set[int]] = field(default_factory=dict)
    branches: dict[Node, set[str]] = field(default_factory=dict)
    stopped: set[Node] = field(default_factory=set)
    names: tuple[str, ...] = ()
    failure: Failure | None = None
    words: str = ""


def run_inside(
    model: Model,
    trials: Sequence[Trial],
    seconds: float,
    *,
    iterations: int = ITERATIONS,
    widen: bool | None = None,
    affordable: Callable[[], None] | None = None,
) -> list[Run]:
    """Run a model in irloop's own executor, once for each trial, each within `seconds`.

    Each loop may run `iterations` times.

    A bug in irloop is raised as an InternalError, since it says nothing about the model.

    With `widen`, half precision is computed in single precision (see `Session`). `affordable` is a
    callback that can start work in other engines, such as loading the model. The callback runs
    after the first trial that no limit refuses, and not at all if limits refuse every trial. If the
    executor cannot prepare the model, the callback runs at once.
    """
    try:
        session = Session(model, widen=widen)
    except InternalError:
        raise
    except IrloopError as error:
        if affordable is not None:
            affordable()
        reason = reason_of_file(error, model)
        return [Run(reason=reason) for _ in trials]
    return run_trials(session, trials, seconds, iterations, affordable)


def run_trials(
    session: Session,
    trials: Sequence[Trial],
    seconds: float,
    iterations: int,
    affordable: Callable[[], None] | None = None,
) -> list[Run]:
    """Run every trial in irloop's own executor, each for at most `seconds` and `iterations`.

    A trial is left out if it would use up the steps of the budget.

    All outputs together share one memory limit; a trial whose outputs would exceed it counts as
    refused. `affordable` is called once, after the first trial that was not refused, and never if
    all trials are refused. It can start work that only then is worth its time, such as loading the
    model in other engines.
    """
    runs: list[Run] = []
    memory = budget.current().memory
    held = 0
    most = 0.0
    fewer = iterations // FEWER
    for trial in counted("trials", trials, len(trials)):
        left = budget.current().steps_left()
        if left < (1 + RUNS_LEFT) * most:
            reason = "not run, to leave enough steps for comparing: --max-seconds allows more"
            runs.append(Run(reason=reason, late=True, refused=True))
            continue
        run = run_trial(session, trial, seconds, iterations)
        most = max(most, left - budget.current().steps_left()) if math.isfinite(left) else most
        iterations = fewer if run.late else iterations
        held += _bytes_of(run.outputs or [])
        if memory is not None and held * COPIES > memory:
            expected = f"at most {memory // COPIES:,} bytes in all trials"
            reason = f"the outputs take more memory than they may (expected {expected})"
            run = Run(reason=f"{reason}: --max-memory allows more", late=True, refused=True)
        runs.append(run)
        if affordable is not None and not run.refused:
            affordable()
            affordable = None
    return runs


def reason_of(error: IrloopError) -> str:
    """The message of an error, followed by the expected and the found value if they are known."""
    first = error.diagnostics[0]
    facts = {"expected": first.expected, "found": first.found}
    listed = ", ".join(f"{word} {text}" for word, text in facts.items() if text)
    return f"{error.message} ({listed})" if listed else error.message


def reason_of_file(error: IrloopError, model: Model) -> str:
    """Return the reason why a model could not be compiled.

    It consists of the errors that validation finds in the model's file, or else of `error`.
    """
    if not isinstance(error, ExecutionError | UnsupportedError):
        return reason_of(error)
    from irloop.comparison.file_errors import error_of_file

    return reason_of(error_of_file(error, model, unchanged=False))


def _bytes_of(value: Any) -> int:
    """Return the number of bytes of an output: of an array, or of all elements of a list.

    A view that repeats elements, such as a broadcast array, counts as if each were stored, because
    engines return copies.
    """
    if isinstance(value, list):
        return sum(map(_bytes_of, value))
    return int(getattr(value, "nbytes", 0))


def limits_of(seconds: float, iterations: int = ITERATIONS) -> Limits:
    """The limits of one run: seconds, iterations, and the memory limit of the current budget."""
    return Limits(
        max_iterations=iterations, max_seconds=seconds, max_memory=budget.current().memory
    )


def run_trial(session: Session, trial: Trial, seconds: float, iterations: int = ITERATIONS) -> Run:
    """Run one trial in irloop's own executor, for at most `seconds` and `iterations`.

    A trial that raises an error or exceeds a limit returns a Run with the reason and without
    outputs.
    """
    if trial.refused:
        return Run(reason=trial.refused, late=True, refused=True)
    if trial.reset:
        session.reset()
    try:
        outputs = session.run(trial.arrays, limits=limits_of(seconds, iterations))
    except InternalError:
        raise
    except LimitError as error:
        return Run(reason=reason_of(error), late=True, refused=not error.by_clock)
    except IrloopError as error:
        return Run(reason=reason_of(error))
    undefined = any(note.code == UNDEFINED for note in session.notes)
    return Run(
        list(outputs.values()),
        undefined=undefined,
        counts=session.counts,
        branches=session.branches,
        stopped=session.stopped,
    )


def run_outside(
    process: Process, trials: Sequence[Trial], seconds: float, end: float | None = None
) -> list[Run]:
    """Run a loaded model once for each trial, within `seconds` per trial and before `end`.

    `process` has loaded the model, so all trials use one compiled model. `end` is a time of the
    monotonic clock; by default it is the end of the budget's time. After a run that does not
    return, no other trial is run. Trials that irloop's own executor refused are not run either.
    """
    if end is None:
        end = time.monotonic() + budget.current().seconds_left()
    runs: list[Run] = []
    hung: Run | None = None
    for trial in trials:
        if trial.refused:
            runs.append(
                Run(reason=f"not run in an engine: {trial.refused}", late=True, refused=True)
            )
            continue
        if hung is not None:
            runs.append(hung)
            continue
        left = max(LEAST, end - time.monotonic())
        answer = process.run(
            trial.arrays,
            seconds=min(seconds, left),
            loading=min(max(seconds, LOADING), left),
            processor=LOADING_PROCESSOR * max(1.0, seconds / RUN_SECONDS),
            reset=trial.reset,
        )
        late = answer.failure is Failure.HUNG
        reason = "" if answer.failure is None else str(answer)
        runs.append(
            Run(
                answer.outputs,
                reason,
                late=late,
                names=answer.names,
                failure=answer.failure,
                words=answer.words,
            )
        )
        hung = runs[-1] if late else None
    return runs


def written(model: Model, folder: Path) -> Path:
    """Write a model to a file in `folder`, so that an engine can read it, and return the path.

    Raises:
        IrloopError: when the format of the file cannot hold the model.
    """
    if model.dialect == "onnx":
        return Path(onnx_writer.write(model, folder / "model.onnx", check=False)[0])
    return Path(ir_writer.write(model, folder / "model.xml", version=11)[0])
