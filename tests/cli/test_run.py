"""``irloop run``: inputs by name and position, outputs, limits, trace."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import irloop as api
from tests.rule_fixtures import fixtures

Irloop = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]

#: The state is halved until its largest element is below 1: 5, 2.5, 1.25, 0.625.
X = np.array([[10, -3]], np.float32)
STEPS = [[5, -1.5], [2.5, -0.75], [1.25, -0.375], [0.625, -0.1875]]


def save(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("name", ["x", "in0", "arr_0"])
def test_inputs_by_name_or_position_and_outputs_in_order(
    irloop: Irloop, halving: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "out.npz"
    inputs = save(tmp_path / "in.npz", **{name: X})
    result = irloop("run", halving, "--inputs", inputs, "--outputs", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"wrote {out}\n"
    with np.load(out) as found:
        assert found.files == ["steps", "result"]
        np.testing.assert_array_equal(found["steps"], np.array(STEPS, np.float32))
        np.testing.assert_array_equal(found["result"], np.array(STEPS[-1:], np.float32))
        assert found["steps"].dtype == np.float32


def test_a_npy_is_the_only_input(irloop: Irloop, halving: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    result = irloop("run", halving, "--inputs", tmp_path / "x.npy")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first.startswith("steps: float32[4, 2] 5.0, -1.5, 2.5")
    assert second == "result: float32[1, 2] 0.625, -0.1875"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"y": X}, "'y' is not an input"),
        ({"in1": X}, "'in1' is not an input"),
        ({"x": X, "in0": X}, "already given"),
        ({}, "missing: x"),
        ({"x": X.astype(np.float64)}, "expected: f32[1,2]"),
        ({"x": X.reshape(2)}, "found: float32[2]"),
    ],
)
def test_wrong_inputs_are_wrong_usage(
    irloop: Irloop, halving: Path, tmp_path: Path, arrays: dict[str, Any], said: str
) -> None:
    out = tmp_path / "out.npz"
    inputs = save(tmp_path / "in.npz", **arrays)
    result = irloop("run", halving, "-i", inputs, "-o", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut short"])
def test_an_input_file_that_is_no_npz(
    irloop: Irloop, halving: Path, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    result = irloop("run", halving, "-i", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "in.npz" in result.stderr


def test_pickled_objects_are_never_loaded(irloop: Irloop, halving: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.npz"
    np.savez(path, x=np.array([{"a": 1}], dtype=object))
    result = irloop("run", halving, "-i", path)
    assert result.exit_code == 2
    assert "pickle" in result.stderr


def test_a_limit_is_a_finding_with_its_line(irloop: Irloop, halving: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    inputs = save(tmp_path / "in.npz", x=X)
    result = irloop("run", halving, "-i", inputs, "-o", out, "--max-iterations", 3)
    assert result.exit_code == 1
    assert "error RUN002" in result.stdout
    assert 'name="halve" type="Loop"' in result.stdout
    assert not out.exists()


@pytest.mark.parametrize("size", ["many", "-1", "2T", ""])
def test_an_invalid_memory_size_is_wrong_usage(irloop: Irloop, halving: Path, size: str) -> None:
    result = irloop("run", halving, "--max-memory", size)
    assert result.exit_code == 2
    assert "--max-memory" in result.stderr


def test_the_trace_shows_each_node_in_each_iteration(
    process: Process, halving: Path, tmp_path: Path
) -> None:
    inputs = save(tmp_path / "in.npz", x=X)
    done = process("run", halving, "-i", inputs, "--trace")
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if "/next[" in line]
    assert [line.split()[0] for line in lines] == [f"halve/body/next[{at}]" for at in range(4)]
    assert "max 0.625" in lines[3]


def test_outputs_into_a_folder_that_does_not_exist(
    irloop: Irloop, halving: Path, tmp_path: Path
) -> None:
    inputs = save(tmp_path / "in.npz", x=X)
    result = irloop("run", halving, "-i", inputs, "-o", tmp_path / "no" / "out.npz")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{tmp_path / 'no'}: no such folder" in result.stderr


def test_outputs_in_another_format_are_refused(
    irloop: Irloop, halving: Path, tmp_path: Path
) -> None:
    result = irloop("run", halving, "-o", tmp_path / "out.txt")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "out.txt: outputs are written as .npz" in result.stderr
    assert not (tmp_path / "out.txt").exists()


def test_generated_inputs_follow_the_seed(irloop: Irloop, recurrent: Path) -> None:
    first = irloop("run", recurrent, "--seed", 1)
    assert first.exit_code == 0
    assert first.stdout.startswith("states: float32[1, 6, 4] ")
    assert irloop("run", recurrent, "--seed", 1).stdout == first.stdout
    assert irloop("run", recurrent, "--seed", 2).stdout != first.stdout


def test_values_without_a_numpy_type_survive_writing_and_reading(tmp_path: Path) -> None:
    import ml_dtypes

    values: dict[str, Any] = {
        "file": np.array(["a", "ü"], dtype=object),
        "half": np.array([1.5, -2], ml_dtypes.bfloat16),
        "scalar": np.array(3, ml_dtypes.bfloat16),
        "codes": np.array([1, -8, 7], ml_dtypes.int4),
        "sequence": [np.zeros(2, np.int64), None, np.ones((), ml_dtypes.float8_e4m3fn)],
        "empty": [],
        "absent": None,
    }
    path = tmp_path / "values.npz"
    api.write_arrays(path, values)
    found = api.read_arrays(path)
    assert list(found) == list(values)
    for name in ("file", "half", "scalar", "codes"):
        assert found[name].dtype == values[name].dtype
        assert found[name].shape == values[name].shape
        assert (found[name] == values[name]).all()
    zeros, nothing, one = found["sequence"]
    assert zeros.dtype == np.int64
    assert nothing is None
    assert (one.dtype, one.shape, float(one)) == (ml_dtypes.float8_e4m3fn, (), 1.0)
    assert found["empty"] == []
    assert found["absent"] is None
    with np.load(path) as plain:
        # The documented representation, for programs that do not use irloop.
        np.testing.assert_array_equal(plain["half__bf16"], np.array([0x3FC0, 0xC000], np.uint16))
        assert int(plain["sequence__seq_len"]) == 3


def test_the_same_values_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        api.write_arrays(tmp_path / name, {"x": X})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_outputs_replace_neither_the_model_nor_its_inputs(
    irloop: Irloop, halving: Path, tmp_path: Path
) -> None:
    inputs = save(tmp_path / "in.npz", x=X)
    why_not = {halving: "outputs are written as .npz", inputs: "would be written over"}
    for taken, words in why_not.items():
        before = taken.read_bytes()
        result = irloop("run", halving, "--inputs", inputs, "--outputs", taken)
        assert result.exit_code == 2
        assert words in result.stderr
        assert taken.read_bytes() == before


def test_a_profile_by_operation_and_node(irloop: Irloop, halving: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    inputs = save(tmp_path / "in.npz", x=X)
    result = irloop("run", halving, "-i", inputs, "--profile", "--profile-trace", trace)
    assert result.exit_code == 0
    assert result.stdout == irloop("run", halving, "-i", inputs).stdout
    assert "own ms" in result.stderr
    assert "(Loop-5)" in result.stderr
    assert result.stderr.endswith(f"wrote {trace}\n")
    events = json.loads(trace.read_text())["traceEvents"]
    assert {tuple(event["args"]["iterations"]) for event in events} >= {(), (0,), (3,)}


def test_a_profile_is_not_combined_with_a_trace(irloop: Irloop, halving: Path) -> None:
    result = irloop("run", halving, "--profile", "--trace")
    assert result.exit_code == 2
    assert "--profile" in result.stderr


def test_a_profile_does_not_replace_the_model(irloop: Irloop, halving: Path) -> None:
    before = halving.read_bytes()
    result = irloop("run", halving, "--profile-trace", halving)
    assert result.exit_code == 2
    assert "would be written over" in result.stderr
    assert halving.read_bytes() == before


def test_a_broken_file_fails_with_the_error_of_the_rule(irloop: Irloop, tmp_path: Path) -> None:
    (fixture,) = [item for item in fixtures() if item.name == "irl701/bad_no_else.xml"]
    result = irloop("run", fixture.model(tmp_path))
    assert result.exit_code == 1
    assert "error IRL701: If 'if' (layer 2) has no else_body" in result.stdout
    assert "RUN003" not in result.stdout
