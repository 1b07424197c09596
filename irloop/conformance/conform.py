"""Runs selected cases on an engine and counts the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from irloop.conformance.catalogue import CASES
from irloop.conformance.programs.as_ir import as_ir
from irloop.conformance.programs.as_onnx import as_onnx
from irloop.conformance.programs.draw import draw
from irloop.conformance.suite import run_cases
from irloop.conformance.table import Conformance
from irloop.engines.catalogue import engine_of
from irloop.engines.watch import MEMORY
from irloop.errors import UsageError
from irloop.faults.case import Case, Run, empty

__all__ = ["conform", "program_cases"]

_FEATURES = {"onnx": "Generated programs: ONNX", "openvino": "Generated programs: IR"}

#: The formats of cases, in the order of the table.
FORMATS = ("onnx", "openvino")


def conform(
    engine: str,
    *,
    features: Sequence[str] = (),
    names: Sequence[str] = (),
    programs: int = 0,
    seed: int = 0,
    seconds: float = 30.0,
    max_memory: int | None = MEMORY,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Conformance:
    """Run the cases that an engine can read; see `irloop.conform`."""
    chosen = engine_of(engine)
    if not chosen.installed:
        fix = f"pip install {chosen.package}"
        raise UsageError(f"the engine {engine!r} is not installed", fix=fix)
    if programs < 0:
        raise UsageError(f"the number of programs is negative: {programs}")
    cases = [case for case in CASES if case.format in chosen.dialects]
    for form in FORMATS:
        if form in chosen.dialects:
            cases += program_cases(programs, seed, form)
    cases = _selected_cases(cases, features, names)
    outcomes = run_cases(
        chosen, cases, seconds=seconds, memory=max_memory, jobs=jobs, progress=progress
    )
    return Conformance(chosen, tuple(outcomes))


def _selected_cases(cases: list[Case], features: Sequence[str], names: Sequence[str]) -> list[Case]:
    known = {case.name for case in cases}
    for name in names:
        if name not in known:
            raise UsageError(
                f"no case is called {name!r}",
                expected="a name that the report of all cases lists, in a format the engine reads",
            )
    texts = [text.casefold() for text in features]
    wanted = [
        case
        for case in cases
        if (case.name in names if names else not case.on_demand)
        and (not texts or any(text in case.feature.casefold() for text in texts))
    ]
    if not wanted:
        raise UsageError("no case fits", fix="leave out --feature or --case")
    return wanted


def program_cases(count: int, seed: int, format: str) -> Iterator[Case]:
    """Yield a case for each generated program, with seeds from `seed` to `seed + count - 1`.

    `format` is onnx or openvino: the format of the models.
    """
    for number in range(seed, seed + count):
        program = draw(number)
        runs = tuple(
            Run(
                tuple(
                    feed[name] for name in (*program.vectors, *program.counts, *program.matrices)
                ),
                tuple(value.tolist() if value.size else empty(*value.shape) for value in outputs),
            )
            for feed, outputs in zip(program.feeds, program.expected(), strict=True)
        )
        yield Case(
            f"program_{number}",
            _FEATURES[format],
            "the statements of the program, computed in NumPy",
            "Outputs are those of the program of this seed.",
            as_onnx(program) if format == "onnx" else partial(as_ir, program),
            runs,
        )
