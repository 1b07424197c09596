"""Runs every pass of the library over every model of a corpus and compares before and after.

    python -m benchmarks.corpus_passes CORPUS [--only real] [--pass unroll] [--no-engines]

Each model that a pass changes is run with every recorded input in irloop's executor, and with the
first input in the engine of its format (ONNX Runtime, OpenVINO). The engine must return the
recorded outputs, unless it failed to do so for the original model ("no engine before"; for
low_latency, after OpenVINO's own LowLatency2), or does not finish ("time-out"). Models whose
outputs contradict their declared ranks are skipped, because passes rely on types. If weights are
rounded to f16, outputs may change by 1 % of their largest number. A pass that reports no change
must not have changed the graph. Prints one line per failure and a table.
A corpus is a folder as `tests/fixtures/loops.tar.xz` holds one (see `benchmarks/cases.py`).
"""

from __future__ import annotations

import argparse
import collections
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import TOLERANCES, CorpusCase, corpus_cases, differences
from benchmarks.corpus_conversion import as_declared, positions
from benchmarks.engines import EngineError, Engines, same_but_empty
from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import TensorType
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from irloop.passes.common import LIBRARY

#: The possible results of a pass over a model, the columns of the table.
COLUMNS = (
    *("models", "changed", "equal here", "equal in engine", "no engine before", "time-out"),
    "wrong",
)

#: Passes that round, and the part of an output's largest number by which they may change it:
#: rounding errors add up over the layers of a network, for small numbers as for large ones.
LOSSY = {"compress_to_fp16": TOLERANCES["float16"][0]}


@dataclass(slots=True)
class Subject:
    """One model, its inputs, and its outputs before any pass."""

    case: CorpusCase
    model: Model
    inputs: list[list[Any]]
    recorded: list[list[Any]]
    here: list[list[Any]]
    #: Whether the engine returns the recorded outputs for the original model; None: unknown.
    right_before: bool | None = None


def subject_of(case: CorpusCase) -> Subject | None:
    """The model with its outputs in irloop's executor; None if it does not run."""
    try:
        model = case.read()
        ins = positions(case, "inputs", model.graph.parameters)
        outs = positions(case, "outputs", model.graph.results)
        inputs, recorded = [], []
        for _, given, expected in case.sets():
            pairs = zip(ins, model.graph.parameters, strict=True)
            inputs.append([as_declared(given[at], node) for at, node in pairs])
            recorded.append([expected[at] for at in outs])
        here = [list(Session(model).run(given).values()) for given in inputs]
        if not all(_fits(value, node) for found in here for value, node in _results(found, model)):
            return None
    except (IrloopError, ValueError, IndexError, KeyError):
        return None
    return Subject(case, model, inputs, recorded, here) if inputs else None


def _results(found: list[Any], model: Model) -> list[tuple[Any, Node]]:
    return list(zip(found, model.graph.results, strict=True))


def _fits(value: Any, node: Node) -> bool:
    """True when an array has the rank that inference proves for this output."""
    result = node.inputs[0]
    rank = (
        None if result is None or not isinstance(result.type, TensorType) else shape_of(result).rank
    )
    return rank is None or np.ndim(value) == rank


def unequal(case: CorpusCase, wanted: Sequence[Any], found: Sequence[Any], name: str) -> str:
    """How two lists of outputs differ by more than pass `name` may cause; empty if they do not."""
    if len(found) < len(wanted):
        return f"{len(found)} outputs, {len(wanted)} before"
    for at, (want, got) in enumerate(zip(wanted, found, strict=False)):
        if same_but_empty(want, got):
            continue
        limits = _rounded(want, LOSSY[name]) if name in LOSSY else None
        why = differences([want], [got], factor=case.factor, limits=limits)
        if why:
            return f"output {at}: {why}"
    return ""


def _rounded(want: Any, part: float) -> tuple[float, float] | None:
    """The tolerances of an output that rounding changes; None for other outputs than numbers."""
    array = np.asarray(want)
    if array.dtype.kind != "f" or not array.size:
        return None
    return 0.0, part * float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def run_engine(
    model: Model, given: list[Any], engines: Engines, folder: Path, variant: str = ""
) -> list[Any]:
    """The outputs of a model in the engine of its format (or a variant of it).

    Raises:
        EngineError: when the engine does not run it.
    """
    onnx = model.dialect == "onnx"
    path = folder / ("model.onnx" if onnx else "model.xml")
    (onnx_writer if onnx else ir_writer).write(model, path)
    return engines.run(
        f"onnxruntime{variant}" if onnx else f"openvino{variant}", path, given, folder
    )


def shape_of_graph(model: Model) -> list[tuple[str, str, int]]:
    """The parts of a graph that an idle pass must not change: nodes, names, numbers of inputs."""
    return [(repr(node.op), node.name, len(node.inputs)) for node in all_nodes(model.graph)]


def judge(subject: Subject, name: str, engines: Engines | None, folder: Path) -> tuple[str, str]:
    """The column of this pass over this model, and the reason for a failure."""
    case, model = subject.case, subject.case.read()
    before = shape_of_graph(model)
    try:
        modified = Manager([LIBRARY[name]()], check=True).run_passes(model)
    except Exception as error:  # a failing pass is a bug, counted as one
        return "wrong", f"{type(error).__name__}: {error}"
    if not modified:
        same = shape_of_graph(model) == before
        return ("unchanged", "") if same else ("wrong", "changed, and says that it did not")
    if len(model.graph.parameters) != len(subject.model.graph.parameters):
        return "other inputs", ""
    for number, (given, wanted) in enumerate(zip(subject.inputs, subject.here, strict=True)):
        try:
            found = list(Session(model).run(given).values())
        except IrloopError as error:
            return "wrong", f"set {number} in the executor: {error}"
        why = unequal(case, wanted, found, name)
        if why:
            return "wrong", f"set {number} in the executor: {why}"
    if engines is None:
        return "equal here", ""
    return _judge_by_engine(subject, model, name, engines, folder)


def _judge_by_engine(
    subject: Subject, model: Model, name: str, engines: Engines, folder: Path
) -> tuple[str, str]:
    given = subject.inputs[0]
    declared = zip(subject.recorded[0], model.graph.results, strict=False)
    recorded = [as_declared(value, node) for value, node in declared]
    try:
        found = run_engine(model, given, engines, folder)
        why = unequal(subject.case, recorded, found, name)
    except (EngineError, IrloopError) as error:
        why = str(error)
    if not why:
        return "equal in engine", ""
    if subject.right_before is None:
        before = (subject.case.read(), given, engines, folder)
        subject.right_before = _is_right(subject, recorded, *before)
    if why == "time-out" and subject.right_before:
        return "time-out", why
    if name == "low_latency" and subject.right_before:
        before = (subject.case.read(), given, engines, folder)
        if not _is_right(subject, recorded, *before, "-low-latency"):
            return "no engine before", ""
    return ("wrong", f"in the engine: {why}") if subject.right_before else ("no engine before", "")


def _is_right(subject: Subject, recorded: list[Any], *job: Any) -> bool:
    """True when the engine returns the recorded outputs for the original model."""
    try:
        found = run_engine(*job)
    except (EngineError, IrloopError):
        return False
    return not unequal(subject.case, recorded, found, "")


def applies(name: str, model: Model) -> bool:
    """True when the pass is one for models of this dialect."""
    return model.dialect in LIBRARY[name].dialects


def table(tallies: dict[str, collections.Counter[str]]) -> str:
    """The counts, one line per pass."""
    width = max(len(name) for name in tallies)
    lines = [f"{'pass':<{width}}  " + "  ".join(COLUMNS)]
    for name, tally in tallies.items():
        models = tally.total()
        changed = models - tally["unchanged"]
        here = tally["equal here"] + sum(tally[column] for column in COLUMNS[3:-1])
        numbers = (models, changed, here, *(tally[column] for column in COLUMNS[3:]))
        cells = [
            f"{number:>{len(column)}}" for number, column in zip(numbers, COLUMNS, strict=True)
        ]
        lines.append(f"{name:<{width}}  " + "  ".join(cells))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", action="append", default=[], help="family or family/case prefix")
    parser.add_argument("--pass", dest="passes", action="append", choices=sorted(LIBRARY))
    parser.add_argument("--no-engines", action="store_true", help="irloop's executor only")
    options = parser.parse_args()
    names = options.passes or sorted(LIBRARY)
    engines = None if options.no_engines else Engines()
    tallies: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in names}
    started = time.perf_counter()
    for case in corpus_cases(options.corpus, options.only):
        family = case.folder.parent.name
        if "negative" in family or "unreadable" in family:
            continue
        subject = subject_of(case)
        if subject is None:
            continue
        for name in names:
            if not applies(name, subject.model):
                continue
            with tempfile.TemporaryDirectory() as folder:
                verdict, why = judge(subject, name, engines, Path(folder))
            tallies[name][verdict] += 1
            if why:
                print(f"{name} {case.name}: {why[:300]}", flush=True)
        # Models map their weights; the files stay open until their reference cycles are collected.
        gc.collect()
    print(table(tallies))
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if any(tally["wrong"] for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
