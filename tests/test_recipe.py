"""The recipe for an operation in CONTRIBUTING.md, followed exactly in a copy of irloop."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPE = (
    (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## An operation\n")[1].split("\n## ")[0]
)
BLOCKS = [textwrap.dedent(text) for text in re.findall(r"```python\n(.*?)```", RECIPE, re.DOTALL)]

MODEL = """<net name="toy" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>3</dim></port></output></layer>
<layer id="1" name="y" type="Parameter" version="opset1"><data shape="3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>3</dim></port></output></layer>
<layer id="2" name="blend" type="Blend" version="opset3"><data ratio="0.25" order="reverse"/>
<input><port id="0" precision="FP32"><dim>3</dim></port>
<port id="1" precision="FP32"><dim>3</dim></port></input>
<output><port id="2" precision="FP32" names="z"><dim>3</dim></port></output></layer>
<layer id="3" name="result" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>3</dim></port></input></layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
</edges>
</net>
"""
#: By hand: 0.75 * [0, 4, 8] + 0.25 * [8, 4, 0].
RESULT = [2.0, 4.0, 6.0]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command line of a copy of irloop to which the operation of the recipe was added."""
    home = tmp_path_factory.mktemp("recipe")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "irloop", home / "irloop", ignore=ignore)
    shutil.copytree(ROOT / "cli", home / "irloop_cli", ignore=ignore)
    shutil.copytree(ROOT / "schemas", home / "irloop" / "schemas", ignore=ignore)
    for block in BLOCKS:
        first, _, source = block.partition("\n")
        with (home / first.removeprefix("# ")).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{source}")
    subprocess.run(
        [sys.executable, ROOT / "docs/generate/indexes.py"],
        check=True,
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
    )

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "irloop", *map(str, arguments)],
            capture_output=True,
            check=False,
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(home), "PYTHONWARNINGS": "error"},
            text=True,
            timeout=300,
        )

    return run


def _model(folder: Path, text: str = MODEL) -> Path:
    (folder / "toy.bin").write_bytes(b"")
    path = folder / "toy.xml"
    path.write_text(text, "utf-8")
    return path


def test_the_blocks_name_files_that_exist() -> None:
    named = [block.partition("\n")[0].removeprefix("# ") for block in BLOCKS]
    assert len(named) == 3
    assert all((ROOT / name).is_file() for name in named)


def test_the_operation_is_validated(recipe: Command, tmp_path: Path) -> None:
    good = recipe("validate", _model(tmp_path))
    assert good.returncode == 0, good.stdout + good.stderr
    for old, new, code in [
        ('ratio="0.25"', 'ratio="1.5"', "IRL115"),
        ('order="reverse"', 'order="up"', "IRL115"),
        ('order="reverse"', 'ordre="reverse"', "IRL107"),
        ('version="opset3"', 'version="opset2"', "IRL109"),
    ]:
        bad = recipe("validate", _model(tmp_path, MODEL.replace(old, new)))
        assert code in bad.stdout, bad.stdout


def test_the_operation_runs_and_converts(recipe: Command, tmp_path: Path) -> None:
    model, target = _model(tmp_path), tmp_path / "toy.onnx"
    x, y = np.array([0, 4, 8], np.float32), np.array([8, 4, 0], np.float32)
    np.savez(tmp_path / "in.npz", x=x, y=y)
    converted = recipe("convert", model, "-o", target)
    assert converted.returncode == 0, converted.stderr
    for path in (model, target):
        made = recipe(
            "run", path, "--inputs", tmp_path / "in.npz", "--outputs", tmp_path / "out.npz"
        )
        assert made.returncode == 0, made.stderr
        with np.load(tmp_path / "out.npz") as arrays:
            (name,) = arrays.files
            np.testing.assert_array_equal(arrays[name], np.array(RESULT, np.float32))


def test_the_operation_is_listed(recipe: Command) -> None:
    found = json.loads(recipe("ops", "blend", "--format", "json").stdout)["ops"]
    assert [(row["type"], row["since"], row["run"], row["export"]) for row in found] == [
        ("Blend", 3, True, True)
    ]
    (row,) = found
    assert [item["name"] for item in row["attributes"]] == ["ratio", "order"]
    assert row["attributes"][1]["words"] == ["forward", "reverse"]
