"""Chooses the sizes of generated inputs.

These are the first sizes with which a model returns usable outputs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from irloop import budget
from irloop.budget import Budget
from irloop.comparison.exercised import STOP, reachable
from irloop.comparison.fitting import Attempt, fitted
from irloop.comparison.inputs import INTEGERS, TRIPS, Trial, made_trials
from irloop.comparison.measure import all_finite, all_nan
from irloop.comparison.runs import FEWER, ITERATIONS, Run, run_trial
from irloop.comparison.sizes import (
    Sizes,
    groups_of,
    other_sizes,
    placed,
    single_axes,
    sizes_of,
)
from irloop.errors import IrloopError, UsageError
from irloop.execution.session import Session
from irloop.graph.model import Model
from irloop.graph.record import Record
from irloop.graph.types import TensorType, ValueType
from irloop.graph.walk import all_nodes

__all__ = ["Settled", "Settler", "is_telling", "settled"]

#: Maximum number of seconds to look for better inputs of a model that already runs, or to fit
#: sizes.
PATIENCE = 10.0

#: A run of a loop that may never end gets this part of the steps that are left.
PARTS = 16

#: The search ends once this many elements of inputs have been made, of which about 30 million take
#: a second.
MOST_ELEMENTS = 1 << 26


class Settled(Record):
    """The chosen sizes of the inputs, the range of the integers in them, and the sign of floats.

    The range applies to integer inputs that are not known to be indices, lengths or sizes. A sign
    of 1 means positive floats, 0 any.
    """

    sizes: Sizes
    integers: tuple[int, int] = INTEGERS[0]
    sign: int = 0

    def trials(
        self,
        model: Model,
        *,
        seeds: Sequence[int],
        trips: Sequence[int] = TRIPS[:1],
        twin: Model | None = None,
    ) -> list[Trial]:
        """Make trials of these inputs (see `made_trials`)."""
        return made_trials(
            model,
            self.sizes,
            seeds=seeds,
            trips=trips,
            integers=self.integers,
            sign=self.sign,
            twin=twin,
        )


class Settler:
    """Finds input sizes and a range for integer inputs with which a model runs.

    It runs the model with one candidate after another until all outputs have elements, and all of
    these are finite. If no candidate achieves this, it takes the best candidate.

    A loop that only its condition ends may run forever with most numbers: a search for a root, for
    example, converges only for some. Then a run that a limit ends is no reason to give up, but each
    run gets only a part of the steps, and positive numbers are tried, too.
    """

    def __init__(
        self,
        model: Model,
        runner: Model,
        session: Session,
        *,
        seeds: Sequence[int],
        trips: Sequence[int],
        dims: Mapping[str, int] | None,
        seconds: float,
        iterations: int = ITERATIONS,
        twin: Model | None = None,
    ) -> None:
        """Prepare to try sizes and integers; nothing is run yet.

        Args:
            model: `runner`, or a copy of it with more known shapes; inputs are made for its types.
            runner: the model that is run.
            session: a session of `runner`.
            seeds: seeds of random inputs.
            trips: trip counts to try if an input is a trip count.
            dims: the sizes of dimensions by name; "?" stands for dimensions without a name.
            seconds: the time limit of each run.
            iterations: the limit of iterations of each loop.
            twin: another model that runs with the same inputs.
        """
        self._model = model
        self._twin = twin
        self._session = session
        self._seeds = seeds
        self._trips = trips
        self._dims = dims
        self._seconds = seconds
        self._groups = groups_of(model, dims)
        self._elements = 0
        #: Maximum number of iterations of a loop; it is lowered after a run that a limit ended.
        self._iterations = iterations
        self._fewer = iterations // FEWER
        self._places = {node: at for at, node in enumerate(all_nodes(runner.graph))}
        #: Whether a condition may end a loop of the model.
        self.may_stop = any(way == STOP for _, way in reachable(runner))

    def settle(self) -> Settled:
        """Find input sizes, and a range for integer inputs, that give outputs worth comparing.

        Runs the model with one candidate after another. Returns the first with which all outputs
        have elements and all elements are finite. If there is none or time runs out, returns the
        best candidate so far.
        """
        best, worth = None, 0
        end = None
        for integers, sign in self._numbers():
            for sizes in sizes_of([self._model], self._dims):
                candidate = Settled(placed(self._model, sizes), integers, sign)
                first = best is None
                best = best or candidate
                if self._is_over() or (end is not None and time.monotonic() > end):
                    return best
                try:
                    run = self._run(candidate)
                    if first and run.outputs is None and not run.late and self._groups:
                        candidate, run = self._fitted(candidate)
                except UsageError:
                    # These inputs are too large to make, and so are all inputs that follow.
                    if worth:
                        return best
                    raise
                if run.late and self.may_stop and not worth:
                    # Other sizes would take as long, but other numbers may end the loop.
                    break
                if run.late:
                    # The run took too long; other inputs would take as long.
                    return best if worth else candidate
                shown = worth_of(run)
                if shown > worth:
                    best, worth = candidate, shown
                if shown == 3:
                    return best
                if worth and end is None:
                    end = time.monotonic() + PATIENCE
        assert best is not None
        return best

    def _numbers(self) -> Iterator[tuple[tuple[int, int], int]]:
        """The ranges of integers, each with the signs of floats that are tried with it."""
        types = [value.type for value in self._model.graph.inputs]
        tensors = [item.element for item in types if isinstance(item, TensorType)]
        ranges = INTEGERS if any(item.is_integer for item in tensors) else INTEGERS[:1]
        signs = (0, 1) if self.may_stop and any(item.is_float for item in tensors) else (0,)
        return product(ranges, signs)

    def resized(self, settled: Settled) -> list[Trial]:
        """Make one trial in which the unknown dimensions have other sizes than in `settled`.

        The list is empty if the model cannot run with other sizes.
        """
        for sizes in other_sizes(settled.sizes, self._groups, self._dims):
            variant = replace(settled, sizes=sizes)
            try:
                run = self._run(variant)
            except UsageError:
                continue
            if run.late:
                return []
            if worth_of(run) > 1:
                trial = self._trial(variant)
                return [replace(trial, label=f"{trial.label}, other sizes")]
        return []

    def _trial(self, settled: Settled) -> Trial:
        return settled.trials(
            self._model, seeds=self._seeds[:1], trips=self._trips, twin=self._twin
        )[0]

    def _run(self, settled: Settled) -> Run:
        trial = self._trial(settled)
        self._elements += sum(np.size(item) for item in trial.arrays if not isinstance(item, list))
        left = budget.current().steps_left()
        part = int(left / PARTS) if self.may_stop and math.isfinite(left) else None
        with Budget(operations=part).entered():
            run = run_trial(self._session, trial, self._seconds, self._iterations)
        if run.late:
            self._iterations = self._fewer
        return run

    def _is_over(self) -> bool:
        """Return whether the search has exceeded its limit on the number of computed elements."""
        return self._elements > MOST_ELEMENTS

    def _fitted(self, start: Settled) -> tuple[Settled, Run]:
        """Change sizes until the model runs, or runs as far as possible.

        Returns the sizes that were found, and the run with them.
        """

        def attempt(sizes: Sizes) -> Attempt:
            if self._is_over():
                return Attempt(0, late=True)
            try:
                run = self._run(replace(start, sizes=sizes))
            except UsageError:
                return Attempt(0, -1)
            failed = self._session.failed
            if run.outputs is not None or failed is None:
                return Attempt(worth_of(run), late=run.late)
            return Attempt(0, self._places.get(failed[0], -1), failed[1], late=run.late)

        sizes, _ = fitted(
            start.sizes,
            [*self._groups, *single_axes(self._groups)],
            attempt,
            seconds=PATIENCE,
        )
        settled = replace(start, sizes=sizes)
        return settled, self._run(settled)


def settled(model: Model, *, seed: int, dims: Mapping[str, int] | None = None) -> Settled:
    """Choose the sizes of unknown input dimensions, and the value range of integer inputs.

    irloop runs the model to find sizes that work, with inputs from `seed`. It does not if the
    inputs have no unknown dimensions, or if irloop cannot run the model; then the integers keep
    their default range. `dims` fixes sizes by the name of the dimension; the name "?" stands for
    all dimensions without a name.
    """
    if not groups_of(model):
        return Settled(next(sizes_of([model], dims)))
    try:
        session = Session(model)
    except IrloopError:
        # irloop cannot run the model, but another engine may.
        return Settled(next(sizes_of([model], dims)))
    settler = Settler(
        model, model, session, seeds=[seed], trips=TRIPS[:1], dims=dims, seconds=PATIENCE
    )
    return settler.settle()


def is_telling(value: Any, type: ValueType | None = None) -> bool:
    """Return whether an output can show a difference between two models.

    An output that holds nothing but NaN cannot. An empty output can only if its declared `type` has
    a dimension of size 0. A list can if one of its items can.
    """
    if isinstance(value, list):
        return any(is_telling(item) for item in value)
    if isinstance(type, TensorType) and 0 in (type.shape.dims or ()):
        return True
    if not isinstance(value, np.ndarray) or not value.size:
        return False
    if value.dtype.kind in "OSUbiu":
        return True
    return not all_nan(value)


def worth_of(run: Run) -> int:
    """Rate from 0 to 3 how well the outputs of a run can be compared.

    0: the run failed. 1: no output can show a difference (see `is_telling`). 2: at least one output
    can. 3: all outputs have elements, and all elements are finite.
    """
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
    return all_finite(value)
