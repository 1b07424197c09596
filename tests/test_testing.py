"""The assertion for tests of other projects: when it passes and fails, and its message."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.testing import assert_equivalent

SOURCE = Path(__file__).resolve().parent / "fixtures" / "models" / "recurrent" / "model.xml"


def edited(folder: Path, old: str, new: str) -> Path:
    """The recurrent model after an edit of its text."""
    text = SOURCE.read_text(encoding="utf-8")
    assert old in text
    path = folder / "edited.xml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    path.with_suffix(".bin").write_bytes(SOURCE.with_suffix(".bin").read_bytes())
    return path


def test_a_conversion_is_equivalent_to_its_source(tmp_path: Path) -> None:
    converted, _ = irloop.convert(SOURCE)
    path = tmp_path / "model.onnx"
    irloop.save_model(converted, path)
    assert assert_equivalent(SOURCE, path).compared
    assert assert_equivalent(irloop.read_model(SOURCE), converted, rtol=1e-5, atol=1e-5).equal


def test_a_failed_assertion_contains_the_report(tmp_path: Path) -> None:
    other = edited(tmp_path, 'type="Tanh"', 'type="Sigmoid"')
    with pytest.raises(AssertionError) as failed:
        assert_equivalent(SOURCE, other, seeds=1)
    text = str(failed.value)
    assert text.startswith(f"{SOURCE} and {other} are not equivalent\nnot equal: ")
    assert "first divergence" in text
    assert "rnn/body/h_next" in text


def test_differences_within_the_tolerance_pass_and_others_fail(tmp_path: Path) -> None:
    """The values of Tanh and of Sigmoid differ by less than 2."""
    other = edited(tmp_path, 'type="Tanh"', 'type="Sigmoid"')
    found = assert_equivalent(SOURCE, other, rtol=2.0, atol=2.0)
    assert max(item.difference.absolute for item in found.outputs if item.difference) > 0
    assert_equivalent(SOURCE, other, rtol=0.0, atol=2.0)
    with pytest.raises(AssertionError):
        assert_equivalent(SOURCE, other, rtol=0.0, atol=1e-6)


def test_inputs_given_by_the_test() -> None:
    model = irloop.read_model(SOURCE)
    (name, *_) = irloop.random_inputs(model)
    shape = irloop.random_inputs(model)[name].shape
    inputs = {name: np.zeros(shape, np.float32)}
    assert [trial.equal for trial in assert_equivalent(SOURCE, SOURCE, inputs=inputs).trials] == [
        True
    ]


def test_wrong_usage_is_not_a_failed_assertion() -> None:
    with pytest.raises(irloop.UsageError):
        assert_equivalent(SOURCE, SOURCE, engines="numpy,abacus")


def test_pytest_shows_the_line_of_the_test(tmp_path: Path) -> None:
    other = edited(tmp_path, 'type="Tanh"', 'type="Sigmoid"')
    test = tmp_path / "test_models.py"
    test.write_text(
        "from irloop.testing import assert_equivalent\n"
        f"def test_it():\n    assert_equivalent({str(SOURCE)!r}, {str(other)!r}, seeds=1)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert ">       assert_equivalent" in done.stdout or ">   assert_equivalent" in done.stdout
    assert "raise AssertionError" not in done.stdout
    assert "not equal" in done.stdout
