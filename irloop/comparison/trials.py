"""Chooses the trials of a comparison: sets of inputs for which both models are run.

The sizes are chosen so that no output is empty, infinite or NaN. Trials are added until all
branches and kinds of trip counts are reached, or a limit is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from irloop.comparison.exercised import reachable, reached
from irloop.comparison.inputs import (
    Trial,
    made_trials,
    other_trials,
    positive_trials,
)
from irloop.comparison.runs import ITERATIONS, Run, reason_of_file, run_trial, run_trials
from irloop.comparison.settling import Settler
from irloop.comparison.sizes import (
    Sizes,
    sizes_of,
)
from irloop.dialects.openvino import state
from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes

__all__ = ["tried"]

#: Maximum number of seconds to look for inputs that reach more of a model that already runs.
PATIENCE = 10.0

#: How often a model with variables is run in a row before they are reset.
STEPS = 3

#: Maximum number of trials that are added to reach more of the model.
MOST_ADDED = 6

#: Operations that keep a variable between runs.
_STATEFUL = (state.Assign, state.Assign6, state.ReadValue, state.ReadValue6)


def tried(
    model: Model,
    runner: Model,
    *,
    seeds: Sequence[int],
    trips: Sequence[int],
    sizes: Mapping[str, int] | None,
    seconds: float,
    iterations: int = ITERATIONS,
    widen: bool | None,
    affordable: Callable[[], None],
    twin: Model | None = None,
) -> tuple[list[Trial], list[Run]]:
    """Make the trials of a comparison, and run the first model on them in irloop's executor.

    Returns the trials, which hold the inputs, and the run of each trial. `runner` is the first
    model, which is run, and `twin` the second. `model` is a copy of the first, for which the inputs
    are made; its unknown input sizes are filled in from the second. `sizes` gives sizes of
    dimensions by name. Each run may take `seconds`, and each loop `iterations`. With `widen`, half
    precision is computed in single precision (see `Session`).

    In the first trials every output is finite and not empty. The next ones have other sizes, and
    the last ones reach branches and trip counts that no earlier trial reached.

    `affordable` is a callback that can start costly work, such as loading the model in another
    engine. It runs at most once: after the first trial that is not refused because of a limit (see
    `run_trials`), or at once if irloop's executor cannot run the model.
    """
    try:
        session = Session(runner, widen=widen)
    except IrloopError as error:
        # irloop's executor cannot run the model. Another engine may be able to, so the trials get
        # the likeliest inputs.
        first = next(sizes_of([model], sizes))
        trials = made_trials(model, first, seeds=seeds, trips=trips, twin=twin)
        affordable()
        reason = reason_of_file(error, runner)
        return trials, [Run(reason=reason) for _ in trials]
    settler = Settler(
        model,
        runner,
        session,
        seeds=seeds,
        trips=trips,
        dims=sizes,
        seconds=seconds,
        iterations=iterations,
        twin=twin,
    )
    settled = settler.settle()
    trials = settled.trials(model, seeds=seeds, trips=trips, twin=twin)
    others = settler.resized(settled)
    count = len(trials) // max(len(seeds), 1)
    trials[count:count] = others
    if any(isinstance(node.op, _STATEFUL) for node in all_nodes(runner.graph)):
        trials = list(_in_steps(trials))
    runs = run_trials(session, trials, seconds, iterations, affordable)
    for trial, run in _further_trials(
        model, runner, session, settled.sizes, runs, seconds, iterations, twin
    ):
        trials.append(trial)
        runs.append(run)
    if settler.may_stop and not any(run.late for run in runs):
        # A search for a root, for example, converges only for some numbers.
        for trial in positive_trials(model, settled.sizes, seeds[:1], twin):
            trials.append(trial)
            runs.append(run_trial(session, trial, seconds, iterations))
    return trials, runs


def _further_trials(
    model: Model,
    runner: Model,
    session: Session,
    sizes: Sizes,
    runs: Sequence[Run],
    seconds: float,
    iterations: int,
    twin: Model | None,
) -> Iterator[tuple[Trial, Run]]:
    """Run further trials, and yield those in which a loop or branch runs in a new way.

    A new way is one that `runs` do not show: another branch, an early stop of a loop, or zero, one
    or many iterations. The search ends when no way is missing, when `MOST_ADDED` trials have been
    yielded, or when a run reaches a limit such as `seconds`.
    """
    missed = set(reachable(runner)) - reached(runs)
    if not missed or any(run.late for run in runs):
        return
    added = 0
    for trial in other_trials(model, sizes, len(runs), twin):
        if added == MOST_ADDED or not missed:
            return
        run = run_trial(session, trial, seconds, iterations)
        if run.late:
            return
        new = reached([run]) & missed
        if new:
            missed -= new
            added += 1
            yield trial, run


def _in_steps(trials: Sequence[Trial]) -> Iterator[Trial]:
    """Repeat each trial `STEPS` times in a row; only its first run resets the variables."""
    for trial in trials:
        for step in range(STEPS):
            label = f"{trial.label}, step {step + 1} of {STEPS}"
            yield replace(trial, label=label, reset=step == 0)
