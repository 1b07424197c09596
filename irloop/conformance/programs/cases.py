"""Random programs as cases of the suite."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from irloop.conformance.programs.as_ir import as_ir
from irloop.conformance.programs.as_onnx import as_onnx
from irloop.conformance.programs.draw import draw
from irloop.faults.case import Case, Run, empty

__all__ = ["program_cases"]

_FEATURES = {"onnx": "Generated programs: ONNX", "openvino": "Generated programs: IR"}


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
