"""``irloop check`` and ``convert --check``: verdicts, reports, exit status."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

Irloop = Callable[..., Result]


@pytest.fixture
def onnx(irloop: Irloop, recurrent: Path, tmp_path: Path) -> Path:
    """The recurrent model as ONNX."""
    path = tmp_path / "m.onnx"
    assert irloop("convert", recurrent, "-o", path).exit_code == 0
    return path


@pytest.fixture
def reversed_model(recurrent: Path, tmp_path: Path) -> Path:
    """The recurrent model with its steps in reverse order."""
    path = tmp_path / "reversed.xml"
    text = recurrent.read_text(encoding="utf-8")
    whole = 'axis="1" start="0" end="-1" stride="1"'
    assert text.count(whole) == 2
    path.write_text(text.replace(whole, 'axis="1" start="-1" end="0" stride="-1"', 1), "utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    return path


def test_equal_models(irloop: Irloop, recurrent: Path, onnx: Path) -> None:
    result = irloop("check", recurrent, onnx, "--engines", "numpy")
    assert (result.exit_code, result.stderr) == (0, "")
    first, *rest = result.stdout.splitlines()
    assert first == "equal: 3 of 3 trials ran; first model: numpy; second model: numpy"
    assert rest[0].startswith("  states float32[1, 6, 4]: equal, max abs ")
    assert rest[1].startswith("  last_state float32[1, 4]: equal")


def test_every_installed_engine_takes_part(irloop: Irloop, recurrent: Path, onnx: Path) -> None:
    result = irloop("check", recurrent, onnx)
    assert (result.exit_code, result.stderr) == (0, "")
    first, *_ = result.stdout.splitlines()
    openvino, onnxruntime = version("openvino"), version("onnxruntime")
    assert first == (
        f"equal: 3 of 3 trials ran; first model: numpy, openvino {openvino}; second model: numpy, "
        f"onnxruntime {onnxruntime}"
    )


def test_a_check_without_a_finished_run_is_inconclusive(
    irloop: Irloop, recurrent: Path, onnx: Path
) -> None:
    """Nothing can be compared, because the time limit is exceeded before anything has run."""
    for options in ((), ("--engines", "numpy")):
        result = irloop("check", recurrent, onnx, "--seconds", "0.0000001", *options)
        assert result.exit_code == 2
        assert result.stdout.startswith("inconclusive: no trial ran; ")
        assert "the time limit of 1e-07 seconds is over" in result.stdout


#: Runs the command line where no engine is installed.
HIDDEN = """
import sys
sys.modules["openvino"] = sys.modules["onnxruntime"] = None
from irloop_cli.main import main
sys.argv[0] = "irloop"
main()
"""


def test_a_check_runs_without_installed_engines(recurrent: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.onnx"
    command = [sys.executable, "-c", HIDDEN, "convert", str(recurrent), "-o", str(output)]
    done = subprocess.run([*command, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    assert first == (
        "equal: 3 of 3 trials ran; first model: numpy; second model: numpy; "
        "not installed: onnxruntime, openvino"
    )
    assert output.exists()


def test_different_models_and_their_first_divergence(
    irloop: Irloop, recurrent: Path, reversed_model: Path
) -> None:
    result = irloop("check", recurrent, reversed_model, "--engines", "numpy")
    assert result.exit_code == 1
    assert result.stdout.startswith("not equal")
    assert "first divergence: `rnn/body/" in result.stdout


def test_the_json_report_names_the_same_divergence(
    irloop: Irloop, recurrent: Path, reversed_model: Path
) -> None:
    result = irloop("check", recurrent, reversed_model, "--engines", "numpy", "--format", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert (report["schema"], report["command"]) == ("irloop-report/1", "check")
    assert report["files"] == [str(recurrent), str(reversed_model)]
    assert report["check"]["equal"] is False
    assert [item["name"] for item in report["check"]["outputs"]] == ["states", "last_state"]
    assert not any(item["equal"] for item in report["check"]["outputs"])


def test_a_sufficient_tolerance_passes(
    irloop: Irloop, recurrent: Path, reversed_model: Path
) -> None:
    assert (
        irloop("check", recurrent, reversed_model, "--engines", "numpy", "--atol", 2).exit_code == 0
    )


def test_given_inputs_are_used_one_file_for_each_run(
    irloop: Irloop, recurrent: Path, onnx: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    np.savez(files[0], x=np.ones((1, 6, 3), np.float32))
    np.savez(files[1], in0=np.zeros((1, 6, 3), np.float32))
    result = irloop("check", recurrent, onnx, "--engines", "numpy", "-i", files[0], "-i", files[1])
    assert result.exit_code == 0
    assert result.stdout.startswith("equal: 2 of 2 trials ran")


def test_another_engine_in_a_separate_process(irloop: Irloop, recurrent: Path, onnx: Path) -> None:
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    result = irloop("check", recurrent, onnx, "--engine-b", "onnxruntime", "--seeds", 1)
    assert result.exit_code == 0
    assert "first model: numpy; second model: onnxruntime" in result.stdout


def test_weights_in_another_folder(
    irloop: Irloop, recurrent: Path, onnx: Path, tmp_path: Path
) -> None:
    lonely = tmp_path / "lonely.xml"
    lonely.write_bytes(recurrent.read_bytes())
    weights = recurrent.with_suffix(".bin")
    assert irloop("check", lonely, onnx, "--engines", "numpy", "--bin-a", weights).exit_code == 0
    assert irloop("check", onnx, lonely, "--bin-b", weights).exit_code == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--engine-a", "abacus"],
        ["--engine-a", "onnxruntime"],
        ["--engines", "abacus"],
        ["--engines", ""],
        ["--engines", "numpy", "--engine-b", "onnxruntime"],
        ["--seeds", "0"],
        ["--trips", "many"],
        ["--trips", "9" * 5000],
        ["--dim", "batch"],
        ["--dim", "batch=" + "9" * 5000],
        ["--rtol", "-1"],
    ],
)
def test_contradictory_or_unknown_options_are_wrong_usage(
    irloop: Irloop, recurrent: Path, onnx: Path, options: list[str]
) -> None:
    result = irloop("check", recurrent, onnx, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr
    assert "internal error" not in result.stderr


def test_models_with_different_inputs_are_not_equal(
    irloop: Irloop, halving: Path, onnx: Path
) -> None:
    result = irloop("check", halving, onnx, "--engines", "numpy")
    assert result.exit_code == 1
    assert "not equal: no trial ran" in result.stdout


def test_a_broken_model_is_a_finding(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"\xff" * 32)
    result = irloop("check", recurrent, broken)
    assert result.exit_code == 1
    assert "error" in result.stdout


@pytest.mark.parametrize("model", ["recurrent", "halving"])
def test_a_correct_conversion_is_equal(
    irloop: Irloop, model: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source: Path = request.getfixturevalue(model)
    output = tmp_path / "m.onnx"
    result = irloop("convert", source, "-o", output, "--check")
    assert (result.exit_code, result.stderr) == (0, f"wrote {output}\n")
    assert re.match(r"equal: (\d) of \1 trials ran", result.stdout)
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_checked_conversions_to_ir_and_with_shared_weights(
    irloop: Irloop, recurrent: Path, onnx: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    report = json.loads(
        irloop("convert", recurrent, "-o", folder / "m.xml", "--check", "--format", "json").stdout
    )
    assert report["check"]["equal"] is True
    assert report["written"] == [str(folder / "m.xml"), str(folder / "m.bin")]
    shared = folder / "m.onnx"
    command = ("convert", folder / "m.xml", "-o", shared, "--check", "--weights", "share")
    assert irloop(*command).exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["m.bin", "m.onnx", "m.xml"]


def test_a_conversion_that_is_not_equal_leaves_the_old_output(
    irloop: Irloop, recurrent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import irloop as api

    convert = api.convert

    def wrong(*arguments: object, **options: object) -> object:
        from irloop.graph.rewriter import Rewriter

        model, notes = convert(*arguments, **options)  # type: ignore[arg-type]
        first, second = model.graph.results
        Rewriter(model.graph).set_input(first, 0, second.inputs[0])
        return model, notes

    monkeypatch.setattr(api, "convert", wrong)
    output = tmp_path / "m.onnx"
    output.write_bytes(b"the old one")
    result = irloop("convert", recurrent, "-o", output, "--check")
    assert result.exit_code == 1
    assert "not equal" in result.stdout
    assert result.stderr == "nothing was written\n"
    assert output.read_bytes() == b"the old one"
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
