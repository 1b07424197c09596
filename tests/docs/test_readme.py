"""Run the commands and the Python code of README.md, in a folder with models of these names."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irloop

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
MODELS = ROOT / "tests" / "fixtures" / "models"

BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
LINES = [
    line.partition("   #")[0].strip()
    for language, block in BLOCKS
    if language == "sh"
    for line in block.splitlines()
    if line.startswith("irloop ")
]
CODE = [block for language, block in BLOCKS if language == "python"]

#: The examples with exit status 1: there is something to report in their models.
FINDINGS = ("irloop diff old.xml new.xml",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name."""
    made = tmp_path_factory.mktemp("readme")
    recurrent, halving = MODELS / "recurrent", MODELS / "halving"
    for name, source in (("model", recurrent), ("big", recurrent), ("old", recurrent)):
        for suffix in (".xml", ".bin"):
            shutil.copy(source / f"model{suffix}", made / f"{name}{suffix}")
    for suffix in (".xml", ".bin"):
        if (halving / f"model{suffix}").exists():
            shutil.copy(halving / f"model{suffix}", made / f"new{suffix}")
    converted, _ = irloop.convert(made / "model.xml")
    for place in (
        "model.onnx",
        "new.onnx",
        "fused.onnx",
        "reference.onnx",
        "models/a.onnx",
        "exported/b.onnx",
    ):
        (made / place).parent.mkdir(exist_ok=True)
        irloop.save_model(converted, made / place)
    shutil.copy(made / "model.xml", made / "exported.xml")
    shutil.copy(made / "model.bin", made / "exported.bin")
    inputs = irloop.random_inputs(made / "model.xml")
    np.savez(made / "in.npz", **inputs)
    return made


def test_there_are_commands() -> None:
    assert len(LINES) >= 14
    assert len(CODE) >= 3


@pytest.mark.parametrize("line", LINES)
def test_the_commands_of_the_readme_succeed(line: str, folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "copy"
    shutil.copytree(folder, here)
    call = line.replace("irloop ", f'"{sys.executable}" -m irloop ', 1)
    done = subprocess.run(
        ["bash", "-c", call], capture_output=True, check=False, cwd=here, text=True, timeout=300
    )
    assert done.returncode == (1 if line in FINDINGS else 0), done.stdout + done.stderr


@pytest.mark.parametrize("at", range(len(CODE)))
def test_the_python_code_of_the_readme_runs(at: int, folder: Path, tmp_path: Path) -> None:
    here = tmp_path / "copy"
    shutil.copytree(folder, here)
    subprocess.run(
        [sys.executable, "-c", f"import irloop\n{CODE[at]}"],
        check=True,
        cwd=here,
        timeout=300,
    )
