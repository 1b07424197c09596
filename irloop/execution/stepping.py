"""Steps through the loops of a run from Python, with an iterator over iterations and their values.

The model runs in a separate thread, which waits after each iteration until the caller requests the
next iteration. So only the values of one iteration are kept at a time, and the caller may stop
after any iteration.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from irloop.errors import UsageError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.execution.trace import IterationEvent, TraceEvent
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_nodes, node_path

__all__ = ["Iteration", "iterations"]


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a loop, and the values in its body.

    `loop` is the path of the loop and `index` the number of the iteration. `outer` holds the
    iteration numbers of the enclosing loops, outermost first. `inputs` maps the names of the body's
    parameters to their values: states, slices, captured values, the iteration number. `results`
    maps the names of the body's results to their values.

    `values` maps each node in the body to its output, or to a tuple if it has several. The key is
    the name of the node, such as Mul_4. For a node in a branch, it is the path in the body, such as
    If_2/then/Add_3. Nodes of inner loops are not included; inner loops have their own iterations.
    """

    loop: str
    index: int
    outer: tuple[int, ...]
    inputs: Mapping[str, Any]
    values: Mapping[str, Any]
    results: Mapping[str, Any]


class _Stopped(BaseException):
    """Raised in the thread of the run when the caller wants no further iteration."""


class _Steps:
    """A tracer that passes each iteration to the caller, and waits until it requests the next."""

    def __init__(self, loop: str | None) -> None:
        self.found: SimpleQueue[Iteration | BaseException | None] = SimpleQueue()
        self.goes_on = threading.Semaphore(0)
        self.stopped = False
        self._loop = loop
        #: The values in the bodies that run now, keyed by the iteration numbers of their loops.
        self._values: dict[tuple[int, ...], dict[str, Any]] = {}

    def __call__(self, event: TraceEvent) -> None:
        if event.iterations:
            value = event.outputs[0] if len(event.outputs) == 1 else event.outputs
            self._values.setdefault(event.iterations, {})[event.path] = value

    def iteration(self, event: IterationEvent) -> None:
        values = self._values.pop(event.iterations, {})
        path = node_path(event.loop)
        if self._loop is not None and path != self._loop:
            return
        (body,) = event.loop.bodies
        start = f"{path}/{body.label}/"
        self.found.put(
            Iteration(
                path,
                event.iterations[-1],
                event.iterations[:-1],
                _named(body.graph.parameters, event.parameters),
                {name.removeprefix(start): value for name, value in values.items()},
                _named(body.graph.results, event.results),
            )
        )
        self.goes_on.acquire()
        if self.stopped:
            raise _Stopped


def _named(nodes: Sequence[Node], values: Sequence[Any]) -> dict[str, Any]:
    return {node.name: value for node, value in zip(nodes, values, strict=True)}


def iterations(
    model: Model,
    inputs: Mapping[str, Any] | Sequence[Any],
    loop: str | None,
    limits: Limits | None,
) -> Generator[Iteration, None, None]:
    """Run `model` and yield the iterations of its loops.

    `loop` is the path of the loop whose iterations are yielded; None means all loops.

    Raises:
        UsageError: when there is no such loop. The iterator also raises the errors of a run.
    """
    paths = [node_path(node) for node in all_nodes(model.graph) if node.op.body_labels == ("body",)]
    if loop is not None and loop not in paths:
        raise UsageError(
            f"the model has no loop {loop!r}", expected=", ".join(paths) or "a model with loops"
        )
    session = Session(model, hoist=False)
    return _stepping(session, inputs, _Steps(loop), limits)


def _stepping(
    session: Session, inputs: Any, steps: _Steps, limits: Limits | None
) -> Generator[Iteration, None, None]:
    def work() -> None:
        try:
            session.run(inputs, limits=limits, trace=steps)
        except _Stopped:
            return
        except BaseException as error:
            steps.found.put(error)
            return
        steps.found.put(None)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), daemon=True)
    thread.start()
    try:
        while (iteration := steps.found.get()) is not None:
            if isinstance(iteration, BaseException):
                raise iteration
            yield iteration
            steps.goes_on.release()
    finally:
        steps.stopped = True
        steps.goes_on.release()
        thread.join()
