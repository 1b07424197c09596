"""The engine of 2020, if the variable of the environment names its folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.errors import UsageError
from tests.archives import unpacked

VARIABLE = "IRLOOP_OPENVINO_2020"

installed = pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    archived = unpacked("legacy_ir") / "synthetic" / "TensorIterator__lstmcell_bwd"
    return shutil.copytree(archived, tmp_path / "lstm")


def test_without_its_folder_it_is_refused_and_not_missed(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    model = case / "model.xml"
    with pytest.raises(UsageError) as caught:
        irloop.compare(model, model, engines="openvino-2020")
    assert VARIABLE in caught.value.diagnostics[0].fix
    found = irloop.compare(model, model)
    assert found.equal
    assert not found.missing


def test_openvino_of_today_does_not_run_an_old_file(case: Path) -> None:
    with pytest.raises(UsageError, match="openvino was made for neither model"):
        irloop.compare(case / "model.xml", case / "model.xml", engines="openvino")


@installed
def test_its_results_are_the_stored_ones(case: Path) -> None:
    inputs = dict(np.load(case / "in0.npz"))
    wanted = dict(np.load(case / "out0.npz"))
    names = [value.name for value in irloop.read_model(case / "model.xml").graph.inputs]
    with Process(engine_of("openvino-2020"), case / "model.xml") as process:
        answer = process.run([inputs[name] for name in names], seconds=60)
    assert answer.outputs is not None, answer
    for name, array in zip(answer.names, answer.outputs, strict=True):
        np.testing.assert_allclose(array, wanted[name], atol=1e-6)
