"""``irloop reduce``: the small models to which two different models are reduced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import irloop as api

Irloop = Callable[..., Result]


@pytest.fixture
def reversed_model(recurrent: Path, tmp_path: Path) -> Path:
    """The recurrent model with its steps in reverse order."""
    path = tmp_path / "reversed.xml"
    text = recurrent.read_text(encoding="utf-8")
    whole = 'axis="1" start="0" end="-1" stride="1"'
    path.write_text(text.replace(whole, 'axis="1" start="-1" end="0" stride="-1"', 1), "utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    return path


def test_a_pair_that_differs_is_written_small(
    irloop: Irloop, recurrent: Path, reversed_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "small"
    result = irloop("reduce", recurrent, reversed_model, "-o", folder, "--format", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert not report["reduced"]["comparison"]["equal"]
    names = sorted(path.name for path in folder.iterdir())
    assert {"first.xml", "second.xml", "inputs_first.npz", "inputs_second.npz"} <= set(names)
    again = api.compare(
        folder / "first.xml",
        folder / "second.xml",
        inputs=api.read_arrays(folder / "inputs_first.npz"),
    )
    assert not again.equal


def test_equal_models_cannot_be_reduced(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    result = irloop("reduce", recurrent, recurrent, "-o", tmp_path / "small")
    assert result.exit_code == 2
    assert not (tmp_path / "small").exists()
