"""What the trials of a comparison did not reach."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.comparison.engines import Run
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_nodes, node_path

__all__ = ["not_exercised"]


def not_exercised(model: Model, runs: Sequence[Run]) -> list[str]:
    """Branches never taken, and loops that never ran zero, one or many times.

    `runs` are those of the NumPy engine, which alone tells what it did.
    """
    nodes = [node for node in all_nodes(model.graph) if node.bodies]
    if nodes and not any(run.outputs is not None for run in runs):
        return ["loops and branches: irloop's own executor could not run the model"]
    return [item for node in nodes for item in _missed(node, runs)]


def _missed(node: Node, runs: Sequence[Run]) -> list[str]:
    path = node_path(node)
    if node.op.type == "If":
        taken = {label for run in runs for label in run.branches.get(node, ())}
        return [f"branch {label} of {path}" for label in ("then", "else") if label not in taken]
    counts = {count for run in runs for count in run.counts.get(node, ())}
    if not counts:
        return [f"loop {path}: never reached"]
    if node.op.type in ("TensorIterator", "Scan"):
        return []
    missed = [
        word
        for count, word in ((0, "zero iterations"), (1, "one iteration"))
        if count not in counts
    ]
    if max(counts) < 2:
        missed.append("more than one iteration")
    return [f"loop {path}: {', '.join(missed)} (ran {_listed(counts)} times)"] if missed else []


def _listed(counts: set[int]) -> str:
    shown = [str(count) for count in sorted(counts)]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:5], "...", shown[-1]])
