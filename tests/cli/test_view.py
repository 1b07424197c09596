"""``irloop view`` through the entry point."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.pages.models import embedded

MODEL = Path(__file__).parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"


def irloop(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irloop", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
    )


def test_the_page_is_named_after_the_model(tmp_path: Path) -> None:
    done = irloop("view", str(MODEL), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "wrote model.html\n")
    text = (tmp_path / "model.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert embedded(text)["title"] == "model.xml"


def test_a_page_next_to_the_model_and_its_weights(tmp_path: Path) -> None:
    """A page has no file of weights, so the one of the model is not in its way."""
    for suffix in (".xml", ".bin"):
        shutil.copy(MODEL.with_suffix(suffix), tmp_path)
    before = (tmp_path / "model.bin").read_bytes()
    done = irloop("view", "model.xml", "-o", "model.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model.html").is_file()
    assert (tmp_path / "model.bin").read_bytes() == before


def test_the_page_of_a_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((1, 6, 3), np.float32))
    done = irloop("view", str(MODEL), "--inputs", "in.npz", "-o", "run.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (model,) = embedded((tmp_path / "run.html").read_text(encoding="utf-8"))["models"]
    assert model["values"]["by_node"]


def test_inputs_that_do_not_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", y=np.ones(3, np.float32))
    done = irloop("view", str(MODEL), "--inputs", "in.npz", cwd=tmp_path)
    assert done.returncode == 2
    assert "'y'" in done.stderr
    assert not (tmp_path / "model.html").exists()


def test_the_input_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_bytes(MODEL.read_bytes())
    (tmp_path / "model.bin").write_bytes(MODEL.with_suffix(".bin").read_bytes())
    done = irloop("view", "model.xml", "-o", "model.xml", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "model.xml").read_bytes() == MODEL.read_bytes()


def test_the_page_is_written_to_standard_output(tmp_path: Path) -> None:
    done = irloop("view", str(MODEL), "-o", "-", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>")
    assert irloop("view", str(MODEL), "-o", "-", "--open", cwd=tmp_path).returncode == 2


def test_two_models_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "new.xml").write_text(
        MODEL.read_text("utf-8").replace('type="Tanh"', 'type="Sigmoid"'), "utf-8"
    )
    shutil.copy(MODEL.with_suffix(".bin"), tmp_path / "new.bin")
    done = irloop("view", str(MODEL), "--against", "new.xml", "-o", "both.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "wrote both.html\n")
    data = embedded((tmp_path / "both.html").read_text(encoding="utf-8"))
    assert data["title"] == "model.xml against new.xml"
    assert data["models"][1]["marks"] == {"rnn/body/h_next": "changed"}
    np.savez(tmp_path / "in.npz", x=np.ones((1, 6, 3), np.float32))
    refused = irloop("view", str(MODEL), "--against", "new.xml", "--inputs", "in.npz", cwd=tmp_path)
    assert refused.returncode == 2
    assert "leave out --against" in refused.stderr
