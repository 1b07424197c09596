"""Details that commands share: standard input, and one code for each fault."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from click.testing import Result

import irloop as api
from tests.rule_fixtures import fixtures

Irloop = Callable[..., Result]


def piped(data: bytes, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """The command with these bytes on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "irloop", *map(str, arguments)],
        input=data,
        capture_output=True,
        check=False,
        timeout=300,
    )


def test_a_model_on_the_standard_input(recurrent: Path, tmp_path: Path) -> None:
    data = recurrent.read_bytes()
    bin_file = recurrent.with_suffix(".bin")
    shown = piped(data, "inspect", "-", "--bin", bin_file, "--format", "json")
    assert shown.returncode == 0
    assert [item["name"] for item in json.loads(shown.stdout)["inputs"]] == ["x"]
    out = tmp_path / "out.onnx"
    assert piped(data, "convert", "-", "--bin", bin_file, "-o", out).returncode == 0
    assert [item.name for item in onnx.load(out).graph.input] == ["x"]
    assert piped(data, "validate", "-", "--bin", bin_file).stdout == b"no findings in 1 file\n"
    again = piped(out.read_bytes(), "check", "-", out, "--engines", "numpy")
    assert again.stdout.startswith(b"equal: ")


def test_a_report_on_the_standard_output(irloop: Irloop, recurrent: Path) -> None:
    result = irloop("validate", recurrent, "--format", "summary", "--output", "json=-")
    text, _, _ = result.stdout.partition("\n}\n")
    assert json.loads(f"{text}\n}}")["command"] == "validate"
    assert not Path("-").exists()


@pytest.mark.slow
def test_reports_call_the_standard_input_by_name(recurrent: Path) -> None:
    """Users do not know the temporary file that holds the copy of the standard input."""
    bin_file = recurrent.with_suffix(".bin")
    data = recurrent.read_bytes().replace(b'axis="1"', b'axis="-2"')
    found = piped(data, "validate", "-", "--bin", bin_file)
    assert found.stdout.startswith(b"<stdin>:")
    # The line of the file is shown below the finding.
    assert b'axis="-2"' in found.stdout
    report = json.loads(piped(data, "validate", "-", "--bin", bin_file, "--format", "json").stdout)
    assert report["files"] == ["<stdin>"]
    assert {item["file"] for item in report["findings"]} == {"<stdin>"}
    for style in ("sarif", "junit", "github", "gitlab", "azure", "rdjson", "summary"):
        text = piped(data, "validate", "-", "--bin", bin_file, "--format", style).stdout
        assert b"stdin" in text
        assert b"irloop-scratch" not in text
    alone = piped(recurrent.read_bytes(), "validate", "-").stdout
    assert b"the weights file <stdin>.bin does not exist" in alone
    assert b"irloop-scratch" not in alone
    tree = piped(data, "inspect", "-", "--bin", bin_file)
    assert tree.stdout.startswith(b"<stdin>: OpenVINO IR v10")
    for command in (("validate", "-"), ("inspect", "-"), ("run", "-"), ("check", "-", recurrent)):
        broken = piped(b"<net", *command)
        assert b"<stdin>" in broken.stdout + broken.stderr, command
        assert b"irloop-scratch" not in broken.stdout + broken.stderr


def test_the_options_json_and_format_json_agree(irloop: Irloop, recurrent: Path) -> None:
    first, second = (
        irloop("inspect", recurrent, *arguments).stdout
        for arguments in (["--json"], ["--format", "json"])
    )
    assert first == second
    assert json.loads(first)["inputs"]


def test_a_broken_model_has_one_code_in_every_command(irloop: Irloop, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"no model at all")
    out = tmp_path / "out.xml"
    for arguments in (
        ["validate", path],
        ["inspect", path],
        ["run", path],
        ["convert", path, "-o", out, "--no-validate"],
        ["check", path, path, "--engines", "numpy"],
        ["transform", path, "--pass", "dead_code", "-o", tmp_path / "other.onnx"],
    ):
        result = irloop(*arguments)
        assert result.exit_code == 1, arguments
        assert "error ONX101: " in result.stdout, arguments


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (["inspect", "MODEL", "--draw", "OUT.svg"], "OUT.svg"),
        (["run", "MODEL", "-o", "OUT.npz"], "OUT.npz"),
        (["convert", "MODEL", "-o", "OUT.onnx"], "OUT"),
        (["transform", "MODEL", "--pass", "dead_code", "-o", "OUT.xml"], "OUT"),
        (["validate", "MODEL", "--output", "json=OUT.json"], "OUT.json"),
        (["validate", "MODEL", "--baseline", "OUT.json", "--write-baseline"], "OUT.json"),
    ],
)
def test_an_output_that_cannot_be_written_is_status_2(
    irloop: Irloop, recurrent: Path, tmp_path: Path, command: list[str], what: str
) -> None:
    missing = str(tmp_path / "missing" / "out")
    arguments = [part.replace("MODEL", str(recurrent)).replace("OUT", missing) for part in command]
    result = irloop(*arguments)
    assert result.exit_code == 2
    assert str(tmp_path / "missing") in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["check", "MODEL", "MODEL", "--report", "OUT.html"],
        ["diff", "MODEL", "MODEL", "--report", "OUT.html"],
        ["inspect", "MODEL", "--draw", "OUT.svg"],
        ["validate", "MODEL", "--report", "html=OUT.html"],
        ["validate", "MODEL", "--baseline", "OUT.json", "--write-baseline"],
        ["view", "MODEL", "-o", "OUT.html"],
        ["conformance", "numpy", "-o", "OUT.html"],
    ],
    ids=lambda command: command[0],
)
def test_a_missing_folder_of_an_output_is_found_before_the_work(
    irloop: Irloop, recurrent: Path, tmp_path: Path, command: list[str]
) -> None:
    """Nothing is printed before the folder is checked."""
    missing = str(tmp_path / "missing" / "out")
    given = [part.replace("MODEL", str(recurrent)).replace("OUT", missing) for part in command]
    result = irloop(*given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{tmp_path / 'missing'}: no such folder" in result.stderr
    (tmp_path / "missing").touch()
    for output in (missing, str(tmp_path / "missing" / "deep" / "out")):
        given = [part.replace("MODEL", str(recurrent)).replace("OUT", output) for part in command]
        result = irloop(*given)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"{tmp_path / 'missing'}: a file, not a folder" in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["check", "MODEL", "MODEL", "--report", "OUT.html"],
        ["convert", "MODEL", "-o", "OUT.onnx"],
        ["diff", "MODEL", "MODEL", "--report", "OUT.html"],
        ["inspect", "MODEL", "--draw", "OUT.svg"],
        ["reduce", "MODEL", "MODEL", "-o", "OUT"],
        ["run", "MODEL", "-o", "OUT.npz"],
        ["transform", "MODEL", "--pass", "dead_code", "-o", "OUT.xml"],
        ["validate", "MODEL", "--report", "html=OUT.html"],
        ["view", "MODEL", "-o", "OUT.html"],
    ],
    ids=lambda command: command[0],
)
def test_a_missing_model_is_found_before_a_missing_folder(
    irloop: Irloop, tmp_path: Path, command: list[str]
) -> None:
    missing = str(tmp_path / "missing" / "out")
    model = str(tmp_path / "none.xml")
    given = [part.replace("MODEL", model).replace("OUT", missing) for part in command]
    result = irloop(*given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "none.xml" in result.stderr
    assert "no such folder" not in result.stderr


def test_a_folder_that_cannot_be_made_is_found_before_models_are_reduced(
    irloop: Irloop, recurrent: Path
) -> None:
    """A file is in the place of the folder. The models are equal, but this would be found only
    later.
    """
    result = irloop("reduce", recurrent, recurrent, "-o", recurrent / "small")
    assert result.exit_code == 2
    assert "cannot be made" in result.stderr


def test_the_option_dim_must_name_an_unknown_dimension(irloop: Irloop, tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> m (float[batch,2] x) => (float[batch,2] y) '
    path = tmp_path / "named.onnx"
    onnx.save(onnx.parser.parse_model(text + "{ y = Abs (x) }"), path)
    wrong = irloop("check", path, path, "--engines", "numpy", "--dim", "bacth=4")
    assert wrong.exit_code == 2
    assert "'bacth'" in wrong.stderr
    assert "batch" in wrong.stderr.replace("bacth", "")
    right = irloop("check", path, path, "--engines", "numpy", "--dim", "batch=4")
    assert right.exit_code == 0
    assert "[4, 2]" in right.stdout


def test_validate_names_operations_that_an_old_runtime_lacks(
    tmp_path: Path, irloop: Irloop
) -> None:
    (fixture,) = [item for item in fixtures() if item.name == "irl901/bad_dynamic.xml"]
    path = fixture.model(tmp_path)
    path.with_suffix(".bin").write_bytes(bytes(8))
    assert irloop("validate", path).stdout == "no findings in 1 file\n"
    for options in (["--engine", "openvino-2021.4"], ["--select", "IRL901"]):
        assert "info IRL901: " in irloop("validate", path, *options).stdout


def test_writing_a_baseline_tells_what_was_written(irloop: Irloop, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"no model at all")
    known = tmp_path / "known.json"
    result = irloop("validate", path, "--baseline", known, "--write-baseline")
    assert f"wrote {known}: 1 known finding, 1 of them in these models" in result.stderr
    assert len(json.loads(known.read_text())["findings"]) == 1


def test_doctor_lists_versions_and_their_faults(irloop: Irloop) -> None:
    text = irloop("doctor").stdout
    assert f"engine onnxruntime: {onnxruntime.__version__}" in text
    # Long lists end after three examples and a count.
    assert len(text.splitlines()) < 20
    assert "more: irloop doctor --format json" in text
    report = json.loads(irloop("doctor", "--format", "json").stdout)["environment"]
    found = {item["name"]: item for item in report["engines"]}
    assert report["packages"]["onnx"] == onnx.__version__
    assert found["numpy"]["installed"]
    codes = [item["code"] for item in found["onnxruntime"]["hazards"]]
    assert codes
    assert all(code.startswith("ORT") and api.explain(code) for code in codes)


def test_a_converted_model_on_stdout(recurrent: Path, tmp_path: Path) -> None:
    def piped(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "irloop", "convert", *arguments, "-o", "-"],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            timeout=300,
        )

    done = piped(str(recurrent), "--check", "--engines", "numpy")
    assert done.returncode == 0
    assert b"equal" in done.stderr
    onnx.checker.check_model(onnx.load_from_string(done.stdout), full_check=True)
    assert not list(tmp_path.iterdir())
    for options in (["--external-data"], ["--weights", "share"], ["--format", "json"]):
        refused = piped(str(recurrent), *options)
        assert (refused.returncode, refused.stdout) == (2, b"")
        assert b"-o -" in refused.stderr


def test_run_and_transform_work_in_a_pipe(halving: Path, tmp_path: Path) -> None:
    """The state is halved until it is below 1: 5, 2.5, 1.25, 0.625."""
    given = io.BytesIO()
    np.savez(given, x=np.array([[10, -3]], np.float32))
    made = piped(given.getvalue(), "run", halving, "--inputs", "-", "--outputs", "-")
    assert (made.returncode, made.stderr) == (0, b"")
    with np.load(io.BytesIO(made.stdout)) as found:
        assert found["result"].tolist() == [[0.625, -0.1875]]
    plain = tmp_path / "plain.onnx"
    assert piped(b"", "convert", halving, "-o", plain).returncode == 0
    passed = piped(
        plain.read_bytes(), "transform", "-", "-o", "-", "--pass", "dead_code", "--check"
    )
    assert passed.returncode == 0
    assert b"equal: " in passed.stderr
    assert [item.name for item in onnx.load_from_string(passed.stdout).graph.input] == ["x"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "-", "-"), b"- is given twice, but the standard input can be read only once"),
        (("run", "-", "--inputs", "-"), b"- is given twice"),
        (("transform", "MODEL", "-o", "-", "--pass", "dead_code"), b"it consists of two files"),
    ],
)
def test_options_that_cannot_be_combined_with_a_pipe_are_refused(
    halving: Path, arguments: tuple[str, ...], said: bytes
) -> None:
    named = [str(halving) if item == "MODEL" else item for item in arguments]
    found = piped(halving.read_bytes(), *named)
    assert (found.returncode, found.stdout) == (2, b"")
    assert said in found.stderr
