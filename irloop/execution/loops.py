"""The parts that all loops share.

They pass values into a body, collect results, and return the outputs of a loop that never runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.execution.branch import truth
from irloop.execution.buffered import buffered
from irloop.execution.failure import StepError
from irloop.execution.iterations import Counter, Feed, Gather, Iterations, Plan
from irloop.execution.nesting import refuse_too_many
from irloop.execution.program import NOTHING, Context, Program, Step, run, sweep, tame
from irloop.execution.stack import Stack, empty_value, join, nothing_joined
from irloop.graph.loops import Carried, Concatenated, LastValue, PortMap, ScanOutput
from irloop.graph.model import Node
from irloop.graph.types import ElementType, TensorType, ValueType
from irloop.graph.walk import node_path

__all__ = ["UNDEFINED", "Loop", "LoopBody", "Outcome", "integer"]

#: All slices are processed at once if there are at least this many, and if they have at most this
#: many bytes together.
FEWEST, LARGEST = 4, 2**28

#: A loop that never ends runs only if at most this many of its iterations are allowed.
ENDLESS = 100_000

#: The code of the note that an output has no value because its loop ran zero times.
UNDEFINED = "RUN004"

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class LoopBody:
    """A compiled body, its wires, and the types of its parameters and results."""

    program: Program
    ports: PortMap
    parameters: tuple[ValueType, ...]
    results: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a loop.

    It consists of the results of the last iteration, the number of iterations, and the concatenated
    outputs.
    """

    results: list[Any]
    count: int
    gathered: dict[int, Array]


class Loop:
    """One loop node, callable with a context and the node's inputs.

    A subclass determines the trip count and the inputs that are sliced; all loops share the rest.
    """

    #: True if a state whose next value has another element type is converted to the type of its
    #: initial value.
    converts = False

    def __init__(self, node: Node, body: LoopBody) -> None:
        self.node = node
        self.body = body
        self.ports = body.ports
        self.program = body.program
        self.stacked = tuple(port for port in body.ports.outputs if not isinstance(port, LastValue))
        self._starts = {port.result: port for port in reversed(body.ports.carried)}
        self._plan = self._planned(body.program.steps)
        self._whole_plan = self._planned(body.program.rest) if body.program.whole else None

    def _planned(self, steps: Sequence[Step]) -> Plan:
        program, ports = self.program, self.ports
        carried = [p for p in ports.carried if program.inputs[p.parameter] not in program.fixed]
        growing = [p.result for p in carried if not _is_static(self.body.results[p.result])]
        if ports.condition is not None and not _is_static(self.body.results[ports.condition]):
            growing.append(ports.condition)
        slots = tuple(program.outputs[result] for result in growing)
        carries = tuple((program.inputs[p.parameter], program.outputs[p.result]) for p in carried)
        return Plan(
            self.node,
            tuple(steps),
            sweep(steps, program.outputs),
            carries,
            slots,
            self._counter(),
            self.converts,
            tame(steps),
            sum(step.work for step in steps),
            tuple(program.inputs),
            tuple(program.outputs),
            buffered(steps, program.outputs, {NOTHING, *program.fixed}, carries, slots),
        )

    def _counter(self) -> Counter | None:
        if self.ports.iteration is None:
            return None
        slot = self.program.inputs[self.ports.iteration]
        if slot not in self.program.outputs and not self.program.reads(slot):
            return None
        type = self.body.parameters[self.ports.iteration]
        known = isinstance(type, TensorType) and type.element is not ElementType.DYNAMIC
        dtype = type.element.numpy() if known and isinstance(type, TensorType) else np.dtype("i8")
        rank = type.shape.rank if isinstance(type, TensorType) else 0
        return Counter(slot, dtype, (1,) * (rank or 0))

    def __call__(self, context: Context, *inputs: Any) -> Any:
        """The outputs of the loop: one value, or a tuple of several.

        Raises:
            StepError: when a node in the body fails, or the loop itself.
        """
        raise NotImplementedError

    def initial(self, port: Carried, inputs: Sequence[Any]) -> Any:
        """The value that a state starts from."""
        return inputs[port.external]

    def finish(self, context: Context, outcome: Outcome) -> Any:
        """The outputs of the loop after its iterations: one value, or a tuple of several."""
        outputs: list[Any] = [None] * len(self.node.outputs)
        for port in self.ports.outputs:
            if isinstance(port, LastValue):
                outputs[port.external] = outcome.results[port.result]
            else:
                outputs[port.external] = join(outcome.gathered[port.external], port)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def without_iterations(self, context: Context, inputs: Sequence[Any]) -> Any:
        """Return the outputs of a loop that runs zero times.

        The last value of a state is its initial value, and a concatenated output is empty. Any
        other last value is undefined: it is returned as zeros, and a note reports it.
        """
        context.counted(self.node, 0)
        outputs: list[Any] = [None] * len(self.node.outputs)
        for port in self.ports.outputs:
            type = self.body.results[port.result]
            if isinstance(port, Concatenated | ScanOutput):
                outputs[port.external] = nothing_joined(port, type)
            elif port.result in self._starts:
                outputs[port.external] = self.initial(self._starts[port.result], inputs)
            else:
                outputs[port.external] = empty_value(type)
                context.notes.append(self._undefined(port.external))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def execute(
        self,
        context: Context,
        values: Mapping[int, Any],
        feeds: Sequence[Feed],
        trip: int | None,
    ) -> Outcome:
        """Run the loop for one or more iterations and return the outcome.

        `values` maps the index of a body parameter to the value that the parameter has in the first
        iteration. `feeds` are the sliced inputs. `trip` is the trip count, or None if the loop has
        none. The loop may end before `trip` iterations, because the body can compute a condition.
        """
        slots = self.program.slots(context)
        for parameter, value in values.items():
            slots[self.program.inputs[parameter]] = value
        before = context.live
        context.iterations.append(0)
        context.levels.append((self.node, 0))
        try:
            return self._iterate(context, slots, feeds, trip)
        finally:
            context.iterations.pop()
            context.levels.pop()
            context.live = before

    def _iterate(
        self, context: Context, slots: list[Any], feeds: Sequence[Feed], trip: int | None
    ) -> Outcome:
        try:
            run(self.program.prologue, slots, context)
        except StepError as failure:
            raise failure.inside(self.node, 0) from failure.__cause__
        ports = self.ports
        condition = None if ports.condition is None else self.program.outputs[ports.condition]
        if condition is not None and condition in self.program.fixed:
            # Nothing in the loop changes the condition, so it ends the loop after one iteration or
            # never.
            trip = trip if truth(self.node, slots[condition], "the condition") else 1
            condition = None
        exact = trip if condition is None else None
        stacks = {
            port.external: Stack(self.node, self.node.outputs[port.external].name, context, exact)
            for port in self.stacked
        }
        gathers = [
            Gather(self.program.outputs[port.result], stacks[port.external])
            for port in self.stacked
        ]
        slices = min((len(feed.source) for feed in feeds), default=None)
        bounds = [n for n in (trip, slices, context.limits.max_iterations) if n is not None]
        stop = min(bounds, default=None)
        if condition is None and trip is None and slices is None:
            self._require_end(stop)
        plan, sources = self._plan, feeds
        if self._worth_it(context, feeds, stop):
            assert self._whole_plan is not None
            plan, sources = self._whole_plan, self._at_once(context, slots, feeds, trip)
        if exact is not None:
            context.levels[-1] = self.node, exact
            refuse_too_many(context.levels)
        count, ended = Iterations(plan, context, slots, sources, gathers, condition, stop).run()
        if not ended and count != trip:
            raise self._stopped(context, feeds, count, slices)
        context.counted(self.node, count)
        if ended and count != trip:
            context.stopped_early(self.node)
        gathered = {external: stack.parts(count) for external, stack in stacks.items()}
        return Outcome([slots[slot] for slot in self.program.outputs], count, gathered)

    def _require_end(self, stop: int | None) -> None:
        """Refuse an endless loop that would run until the budget is used up.

        `stop` is the maximum number of iterations; None if there is no maximum. The loop may run if
        `stop` is at most `ENDLESS`. It may also run if the budget does not limit the steps, because
        a caller may read the first iterations and then stop.

        Raises:
            StepError: when the loop is refused.
        """
        if budget.current().operations is None or (stop is not None and stop <= ENDLESS):
            return
        raise StepError(
            self.node,
            "the loop never ends: it has no trip count, and its condition is always true",
            expected="a trip count, or a condition that the body computes",
            found="endless iterations",
            fix="correct the loop, or limit its iterations (--max-iterations)",
            limit=True,
        )

    def _worth_it(self, context: Context, feeds: Sequence[Feed], stop: int | None) -> bool:
        """Return whether all slices should be processed at once instead of one by one.

        Together they must take little memory, and there must be enough of them to save time.
        """
        if self._whole_plan is None or context.trace is not None or stop is None or stop < FEWEST:
            return False
        size = sum(feed.source.nbytes for feed in feeds)
        allowed = context.limits.max_memory
        return size <= LARGEST and (allowed is None or 4 * size <= allowed - context.live)

    def _at_once(
        self, context: Context, slots: list[Any], feeds: Sequence[Feed], trip: int | None
    ) -> list[Feed]:
        """Run the steps that can process all iterations at once, on all slices of the inputs.

        `trip` limits the number of slices; None means all. The other steps run afterwards, once per
        iteration. Return the feeds that these steps or the outputs of the body read: sliced inputs,
        and values computed here, which are sliced in the same way.
        """
        for slot, source, _ in feeds:
            slots[slot] = source if trip is None else source[:trip]
        try:
            run(self.program.whole, slots, context)
        except StepError as failure:
            raise failure.inside(self.node, 0) from failure.__cause__
        made = [Feed(slot, slots[slot], "") for step in self.program.whole for slot in step.outs]
        left = {slot for step in self.program.rest for slot in step.ins} | {*self.program.outputs}
        return [feed for feed in (*feeds, *made) if feed.slot in left]

    def _stopped(
        self, context: Context, feeds: Sequence[Feed], count: int, slices: int | None
    ) -> StepError:
        if count == slices:
            feed = min(feeds, key=lambda item: len(item.source))
            return StepError(
                self.node,
                f"more iterations than slices of {feed.name}",
                expected=f"at most {count} iterations",
                found=f"iteration {count} is due",
            )
        return StepError(
            self.node,
            f"the limit of {context.limits.max_iterations} iterations is reached",
            fix="allow more (--max-iterations), or find out why the condition stays true",
            limit=True,
            by_clock=True,
        )

    def _undefined(self, output: int) -> Diagnostic:
        path = node_path(self.node)
        return Diagnostic(
            UNDEFINED,
            Severity.WARNING,
            f"output {output} of {path!r} has no value after zero iterations",
            Location(path=path),
            found="zeros are returned",
            cause="it is the last value of a body result that no back edge carries",
        )


def integer(node: Node, value: Any, what: str) -> int:
    """Convert an array of any rank that holds one integer, such as a trip count, to an int.

    `what` names the value in the error message, for example "the trip count".

    Raises:
        StepError: when there is not exactly one element, or it is not an integer.
    """
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iu":
        found = f"{array.dtype.name}{list(array.shape)}"
        raise StepError(
            node, f"{what} is not a single integer", expected="one integer", found=found
        )
    return int(array.reshape(-1)[0])


def _is_static(type: ValueType) -> bool:
    return isinstance(type, TensorType) and type.shape.is_static
