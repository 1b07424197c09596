"""The iterations of one execution of a loop.

An iteration runs in one of two ways. The careful way checks memory, time and the trace at every
step. Once a careful iteration has shown that it needs little memory, the following ones run without
checks; a state that changes its size requires another careful iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from irloop import budget
from irloop.execution.branch import truth
from irloop.execution.buffered import Buffered
from irloop.execution.failure import StepError
from irloop.execution.program import SMALL, Context, Step, run
from irloop.execution.stack import Stack
from irloop.execution.step_costs import AN_ITERATION
from irloop.execution.straight import Cycle, Stretch
from irloop.execution.trace import IterationEvent, LoopTracer
from irloop.graph.model import Node

__all__ = ["Counter", "Feed", "Gather", "Iterations", "Plan"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The number of iterations between two checks of the time limit.
CHECK_EVERY = 64

#: Result arrays are allocated in advance only if at least this many iterations remain.
MANY = 24


class Feed(NamedTuple):
    """A body parameter that gets `source[i, ...]` in iteration i; messages use `name`."""

    slot: int
    source: Array
    name: str


class Gather(NamedTuple):
    """The slot of a body result, and the stack to which every iteration adds its value."""

    slot: int
    stack: Stack


class Counter(NamedTuple):
    """The body parameter that receives the iteration number."""

    slot: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def value(self, index: int) -> Array:
        """The iteration number as an array of the parameter's element type and shape."""
        number = np.array(index, self.dtype)
        return number.reshape(self.shape) if self.shape else number


@dataclass(frozen=True, slots=True)
class Plan:
    """The facts that are the same in every execution of a loop.

    `carries` are the (parameter, result) slots of the states, `growing` the result slots whose size
    may change. With `converts`, a state whose next value has another element type is converted to
    the type of its initial value. `tame` is true if the body is known to take little memory. `work`
    is the cost of one iteration in steps of the budget. `buffered` holds the steps whose results
    are written into arrays that are allocated once.
    """

    node: Node
    steps: tuple[Step, ...]
    compute: Callable[[list[Any]], None]
    carries: tuple[tuple[int, int], ...]
    growing: tuple[int, ...]
    counter: Counter | None
    converts: bool
    tame: bool
    work: float
    parameters: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    buffered: Buffered | None = None


class Iterations:
    """Runs the iterations of one execution of a loop.

    The loop ends when its condition becomes false, or after `stop` iterations; None sets no
    limit.
    """

    def __init__(
        self,
        plan: Plan,
        context: Context,
        slots: list[Any],
        feeds: Sequence[Feed],
        gathers: Sequence[Gather],
        condition: int | None,
        stop: int | None,
    ) -> None:
        self._plan = plan
        self._context = context
        self._slots = slots
        self._feeds = feeds
        self._gathers = gathers
        self._condition = condition
        self._stop = stop
        self._dtypes = {to: getattr(slots[to], "dtype", None) for to, _ in plan.carries}
        self._casts = False
        self._cost = 0.0
        # Values of unknown size may grow in each iteration.
        self._measures_again = not plan.tame and budget.current().operations is not None
        self._tame = plan.tame and not context.watched
        trace = context.trace
        self._compute = plan.compute
        #: `_buffered` holds the steps whose results can have buffers, until `_prepare` has run one
        #: iteration. It makes `_fast`, the function that runs the following iterations.
        self._buffered = plan.buffered
        self._fast: Stretch | None = None
        self._observer = trace if trace is not None and isinstance(trace, LoopTracer) else None

    def run(self) -> tuple[int, bool]:
        """Run the iterations; return how many ran, and whether the condition ended the loop.

        Raises:
            StepError: if a step fails; it names the iteration.
        """
        index, ended = 0, False
        while not ended and (self._stop is None or index < self._stop):
            try:
                if index:
                    self._tell(index)
                    self._carry()
                small = self._first() if index == 0 and self._tame else self._careful(index)
                ended = self._ended()
            except StepError as failure:
                raise failure.inside(self._plan.node, index) from failure.__cause__
            index += 1
            if small and not ended and not self._context.watched and not self._casts:
                index, ended = self._quick(index)
        return index, ended

    def _tell(self, index: int) -> None:
        """Report how many iterations the loop has run, if it is not inside another loop."""
        context = self._context
        if context.told is not None and len(context.levels) == 1:
            context.told("iterations", index, self._stop)

    def _first(self) -> bool:
        """Run the first iteration of a body that needs no memory checks.

        Returns True, because the following iterations need no memory checks, either.
        """
        slots, plan = self._slots, self._plan
        for slot, source, _ in self._feeds:
            slots[slot] = source[0, ...]
        if plan.counter is not None:
            slots[plan.counter.slot] = plan.counter.value(0)
        plan.compute(slots)
        for slot, stack in self._gathers:
            stack.add(0, slots[slot])
        self._look_at_types()
        self._cost = plan.work + AN_ITERATION
        self._context.charge(self._cost, plan.node)
        return True

    def _look_at_types(self) -> None:
        """Find out whether the next value of a state must be converted to another element type.

        Only a loop with `Plan.converts` converts states.
        """
        if self._plan.converts:
            slots, dtypes = self._slots, self._dtypes
            self._casts = any(
                getattr(slots[at], "dtype", None) != dtypes[to] for to, at in self._plan.carries
            )

    def _careful(self, index: int) -> bool:
        """Run one iteration of the body with all checks, and send the trace an event for it.

        Returns True if the values of the body take so little memory that the next iterations can
        run without checks.
        """
        slots, plan = self._slots, self._plan
        self._context.iterations[-1] = index
        for slot, source, _ in self._feeds:
            slots[slot] = source[index, ...]
        if plan.counter is not None:
            slots[plan.counter.slot] = plan.counter.value(index)
        parameters = [slots[slot] for slot in plan.parameters] if self._observer else []
        produced = run(plan.steps, slots, self._context)
        self._cost = self._context.last_cost + AN_ITERATION
        if self._observer is not None:
            made = tuple(slots[slot] for slot in plan.results)
            place = tuple(self._context.iterations)
            self._observer.iteration(IterationEvent(plan.node, place, tuple(parameters), made))
        for slot, stack in self._gathers:
            stack.add(index, slots[slot])
        if index == 0:
            self._look_at_types()
        return produced < SMALL

    def _ended(self) -> bool:
        """Return whether the condition from the body ends the loop."""
        if self._condition is None:
            return False
        condition = self._slots[self._condition]
        return not truth(self._plan.node, condition, "the condition that the body returns")

    def _carry(self) -> None:
        """Copy the results of the previous iteration to the states.

        This is done at the beginning of an iteration, so that after the last iteration both the
        states and the results can be read.
        """
        # Read all values before writing any, because the specification updates all states at once.
        slots = self._slots
        values = [slots[at] for _, at in self._plan.carries]
        for (to, _), value in zip(self._plan.carries, values, strict=True):
            dtype = self._dtypes[to]
            slots[to] = np.asarray(value).astype(dtype) if self._casts and dtype else value

    def _quick(self, index: int) -> tuple[int, bool]:
        """Run iterations from `index` on without checks, until one has to run with checks.

        Returns the number of the next iteration, and True if the loop has ended.
        """
        stop = self._stop
        try:
            while stop is None or index < stop:
                end = index + CHECK_EVERY if stop is None else min(index + CHECK_EVERY, stop)
                self._context.check_time(self._plan.node)
                self._tell(index)
                if self._buffered is not None and (stop is None or stop - index >= MANY):
                    end = index + 1
                    reached, ended = self._prepare(index, self._buffered)
                else:
                    reached, ended = self._stretch(index, end)
                self._context.charge(self._cost * (reached - index), self._plan.node)
                if ended or reached < end:
                    return reached, ended
                index = end
                if self._measures_again:
                    break
        except StepError as failure:
            if not failure.iterations or failure.iterations[0][0] is not self._plan.node:
                failure.inside(self._plan.node, index)
            raise
        return index, False

    def _prepare(self, index: int, steps: Buffered) -> tuple[int, bool]:
        """Run one iteration, and prepare a faster function for the following ones.

        The faster function writes results into arrays of the sizes that this iteration produced.
        Returns the number of the next iteration, and True if the loop has ended.
        """
        plan, condition = self._plan, self._condition
        # Writing into the array of a stack is not checked, so only parts of a stable shape are
        # written there. The function of the stack checks the others.
        targets = [
            (slot, stack.complete if slot in steps.stable else None, stack.add)
            for slot, stack in self._gathers
        ]
        cycle = Cycle(
            plan.node,
            plan.carries,
            [(slot, source) for slot, source, _ in self._feeds],
            plan.counter and (plan.counter.slot, plan.counter.value),
            [(slot, array) for slot, array, _ in targets if array is not None],
            [(slot, add) for slot, array, add in targets if array is None],
            condition,
        )
        prepared: list[Stretch | None] = []
        self._compute = lambda slots: prepared.append(steps.prepare(slots, cycle))
        result = self._stretch(index, index + 1)
        self._buffered, self._compute, (self._fast,) = None, plan.compute, prepared
        return result

    def _stretch(self, first: int, end: int) -> tuple[int, bool]:
        """Run iterations from `first` up to, but not including, `end`.

        Stop earlier if a state changes its size, or if the condition ends the loop. Returns the
        number of the next iteration, and True if the loop has ended.
        """
        plan, slots, feeds = self._plan, self._slots, self._feeds
        if self._fast is not None:
            return self._fast(slots, first, end)
        compute, counter, condition = self._compute, plan.counter, self._condition
        gathers = [(slot, stack.add) for slot, stack in self._gathers]
        carries, index = plan.carries, first
        results = [at for _, at in carries]
        alone = not {to for to, _ in carries} & set(results)
        sizes = [(slot, _size(slots[slot])) for slot in plan.growing]
        try:
            for index in range(first, end):
                if alone:
                    for to, at in carries:
                        slots[to] = slots[at]
                else:
                    values = [slots[at] for at in results]
                    for (to, _), value in zip(carries, values, strict=True):
                        slots[to] = value
                for slot, source, _ in feeds:
                    slots[slot] = source[index, ...]
                if counter is not None:
                    slots[counter.slot] = counter.value(index)
                compute(slots)
                for slot, add in gathers:
                    add(index, slots[slot])
                for slot, size in sizes:
                    if _size(slots[slot]) != size:
                        return index + 1, self._ended()
                if condition is not None and not slots[condition]:
                    return index + 1, True
        except StepError as failure:
            raise failure.inside(plan.node, index) from failure.__cause__
        return end, False


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray | np.generic):
        return value.nbytes
    # A growing sequence has no single size to compare, so its iterations always run with checks.
    return -1 if value is None else -2 - len(value)
