"""What a model computes lies within the bounds that are derived of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.loop_programs import ir_programs, onnx_programs
from irloop.analysis.ranges import bounds_of, certainly_runs
from irloop.dialects.openvino.control_flow import Loop
from irloop.execution.trace import IterationEvent, TraceEvent
from irloop.formats.onnx.reader import from_proto
from irloop.graph.model import Model, Node, Value

#: Beyond this, counts are taken to be smaller than they are.
SMALL = 2**24


class Observer:
    """Compares every integer of a run with its bounds."""

    def __init__(self) -> None:
        self.outside: list[str] = []
        self.ran: set[tuple[Node, tuple[int, ...]]] = set()

    def __call__(self, event: TraceEvent) -> None:
        for value, array in zip(event.node.outputs, event.outputs, strict=False):
            self.compare(value, array)
        node = event.node
        idle = isinstance(node.op, Loop) and (node, event.iterations) not in self.ran
        if idle and certainly_runs(node.inputs[0], node.inputs[1]):
            self.outside.append(f"{node.name} does not run")
        self.ran.discard((node, event.iterations))

    def iteration(self, event: IterationEvent) -> None:
        self.ran.add((event.loop, event.iterations[:-1]))
        graph = event.loop.body().graph
        for value, array in zip(graph.inputs, event.parameters, strict=True):
            self.compare(value, array)

    def compare(self, value: Value, array: Any) -> None:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iub" or not array.size:
            return
        low, high, counts = bounds_of(value)
        least, most = int(array.min()), int(array.max())
        if low <= least and most <= high:
            return
        if not counts or min(abs(least), abs(most)) < SMALL:
            self.outside.append(f"{value.name}: {least}..{most} is outside {low}..{high}")


def outside(model: Model, sets: Sequence[Sequence[Any]]) -> list[str]:
    observer = Observer()
    for arrays in sets:
        irloop.Session(model, hoist=False).run(list(arrays), trace=observer)
    return observer.outside


@pytest.mark.parametrize("seed", range(40))
def test_programs_compute_numbers_within_their_bounds(seed: int) -> None:
    drawn: Any = ir_programs.draw(seed) if seed % 2 else onnx_programs.draw(seed)
    model = drawn.model if seed % 2 else from_proto(drawn.proto)
    assert outside(model, drawn.sets) == []
    # What cannot be converted says so by name.
    with suppress(irloop.UnsupportedError):
        there, _ = irloop.convert(model)
        assert outside(there, drawn.sets) == []
