"""Measures the time that each node of a run takes, in every iteration of its loops."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from irloop.diagnostics import one_line
from irloop.graph.model import Node
from irloop.graph.walk import node_path

__all__ = ["RunProfile", "Timing"]

#: At most this many calls are traced, because viewers cannot load more. The tables include every
#: call.
MOST_EVENTS = 200_000


@dataclass(slots=True)
class Timing:
    """The time of a node or of all nodes of an operation, in seconds.

    `own` is the time without the nodes in the bodies of a loop or branch; `total` includes them.
    """

    name: str
    operation: str
    calls: int = 0
    own: float = 0.0
    total: float = 0.0


@dataclass(slots=True)
class RunProfile:
    """Collects the times of runs: ``run(model, inputs, profile=profile)``.

    Some steps are computed once for all iterations, because they depend only on slices or on values
    that never change; such a step counts as one call. If an activation is computed together with
    the convolution before it, the convolution's time includes both. Every iteration is measured,
    which makes loops of small operations slower than without a profile.
    """

    _nodes: dict[Node, Timing] = field(default_factory=dict)
    _events: list[tuple[Node, tuple[int, ...], float, float]] = field(default_factory=list)
    _inside: list[float] = field(default_factory=lambda: [0.0])

    def call(
        self, node: Node, iterations: Sequence[int], function: Callable[..., Any], values: Any
    ) -> Any:
        """Return ``function(*values)``, and record its time for `node`."""
        self._inside.append(0.0)
        start = time.perf_counter()
        try:
            return function(*values)
        finally:
            seconds = time.perf_counter() - start
            inner = self._inside.pop()
            self._inside[-1] += seconds
            timing = self._nodes.get(node)
            if timing is None:
                timing = self._nodes[node] = Timing(node_path(node), node.op.label)
            timing.calls += 1
            timing.total += seconds
            timing.own += seconds - inner
            if len(self._events) < MOST_EVENTS:
                self._events.append((node, tuple(iterations), start, seconds))

    def nodes(self) -> list[Timing]:
        """The times of all nodes, the longest own time first."""
        return sorted(self._nodes.values(), key=lambda item: -item.own)

    def operations(self) -> list[Timing]:
        """Return the times of each type of operation, the longest own time first.

        Here `total` equals `own`: the time that a loop spends in its body is counted for the types
        of the operations in the body.
        """
        by_type: dict[str, Timing] = {}
        for node in self._nodes.values():
            timing = by_type.setdefault(node.operation, Timing(node.operation, node.operation))
            timing.calls += node.calls
            timing.own += node.own
            timing.total += node.own
        return sorted(by_type.values(), key=lambda item: -item.own)

    def table(self, rows: int = 20) -> str:
        """Two tables as text: by operation and by node, with at most `rows` lines each."""
        whole = sum(item.own for item in self._nodes.values()) or 1.0
        lines = _lines("operation", self.operations(), rows, whole)
        return "\n".join([*lines, "", *_lines("node", self.nodes(), rows, whole)])

    def chrome_trace(self) -> str:
        """The calls as JSON in the format that chrome://tracing and Perfetto show."""
        first = min((start for _, _, start, _ in self._events), default=0.0)
        events = [
            {
                "name": one_line(node_path(node)),
                "cat": node.op.label,
                "ph": "X",
                "ts": round((start - first) * 1e6, 3),
                "dur": round(seconds * 1e6, 3),
                "pid": 1,
                "tid": 1,
                "args": {"iterations": list(iterations)},
            }
            for node, iterations, start, seconds in self._events
        ]
        calls = sum(item.calls for item in self._nodes.values())
        left = {"calls": calls, "calls_left_out": calls - len(events)}
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": left})


def _lines(title: str, timings: Sequence[Timing], rows: int, seconds: float) -> list[str]:
    lines = [f"{'own ms':>10} {'share':>6} {'total ms':>10} {'calls':>8}  {title}"]
    for timing in timings[:rows]:
        name, type = timing.name, timing.operation
        shown = name if name == type else f"{name} ({type})"
        lines.append(
            f"{timing.own * 1e3:10.3f} {timing.own / seconds:6.1%} {timing.total * 1e3:10.3f} "
            f"{timing.calls:8}  {one_line(shown)}"
        )
    rest = timings[rows:]
    if rest:
        own = sum(item.own for item in rest)
        calls = sum(item.calls for item in rest)
        lines.append(f"{own * 1e3:10.3f} {own / seconds:6.1%} {'':>10} {calls:8}  {len(rest)} more")
    return lines
