"""Runs conformance cases on an engine, each in a separate process, and checks the outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from irloop.engines.answer import Answer, Failure
from irloop.engines.catalogue import Engine
from irloop.engines.process import Process
from irloop.engines.watch import MEMORY
from irloop.faults.case import Case, Empty, Run
from irloop.files import scratch
from irloop.formats.onnx.text import from_text
from irloop.formats.openvino.writer import write as write_ir
from irloop.graph.model import Graph, Model, Value
from irloop.graph.types import ElementType, TensorType, ValueType

__all__ = ["Outcome", "Verdict", "arrays_of", "judge", "run_cases", "write_case"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The largest relative error of a float, by the size of an element in bytes. Cases use few
#: additions and products of small numbers, and exponentials of type f32.
NEARNESS = {1: 0.0, 2: 1e-2, 4: 1e-5, 8: 1e-12}


class Verdict(Enum):
    """The result of a case; its value is the heading of its column in the table."""

    RIGHT = "right"
    WRONG = "wrong"
    REFUSED = "refused"
    CRASHED = "crashed"
    HUNG = "hung"


_FAILURES = {
    Failure.REFUSED: Verdict.REFUSED,
    Failure.RAISED: Verdict.REFUSED,
    Failure.CRASHED: Verdict.CRASHED,
    Failure.HUNG: Verdict.HUNG,
    Failure.OUTGREW: Verdict.CRASHED,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one case on one engine; `detail` describes what was wrong."""

    case: Case
    verdict: Verdict
    detail: str = ""


def run_cases(
    engine: Engine,
    cases: Sequence[Case],
    *,
    seconds: float = 30.0,
    memory: int | None = MEMORY,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Run cases on an engine; a crash or hang of the engine affects only one case.

    Args:
        engine: the engine, which must read the format of every case.
        cases: what to run, in this order.
        seconds: the limit of each inference, and of loading a model.
        memory: the memory limit of the engine's process in bytes; None means no limit.
        jobs: the number of processes that run at a time.
        progress: called with the number of finished cases and the number of all cases.
    """
    outcomes: list[Outcome] = []
    with (
        scratch() as folder,
        ThreadPoolExecutor(max_workers=jobs) as pool,
    ):
        work = (
            pool.submit(_run_case, engine, case, Path(folder), seconds, memory) for case in cases
        )
        for job in list(work):
            outcomes.append(job.result())
            if progress is not None:
                progress(len(outcomes), len(cases))
    return outcomes


def _run_case(
    engine: Engine, case: Case, folder: Path, seconds: float, memory: int | None
) -> Outcome:
    model, path = write_case(case, folder)
    with Process(engine, path, memory=memory) as process:
        for number, inference in enumerate(case.runs):
            feeds = arrays_of(inference.inputs, model.graph.inputs)
            answer = process.run(feeds, seconds=seconds)
            refused = answer.failure in (Failure.REFUSED, Failure.RAISED)
            if refused and case.may_be_refused:
                return Outcome(case, Verdict.RIGHT, _where(case, number, answer.words))
            if answer.failure is not None:
                return Outcome(case, _FAILURES[answer.failure], _where(case, number, answer.words))
            wrong = judge(answer, inference, model.graph)
            if wrong:
                return Outcome(case, Verdict.WRONG, _where(case, number, wrong))
    return Outcome(case, Verdict.RIGHT)


def write_case(case: Case, folder: Path, name: str = "") -> tuple[Model, Path]:
    """Write the model of a case into a folder; returns the model and its path.

    The file has the name of the case unless `name` is given.
    """
    name = name or case.name
    if isinstance(case.model, str):
        return from_text(case.model, folder / f"{name}.onnx")
    model = case.model()
    return model, write_ir(model, folder / f"{name}.xml", version=model.version)[0]


def _where(case: Case, number: int, text: str) -> str:
    return text if len(case.runs) == 1 else f"inference {number + 1} of {len(case.runs)}: {text}"


def arrays_of(values: Iterable[Any], declared: Iterable[Value]) -> list[Array]:
    """Convert the values of a case to arrays of the declared types."""
    return [_array(value, item.type) for value, item in zip(values, declared, strict=True)]


def _array(value: Any, type: ValueType) -> Array:
    assert isinstance(type, TensorType)
    dtype = type.element.numpy()
    if isinstance(value, Empty):
        return np.zeros(value.shape, dtype)
    return np.array(value, dtype)


def judge(answer: Answer, wanted: Run, graph: Graph) -> str:
    """The error in the outputs of one inference; empty if they are right."""
    outputs = answer.outputs or []
    if len(outputs) != len(wanted.outputs):
        return f"{len(outputs)} outputs, expected {len(wanted.outputs)}"
    for output, value, declared in zip(outputs, wanted.outputs, graph.outputs, strict=True):
        if value is None:
            continue
        assert isinstance(declared.type, TensorType)
        expected = _array(value, declared.type)
        wrong = _difference(np.asarray(output), expected, declared.type.element)
        if wrong:
            return f"output {declared.name!r} {wrong}"
    return ""


def _difference(computed: Array, expected: Array, element: ElementType) -> str:
    if element is ElementType.STRING:
        same = computed.shape == expected.shape and [str(item) for item in computed.ravel()] == [
            str(item) for item in expected.ravel()
        ]
        return "" if same else f"is {computed.tolist()}, expected {expected.tolist()}"
    if computed.dtype != expected.dtype:
        return f"has element type {computed.dtype}, expected {expected.dtype}"
    if computed.shape != expected.shape:
        return f"has shape {list(computed.shape)}, expected {list(expected.shape)}"
    if element.is_float:
        exact = expected.astype(np.float64)
        near = NEARNESS[expected.dtype.itemsize] * np.maximum(np.abs(exact), 1.0)
        with np.errstate(invalid="ignore"):
            # Memory that an engine did not write may hold NaN, which is not close to any number.
            same = bool(np.all(np.abs(computed.astype(np.float64) - exact) <= near))
    else:
        same = np.array_equal(computed, expected)
    return "" if same else f"is {computed.tolist()}, expected {expected.tolist()}"
