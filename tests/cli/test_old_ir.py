"""Commands take IR of versions 2 to 7 as they take any other model."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import irloop as api
from tests.archives import unpacked
from tests.pages.models import embedded

Irloop = Callable[..., Result]


@pytest.fixture
def case(tmp_path: Path) -> Path:
    archived = unpacked("legacy_ir") / "synthetic" / "TensorIterator__lstmcell_bwd"
    return shutil.copytree(archived, tmp_path / "lstm")


def test_inspect_tells_the_version_that_was_read(irloop: Irloop, case: Path) -> None:
    result = irloop("inspect", case / "model.xml")
    assert "  read from IR version 5" in result.stdout.splitlines()
    assert "  0  ti.0  f32[2,5,4]" in result.stdout.splitlines()


def test_view_shows_the_layers(irloop: Irloop, case: Path, tmp_path: Path) -> None:
    assert irloop("view", case / "model.xml", "-o", tmp_path / "v.html").exit_code == 0
    page = (tmp_path / "v.html").read_text(encoding="utf-8")
    assert "b/cell" in json.dumps(embedded(page))


def test_what_was_converted_is_the_same_and_equal(
    irloop: Irloop, case: Path, tmp_path: Path
) -> None:
    old, new, onnx = case / "model.xml", tmp_path / "new.xml", tmp_path / "new.onnx"
    assert irloop("convert", old, "-o", new, "--ir-version", "11").exit_code == 0
    assert irloop("convert", old, "-o", onnx).exit_code == 0
    assert irloop("diff", old, new).stdout == "the same\n"
    checked = irloop("check", old, onnx, "--engines", "numpy")
    assert (checked.exit_code, checked.stdout[:6]) == (0, "equal:")


def test_run_computes_the_outputs(irloop: Irloop, case: Path, tmp_path: Path) -> None:
    results = tmp_path / "out.npz"
    ran = irloop("run", case / "model.xml", "--inputs", case / "in0.npz", "--outputs", results)
    assert ran.exit_code == 0
    with np.load(case / "out0.npz") as wanted, np.load(results) as made:
        assert sorted(made) == sorted(wanted)
        for name in wanted:
            np.testing.assert_allclose(made[name], wanted[name], atol=1e-6)


def test_reduce_finds_the_layer_with_other_weights(
    irloop: Irloop, case: Path, tmp_path: Path
) -> None:
    onnx, target = tmp_path / "new.onnx", tmp_path / "small"
    assert irloop("convert", case / "model.xml", "-o", onnx).exit_code == 0
    weights = bytearray((case / "model.bin").read_bytes())
    weights[3] ^= 0x40
    (case / "model.bin").write_bytes(weights)
    result = irloop("reduce", case / "model.xml", onnx, "-o", target)
    assert result.exit_code == 1
    assert "b/cell" in result.stdout
    assert api.read_model(target / "first.xml").graph.results
