"""The recipes of CONTRIBUTING.md, followed exactly in a copy of irloop."""

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
import onnx
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
#: The first line of a block is a comment that names a file.
BLOCK = re.compile(
    r"^ *```(\w+)\n *(?:# |<!-- )(\S+?)(?: -->)?\n(.*?)```", re.DOTALL | re.MULTILINE
)
BLOCKS = [(kind, name, textwrap.dedent(text)) for kind, name, text in BLOCK.findall(GUIDE)]
#: What a recipe adds to, and what it makes.
CHANGED = {
    "irloop/dialects/openvino/elementwise.py",
    "irloop/kernels/elementwise.py",
    "irloop/conversion/elements/elementwise.py",
    "irloop/dialects/openvino/opsets.py",
}
MADE = {
    "irloop/validation/rules/irl199_name_with_spaces.py",
    "tests/fixtures/rules/irl199/bad_space.xml",
    "tests/fixtures/rules/irl199/good_space.xml",
    "irloop/faults/ovn999_negative_of_a_negative.py",
}

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


def _follow(kind: str, file: Path, text: str) -> None:
    """Add a block to a file, or replace the lines that a block of kind diff removes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if kind == "diff":
        removed, added = (re.findall(rf"^\{sign}(.*)", text, re.MULTILINE) for sign in "-+")
        before = file.read_text("utf-8")
        assert before.count("\n".join(removed)) == 1
        file.write_text(before.replace("\n".join(removed), "\n".join(added)), "utf-8")
        return
    gap = "\n\n" if file.exists() else ""
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"{gap}{text}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of irloop in which all recipes were followed."""
    home = tmp_path_factory.mktemp("recipe")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "irloop", home / "irloop", ignore=ignore)
    shutil.copytree(ROOT / "cli", home / "irloop_cli", ignore=ignore)
    shutil.copytree(ROOT / "schemas", home / "irloop" / "schemas", ignore=ignore)
    for kind, name, text in BLOCKS:
        _follow(kind, home / name, text)
    subprocess.run(
        [sys.executable, ROOT / "docs/generate/indexes.py"],
        check=True,
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
    )
    return home


@pytest.fixture(scope="module")
def recipe(home: Path) -> Command:
    """The command line of the copy."""

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


def test_the_blocks_name_files_of_the_project() -> None:
    assert {name for _, name, _ in BLOCKS} == CHANGED | MADE
    assert all((ROOT / name).is_file() for name in CHANGED)
    assert not any((ROOT / name).exists() for name in MADE)


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


def test_the_rule_finds_what_its_fixtures_say(recipe: Command, home: Path) -> None:
    for test in ("rule_fixtures.py", "validation/test_rules.py"):
        (home / "tests" / test).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "tests" / test, home / "tests" / test)
    tried = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib",
         "-o", "pythonpath=.", "tests/validation/test_rules.py", "-k", "irl199"],
        capture_output=True,
        check=False,
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home)},
        text=True,
        timeout=300,
    )  # fmt: skip
    assert "5 passed" in tried.stdout, tried.stdout
    listed = recipe("rules", "--format", "json")
    assert '"IRL199"' in listed.stdout
    explained = recipe("explain", "IRL199")
    assert "Programs that find layers by name" in explained.stdout


def test_the_fault_is_explained_and_repaired(recipe: Command, tmp_path: Path) -> None:
    explained = recipe("explain", "OVN999")
    assert "OpenVINO computes only one of the two." in explained.stdout, explained.stderr
    source, target = tmp_path / "model.onnx", tmp_path / "model.xml"
    onnx.save(
        onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) { a = Neg (x) b = Neg (a) y = Exp (b) }"""),
        source,
    )
    converted = recipe("convert", source, "-o", target)
    assert converted.returncode == 0, converted.stderr
    text = target.read_text("utf-8")
    assert 'type="Exp"' in text
    assert 'type="Negative"' not in text
    cases = recipe("conformance", "irloop", "--case", "negative_of_a_negative")
    assert cases.returncode == 0, cases.stdout + cases.stderr


def test_the_opset_is_read_and_written(recipe: Command, tmp_path: Path) -> None:
    newer = MODEL.replace('"opset3"', '"opset18"')
    assert recipe("validate", _model(tmp_path, newer)).returncode == 0
    refused = recipe("validate", _model(tmp_path, MODEL.replace('"opset3"', '"opset19"')))
    assert "opset1 to opset18" in refused.stdout
    source = tmp_path / "model.onnx"
    onnx.save(
        onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) { y = Exp (x) }"""),
        source,
    )
    for opset, status in (("18", 0), ("19", 2)):
        written = recipe("convert", source, "-o", tmp_path / "made.xml", "--opset", opset)
        assert written.returncode == status, written.stderr
