"""Chooses trials: sizes with which the model gives usable outputs, and ways through it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop.comparison.exercised import reachable, reached
from irloop.comparison.inputs import (
    INTEGERS,
    Sizes,
    Trial,
    made_trials,
    other_sizes,
    other_trials,
    sizes_of,
)
from irloop.comparison.runs import Run, run_trial
from irloop.dialects.openvino import state
from irloop.errors import IrloopError, UsageError
from irloop.execution.session import Session
from irloop.graph.model import Model
from irloop.graph.types import TensorType, ValueType
from irloop.graph.walk import all_nodes

__all__ = ["is_telling", "tried"]

#: The time to look for inputs that reach more of a model that already runs, in seconds.
PATIENCE = 10.0

#: The number of runs in a row of a model with variables, before they are reset.
STEPS = 3

#: The most trials added to reach more of the model.
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
    widen: bool | None,
) -> tuple[list[Trial], list[Run]]:
    """Trials for `runner`, and the results of irloop's executor for each.

    `model` is `runner` with all that is known about the shapes of its inputs. The sizes are the
    first for which every output is finite and not empty. Trials with other sizes follow, and trials
    that reach branches and trip counts that the first ones did not.
    """
    try:
        session = Session(runner, widen=widen)
    except IrloopError as error:
        # Only another engine can run it; it gets the likeliest inputs.
        trials = made_trials(model, next(sizes_of([model], sizes)), seeds=seeds, trips=trips)
        return trials, [Run(reason=error.message) for _ in trials]
    found, integers = _settled(model, session, seeds, trips, sizes, seconds)
    trials = made_trials(model, found, seeds=seeds, trips=trips, integers=integers)
    others = _resized(model, session, found, integers, seeds, trips, sizes, seconds)
    count = len(trials) // max(len(seeds), 1)
    trials[count:count] = others
    if any(isinstance(node.op, _STATEFUL) for node in all_nodes(runner.graph)):
        trials = list(_in_steps(trials))
    runs = [run_trial(session, trial, seconds) for trial in trials]
    for trial, run in _added(model, runner, session, found, runs, seconds):
        trials.append(trial)
        runs.append(run)
    return trials, runs


def is_telling(value: Any, type: ValueType | None = None) -> bool:
    """True when a value can show a difference: an element of it is not NaN.

    An empty value counts as well if its declared `type` is empty.
    """
    if isinstance(value, list):
        return any(is_telling(item) for item in value)
    if isinstance(type, TensorType) and 0 in (type.shape.dims or ()):
        return True
    if not isinstance(value, np.ndarray) or not value.size:
        return False
    if value.dtype.kind in "OSUbiu":
        return True
    return not np.isnan(
        value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    ).all()


def _settled(
    model: Model,
    session: Session,
    seeds: Sequence[int],
    trips: Sequence[int],
    given: Mapping[str, int] | None,
    seconds: float,
) -> tuple[Sizes, tuple[int, int]]:
    """The first sizes and integers for which all outputs of the model are usable, or the best
    ones.
    """
    best, worth = None, 0
    types = [value.type for value in model.graph.inputs]
    whole = any(isinstance(item, TensorType) and item.element.is_integer for item in types)
    end = None
    for integers in INTEGERS if whole else INTEGERS[:1]:
        for found in sizes_of([model], given):
            best = best or (found, integers)
            if end is not None and time.monotonic() > end:
                return best
            try:
                trial = made_trials(model, found, seeds=seeds, trips=trips, integers=integers)[0]
            except UsageError:
                # Too large to make, and so are all that follow.
                if worth:
                    return best
                raise
            run = run_trial(session, trial, seconds)
            if run.late:
                # It ran out of time; other inputs would take as long.
                return best if worth else (found, integers)
            shown = _shown(run)
            if shown > worth:
                best, worth = (found, integers), shown
            if shown == 3:
                return best
            if worth and end is None:
                end = time.monotonic() + PATIENCE
    assert best is not None
    return best


def _shown(run: Run) -> int:
    """The value of a run: 0 failed, 1 nothing usable, 2 something, 3 finite numbers everywhere."""
    if run.outputs is None:
        return 0
    if run.outputs and all(map(_is_whole, run.outputs)):
        return 3
    return 2 if any(map(is_telling, run.outputs)) else 1


def _is_whole(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_whole, value))
    if not isinstance(value, np.ndarray) or not value.size:
        return False
    if value.dtype.kind in "OSUbiu":
        return True
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    return bool(np.isfinite(wide).all())


def _resized(
    model: Model,
    session: Session,
    sizes: Sizes,
    integers: tuple[int, int],
    seeds: Sequence[int],
    trips: Sequence[int],
    given: Mapping[str, int] | None,
    seconds: float,
) -> list[Trial]:
    """One trial with other sizes of the unknown dimensions, where the model takes any."""
    for found in other_sizes(sizes, given):
        try:
            trials = made_trials(model, found, seeds=seeds[:1], trips=trips[:1], integers=integers)
        except UsageError:
            continue
        run = run_trial(session, trials[0], seconds) if trials else Run()
        if run.late:
            return []
        if _shown(run) > 1:
            return [replace(trials[0], label=f"{trials[0].label}, other sizes")]
    return []


def _added(
    model: Model,
    runner: Model,
    session: Session,
    sizes: Sizes,
    runs: Sequence[Run],
    seconds: float,
) -> Iterator[tuple[Trial, Run]]:
    """Trials that reach more than `runs` do."""
    missed = set(reachable(runner)) - reached(runs)
    if not missed or any(run.late for run in runs):
        return
    added = 0
    for trial in other_trials(model, sizes, len(runs)):
        if added == MOST_ADDED or not missed:
            return
        run = run_trial(session, trial, seconds)
        if run.late:
            return
        new = reached([run]) & missed
        if new:
            missed -= new
            added += 1
            yield trial, run


def _in_steps(trials: Sequence[Trial]) -> Iterator[Trial]:
    """Repeat each trial several times in a row; the first of them resets the variables."""
    for trial in trials:
        for step in range(STEPS):
            label = f"{trial.label}, step {step + 1} of {STEPS}"
            yield replace(trial, label=label, reset=step == 0)
