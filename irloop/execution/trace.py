"""Traces a run: every node, in every iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TextIO, runtime_checkable

import numpy as np

from irloop.diagnostics import one_line
from irloop.graph.model import Node
from irloop.graph.walk import node_path

__all__ = ["IterationEvent", "LoopTracer", "TextTracer", "TraceEvent", "Tracer"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """The event that a node ran.

    `iterations` holds the iteration of each enclosing loop, outermost first. Values are arrays,
    lists of arrays (sequences) or None (an omitted input).
    """

    node: Node
    iterations: tuple[int, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @property
    def path(self) -> str:
        """The path of the node through bodies, as in ``Loop_7/body/Mul_4``."""
        return node_path(self.node)


Tracer = Callable[[TraceEvent], None]


@dataclass(frozen=True, slots=True)
class IterationEvent:
    """The event after one run of the body of `loop`.

    `iterations` holds the iteration of each enclosing loop, outermost first, and then that of
    `loop`. `parameters` and `results` are the values of the body's parameters and results, in
    order.
    """

    loop: Node
    iterations: tuple[int, ...]
    parameters: tuple[Any, ...]
    results: tuple[Any, ...]


@runtime_checkable
class LoopTracer(Protocol):
    """A tracer that is also called after each iteration of a body."""

    def __call__(self, event: TraceEvent, /) -> None:
        """Receive the event of a node; the executor calls this after each node."""

    def iteration(self, event: IterationEvent, /) -> None:
        """Receive the event of one iteration; the executor calls this after each run of a body."""


class TextTracer:
    """Writes one line for each output: path, iteration, type, shape, range, NaN.

    A NaN is marked as new if no input of its node had one.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: TraceEvent) -> None:
        place = event.path
        if event.iterations:
            place += "[" + ",".join(map(str, event.iterations)) + "]"
        # A node with bodies is never marked: its NaN comes from a node inside a body, and the inner
        # node is marked instead.
        clean = not event.node.bodies and not any(map(_has_nan, event.inputs))
        for index, value in enumerate(event.outputs):
            port = f".{index}" if len(event.outputs) > 1 else ""
            line = f"{place}{port} {event.node.op.label} {describe(value, clean=clean)}"
            self._stream.write(f"{one_line(line)}\n")


def describe(value: Any, *, clean: bool = True) -> str:
    """Describe a value in one line: its type, shape and range.

    If the value contains NaN, the line also contains their number. With `clean`, it adds "first
    here": the NaN are new, because no input of the node has any.
    """
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"sequence of {len(value)}"
    array = np.asarray(value)
    text = f"{array.dtype.name}{list(array.shape)}"
    if array.size == 0 or array.dtype.kind in "OSU":
        return text
    if array.dtype.kind in "bc":
        return f"{text} first {array.reshape(-1)[0]}"
    numbers = array if array.dtype.kind in "iuf" else array.astype(np.float32)
    nans = int(np.isnan(numbers).sum()) if numbers.dtype.kind == "f" else 0
    known = numbers[~np.isnan(numbers)] if nans else numbers
    if known.size:
        text += f" min {known.min()} max {known.max()}"
    if nans:
        text += f" NaN {nans} of {numbers.size}" + (", first here" if clean else "")
    return text


def _has_nan(value: Any) -> bool:
    if isinstance(value, list):
        return any(_has_nan(item) for item in value)
    if value is None:
        return False
    array = np.asarray(value)
    if array.dtype.kind in "biuOSU":
        return False
    return bool(np.isnan(array.astype(np.complex64 if array.dtype.kind == "c" else float)).any())
