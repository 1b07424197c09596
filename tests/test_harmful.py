"""What once did harm is read, validated, run and converted, or refused by irloop's own errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import irloop
from irloop.budget import Budget
from tests.archives import unpacked

HARMFUL = unpacked("harmful")
MODELS = sorted(path for path in HARMFUL.rglob("*") if path.suffix in (".xml", ".onnx"))
ARRAYS = sorted(path for path in HARMFUL.rglob("*") if path.suffix in (".npy", ".npz"))


def attempt(step: Callable[[], object]) -> None:
    """Run one step within limits; irloop may refuse it, but not by an error that tells of a bug."""
    bug = None
    with Budget(256 << 20, 30.0, 100_000).entered(), suppress(irloop.IrloopError):
        try:
            step()
        except (irloop.InternalError, irloop.VerifyError) as error:
            bug = error
    assert bug is None


@pytest.mark.parametrize("path", MODELS, ids=lambda path: str(path.relative_to(HARMFUL)))
def test_models(path: Path) -> None:
    attempt(lambda: irloop.validate(path))
    with suppress(irloop.ReadError):
        model = irloop.read_model(path)
        attempt(lambda: irloop.convert(model))
        attempt(lambda: irloop.Session(model).run(irloop.random_inputs(model)))


@pytest.mark.parametrize("path", ARRAYS, ids=lambda path: str(path.relative_to(HARMFUL)))
def test_arrays(path: Path) -> None:
    attempt(lambda: irloop.read_arrays(path))
