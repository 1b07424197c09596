"""What every harness does with an input: all that users do; nothing but `IrloopError` may leave.

Inputs run in this process with a budget, so that sizes that a file only claims are refused. What
gets past it runs into the limits that libFuzzer has.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import irloop
from irloop.budget import Budget

__all__ = ["BUDGET", "attempt", "everything", "folder"]

#: One input: memory of a step, seconds, steps.
BUDGET = {"memory": 256 << 20, "seconds": 5.0, "operations": 100_000}

folder = Path(tempfile.mkdtemp(prefix="fuzz-of-irloop-"))


def attempt(step: Callable[[], object]) -> None:
    """Take one step; irloop's own exceptions are answers, all but those that mean a bug."""
    with Budget(**BUDGET).entered():
        try:
            step()
        except (irloop.InternalError, irloop.VerifyError):
            raise
        except irloop.IrloopError:
            return


def everything(path: Path) -> None:
    """Read, validate, infer, draw, run, convert and save a model."""
    for step in (
        lambda: irloop.validate(path),
        lambda: irloop.draw(path, "svg", limit=50),
        lambda: irloop.run(path, irloop.random_inputs(path), limits=_limits()),
        lambda: _converted(path),
        lambda: _saved(path),
    ):
        attempt(step)
    for file in folder.glob("out.*"):
        with suppress(OSError):
            file.unlink()


def _limits() -> irloop.Limits:
    return irloop.Limits(max_iterations=100, max_memory=BUDGET["memory"], max_seconds=5.0)


def _converted(path: Path) -> None:
    model, _ = irloop.convert(path)
    irloop.save_model(model, folder / ("out.onnx" if model.dialect == "onnx" else "out.xml"))


def _saved(path: Path) -> None:
    irloop.save_model(irloop.read_model(path), folder / f"out{path.suffix}")
