"""Lanes: each lane runs one of the two compared models in one engine, in a process of its own."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from irloop import budget
from irloop.comparison.inputs import Trial
from irloop.comparison.runs import Run, run_outside, written
from irloop.engines.catalogue import ENGINES, Engine, engine_of, require
from irloop.engines.process import Process, size_of_files
from irloop.engines.watch import MEMORY
from irloop.errors import IrloopError, UsageError
from irloop.files import scratch
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.record import Record
from irloop.graph.walk import all_nodes

__all__ = ["AUTO", "NUMPY", "Engines", "Lane", "Lanes", "Side", "lanes_of"]

AUTO = "auto"
NUMPY = ENGINES["numpy"]

#: The values that `compare` accepts for engines: "auto", names joined by commas, or a list of
#: names.
Engines = str | Sequence[str]


class Lane(Record):
    """One of the two models (`side` 0 or 1) in one engine."""

    side: int
    engine: Engine

    @property
    def model(self) -> str:
        """The name of the model in a report."""
        return ("first", "second")[self.side]


class Side(Record):
    """One of the two models, and its file; `file` is None if the model is in memory only."""

    model: Model
    file: str | None


def lanes_of(
    engines: Engines, pair: tuple[str | None, str | None], dialects: tuple[str, str]
) -> tuple[list[Lane], list[Engine]]:
    """Return the lanes of a comparison, and the usual engines that are not installed.

    A lane is one of the two models, run by one engine.

    Args:
        engines: names of engines, or "auto" for the usual installed ones. An engine runs those
            of the two models that are in a format for which it was made.
        pair: instead of `engines`, an engine for the first model and one for the second.
        dialects: the dialects of the two models.

    Raises:
        UsageError: for an engine that is unknown, not installed, or made for neither dialect.
    """
    if any(pair):
        if engines != AUTO:
            raise UsageError(
                "engines are given both as a list and for a single model",
                fix="give either engines, or engine_a and engine_b",
            )
        chosen = [engine_of(name or "numpy") for name in pair]
        for engine, dialect in zip(chosen, dialects, strict=True):
            require(engine, dialect)
        return [Lane(side, engine) for side, engine in enumerate(chosen)], []
    if engines == AUTO:
        usual = [item for item in ENGINES.values() if item.usual and item.own & {*dialects}]
        missing = [item for item in usual if not item.installed and not item.variable]
        return _own_lanes([item for item in usual if item.installed], dialects), missing
    names = engines.split(",") if isinstance(engines, str) else engines
    asked = list(dict.fromkeys(engine_of(name.strip()) for name in names))
    if not asked:
        raise UsageError("no engine is named", expected=f"{AUTO}, or {', '.join(ENGINES)}")
    for engine in asked:
        if not engine.own & {*dialects}:
            raise UsageError(
                f"{engine.name} was made for neither model",
                expected=f"a model of {' or '.join(sorted(engine.own))}",
                found=" and ".join(dict.fromkeys(dialects)),
            )
        require(engine, next(dialect for dialect in dialects if dialect in engine.own))
    return _own_lanes(asked, dialects), []


def _own_lanes(engines: Sequence[Engine], dialects: tuple[str, str]) -> list[Lane]:
    return [
        Lane(side, engine)
        for engine in engines
        for side, dialect in enumerate(dialects)
        if dialect in engine.own
    ]


def _weights_of(model: Model) -> int:
    """The bytes of all constants of a model."""
    ops = (node.op for node in all_nodes(model.graph))
    return sum(op.tensor.nbytes for op in ops if isinstance(op, Constant))


class Lanes:
    """Runs the lanes of a comparison, each in a process of its own.

    A lane is one of the two models in one engine. Lanes whose engine is irloop's own executor get
    no process here. The processes start when the object is created, and end with the `with` block.
    """

    def __init__(self, lanes: Sequence[Lane], memory: int | None = MEMORY) -> None:
        self._memory = memory
        self._scratch = ExitStack()
        self._folder = self._scratch.enter_context(scratch())
        self._files: dict[int, Path | IrloopError] = {}
        self._size: float = math.inf
        self._processes = {
            lane: self.process(lane.engine) for lane in lanes if lane.engine != NUMPY
        }
        self._pool = ThreadPoolExecutor(max(1, len(self._processes)))

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.close()
        self._pool.shutdown()
        self._scratch.close()

    def process(
        self,
        engine: Engine,
        file: str | os.PathLike[str] | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a further process of an engine.

        It has the memory limit that the processes of the lanes have.
        """
        return Process(engine, file, options=options, memory=self._memory)

    def load(self, number: int, side: Side) -> None:
        """Start to load model `number` (0 or 1) in its processes, without waiting for them.

        A larger model gets more time, but model 1 gets no more time than model 0, because
        conversion may make a very large model from a small one.
        """
        loading = [item for lane, item in self._processes.items() if lane.side == number]
        path = self.file(number, side) if loading else side.file
        if path is None or isinstance(path, IrloopError):
            return
        self._size = min(self._size, max(size_of_files(path), _weights_of(side.model)))
        for process in loading:
            process.load(path, self._size)

    def file(self, number: int, side: Side) -> Path | IrloopError:
        """The file of a model; a model that is only in memory is first written to a file.

        `number` is 0 for the first of the two models and 1 for the second. If the file cannot be
        written, the error is returned.
        """
        if side.file is not None:
            return Path(side.file)
        if number not in self._files:
            folder = Path(self._folder, str(number))
            folder.mkdir()
            try:
                self._files[number] = written(side.model, folder)
            except IrloopError as error:
                self._files[number] = error
        return self._files[number]

    def start(
        self, number: int, trials: Sequence[Trial], seconds: float
    ) -> dict[Lane, Future[list[Run]]]:
        """Start the trials of model `number` (0 or 1) in the process of each of its lanes.

        Returns the futures of the runs, keyed by lane; the processes work at the same time.
        `seconds` is the time limit of each trial. All trials of a process together must finish in
        the time that is left in the budget of the calling thread (see `irloop.budget`).
        """
        end = time.monotonic() + budget.current().seconds_left()
        return {
            lane: self._pool.submit(self._run, lane, process, trials, seconds, end)
            for lane, process in self._processes.items()
            if lane.side == number
        }

    def _run(
        self, lane: Lane, process: Process, trials: Sequence[Trial], seconds: float, end: float
    ) -> list[Run]:
        refused = self._files.get(lane.side)
        if isinstance(refused, IrloopError):
            reason = f"the model cannot be written for {lane.engine}: {refused.message}"
            return [Run(reason=reason) for _ in trials]
        return run_outside(process, trials, seconds, end)
