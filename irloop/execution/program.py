"""A compiled graph: a flat list of steps that read and fill numbered slots.

Slot 0 always holds None (an omitted input) and slot 1 the `Context` of the run, the first argument
of control flow and state. The same steps run in two ways: `run` checks memory, time and the trace
at every step, and `sweep` only computes. `sweep` is used for later iterations of a loop whose first
iteration has shown that sizes are small.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from irloop import budget
from irloop.diagnostics import Diagnostic
from irloop.errors import LimitError
from irloop.execution.failure import StepError, extents_of, failure_of
from irloop.execution.limits import Limits
from irloop.execution.memory import owned_bytes, room_needed, temporaries
from irloop.execution.nesting import Level
from irloop.execution.profile import RunProfile
from irloop.execution.step_costs import A_CHECK, A_WATCHED_CALL, call_work, work_of
from irloop.execution.straight import MOST_STEPS, straight
from irloop.execution.trace import TraceEvent, Tracer
from irloop.graph.model import Node
from irloop.graph.op import Kernel
from irloop.progress import Listener

__all__ = ["CONTEXT", "NOTHING", "SMALL", "Context", "Program", "Step", "run", "sweep", "tame"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Steps whose values together take fewer bytes than this run without checks of memory.
SMALL = 16 * 2**20

#: Steps are charged to the budget once this many have accumulated, because each charge takes time.
FEW_STEPS = 64

#: Slot 0 holds None, slot 1 the context of the run; slots from 2 on are free.
NOTHING, CONTEXT, FIRST_FREE = 0, 1, 2


class Step(NamedTuple):
    """One operation: `fn` reads the slots `ins` and fills the slots `outs`.

    The slots `frees` can be released afterwards. `size` is the number of bytes of the outputs: None
    if it is known only at run time, 0 for a step that checks memory and charges the budget itself.
    `work` is an estimate of the step's work from the types alone.
    """

    fn: Kernel
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    frees: tuple[int, ...]
    node: Node
    size: int | None = None
    work: float = 0.0


@dataclass(slots=True)
class Context:
    """The state that one run shares with all nested programs."""

    limits: Limits
    trace: Tracer | None = None
    profile: RunProfile | None = None
    variables: dict[str, Array] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)
    iterations: list[int] = field(default_factory=list)
    #: The loops that run now, the innermost last.
    levels: list[Level] = field(default_factory=list)
    counts: dict[Node, set[int]] = field(default_factory=dict)
    branches: dict[Node, set[str]] = field(default_factory=dict)
    stopped: set[Node] = field(default_factory=set)
    #: The listener to which progress is reported, and the steps of the outermost graph.
    told: Listener | None = None
    outermost: Sequence[Step] = ()
    live: int = 0
    deadline: float | None = None
    #: Steps of the budget that are not charged yet, including those of the last program that ran
    #: without checks.
    unpaid: float = 0.0
    last_cost: float = 0.0

    @property
    def watched(self) -> bool:
        """Return whether a trace or a profile records every step."""
        return self.trace is not None or self.profile is not None

    def start(self) -> None:
        """Set the deadline of the run, if the limits have a maximum time.

        The deadline is `limits.max_seconds` from now.
        """
        seconds = self.limits.max_seconds
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def counted(self, loop: Node, count: int) -> None:
        """Record the number of iterations of a loop."""
        self.counts.setdefault(loop, set()).add(count)

    def stopped_early(self, loop: Node) -> None:
        """Record that the condition ended a loop before the trip count was reached."""
        self.stopped.add(loop)

    def took(self, node: Node, label: str) -> None:
        """Record that an If took the branch `label`, which is "then" or "else"."""
        self.branches.setdefault(node, set()).add(label)

    def check_time(self, node: Node) -> None:
        """Raise when time has run out."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise StepError(
                node,
                f"the time limit of {self.limits.max_seconds:g} seconds is over",
                fix="allow more seconds, or look for a loop that does not end",
                limit=True,
                by_clock=True,
            )

    def charge(self, steps: float, node: Node) -> None:
        """Record that a node takes `steps` steps, and charge them to the budget.

        Charging takes time. So small numbers of steps are first added up, and are charged once
        `FEW_STEPS` of them have accumulated.

        Raises:
            StepError: when the budget is used up; it names `node`.
        """
        self.unpaid += steps
        if self.unpaid < FEW_STEPS:
            return
        spent, self.unpaid = int(self.unpaid), 0.0
        try:
            budget.spend(spent, "running the model")
        except LimitError as error:
            raise failure_of(node, error) from error

    def check_memory(self, node: Node, more: int) -> None:
        """Raise StepError if `more` bytes in addition to those in use would exceed the limit."""
        allowed = self.limits.max_memory
        if allowed is not None and self.live + more > allowed:
            raise StepError(
                node,
                "the memory limit would be exceeded",
                expected=f"at most {allowed} bytes in use",
                found=f"{self.live} in use and {more} more needed",
                fix="allow more memory if the sizes are intended",
                limit=True,
            )


@dataclass(slots=True)
class Program:
    """A compiled graph: steps, each of which reads some slots and fills others.

    `template` is the list of the initial slots, with the constants filled in. These fields
    apply to a loop body:

    - `prologue`: the steps that have the same result in every iteration;
    - `fixed`: the slots whose value is the same in every iteration;
    - `whole`: the steps that can compute the slices of all iterations in one call;
    - `rest`: the steps that each iteration still has to run if `whole` ran before.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[Step, ...]
    template: list[Any]
    prologue: tuple[Step, ...] = ()
    fixed: frozenset[int] = frozenset()
    whole: tuple[Step, ...] = ()
    rest: tuple[Step, ...] = ()

    def reads(self, slot: int) -> bool:
        """Return whether a step reads `slot`."""
        return any(slot in step.ins for step in (*self.prologue, *self.steps))

    def slots(self, context: Context) -> list[Any]:
        """Return a list of values, indexed by slot number, for one execution of the program.

        Constants are filled in, and the slot `CONTEXT` holds `context`.
        """
        slots = self.template.copy()
        slots[CONTEXT] = context
        return slots

    def call(self, context: Context, arguments: Sequence[Any]) -> list[Any]:
        """Run the program once on the values of its inputs; return the values of its outputs."""
        slots = self.slots(context)
        for slot, value in zip(self.inputs, arguments, strict=True):
            slots[slot] = value
        before = context.live
        run(self.steps, slots, context)
        context.live = before
        return [slots[slot] for slot in self.outputs]


def tame(steps: Sequence[Step]) -> bool:
    """Return whether the results of all steps have known sizes that add up to little memory.

    The limit is `SMALL`. A step of unknown size makes the result false.
    """
    sizes = [step.size for step in steps]
    known = [size for size in sizes if size is not None]
    return len(known) == len(sizes) and sum(known) < SMALL


def run(steps: Sequence[Step], slots: list[Any], context: Context) -> int:
    """Run `steps` with checks of memory, time and trace; return the size of their results in bytes.

    Raises:
        StepError: when a step fails; the steps after it are not run.
    """
    produced = 0
    cost = 0.0
    a_check = A_WATCHED_CALL if context.watched else A_CHECK
    told = context.told if steps is context.outermost else None
    allowed = context.limits.max_memory
    for number, step in enumerate(steps):
        if told is not None:
            told("operations", number, len(steps))
        fn, ins, outs, frees, node, size, _ = step
        values = [slots[slot] for slot in ins]
        context.check_time(node)
        try:
            if size is None:
                size = room_needed(node, values, allowed)
            if context.trace is not None:
                # A trace keeps the values that it is given.
                fn = getattr(fn, "keeping", fn)
            if allowed is not None:
                room = size + temporaries(node, values, size)
                if context.live + room > allowed:
                    context.check_memory(node, room)
            if context.profile is None:
                result = fn(*values)
            else:
                result = context.profile.call(node, context.iterations, fn, values)
        except StepError:
            raise
        except Exception as error:
            # Any exception of a kernel is an error of this node, because only irloop's own
            # exceptions may leave the executor.
            failure = failure_of(node, error)
            failure.operands = extents_of(values)
            try:
                raise failure from error
            finally:
                # Otherwise the failure and this frame would refer to each other, and keep all
                # values in memory.
                del failure
        if not _store(result, outs, slots, node):
            # `sweep` cannot run this step, because it does not convert results to arrays. A size of
            # SMALL makes the caller use `run` again.
            produced += SMALL
        if context.trace is not None:
            _tell(context, context.trace, node, ins, slots, outs)
        made = 0
        for slot in outs:
            made += owned_bytes(slots[slot])
        produced += made
        work = call_work(node)
        if step.size != 0:
            work += work_of(node, values, [slots[slot] for slot in outs])
        cost += work
        context.charge(a_check + work, node)
        context.live += made
        for slot in frees:
            context.live -= owned_bytes(slots[slot])
            slots[slot] = None
        if allowed is not None and context.live > allowed:
            context.check_memory(node, 0)
    context.last_cost = cost
    return produced


def _store(result: Any, outs: tuple[int, ...], slots: list[Any], node: Node) -> bool:
    """Store the results of a step in the slots `outs`.

    Return True if they were stored as they are, False if one had to be converted to an array.
    """
    if len(outs) == 1 and not isinstance(result, tuple):
        slots[outs[0]] = _as_value(result)
        return slots[outs[0]] is result
    if not isinstance(result, tuple) or len(result) < len(outs) or len(outs) == 1:
        found = len(result) if isinstance(result, tuple) else 1
        raise StepError(node, f"its kernel returned {found} values for {len(outs)} outputs")
    for slot, value in zip(outs, result, strict=False):
        slots[slot] = _as_value(value)
    return all(slots[slot] is value for slot, value in zip(outs, result, strict=False))


def _as_value(value: Any) -> Any:
    """Convert a string or a Python number to an array.

    Return arrays, NumPy scalars, lists (sequences) and None unchanged.
    """
    if value is None or isinstance(value, np.ndarray | np.generic | list):
        return value
    return np.asarray(value, dtype=object if isinstance(value, str | bytes) else None)


def _tell(
    context: Context,
    trace: Tracer,
    node: Node,
    ins: tuple[int, ...],
    slots: list[Any],
    outs: tuple[int, ...],
) -> None:
    trace(
        TraceEvent(
            node,
            tuple(context.iterations),
            tuple(slots[slot] for slot in ins if slot != CONTEXT),
            tuple(slots[slot] for slot in outs),
        )
    )


def sweep(steps: Sequence[Step], keep: Collection[int]) -> Callable[[list[Any]], None]:
    """Make one function that runs `steps` on a list of slots, without checks.

    The function stores at least the values of the slots `keep` in the list.

    Raises (when called):
        StepError: when a step fails; the error names the node.
    """
    if len(steps) <= MOST_STEPS:
        return straight([(step.fn, step.ins, step.outs, step.node) for step in steps], keep)
    parts = [steps[first : first + MOST_STEPS] for first in range(0, len(steps), MOST_STEPS)]
    # Later parts read values of earlier parts, so each part fills all its slots.
    calls = [sweep(part, {slot for step in part for slot in step.outs}) for part in parts]

    def compute(slots: list[Any]) -> None:
        for call in calls:
            call(slots)

    return compute
