"""No code of the checked folder runs: nothing is imported from the current folder.

The folder holds a module for every name that a process of irloop could import. Each leaves a mark
before it fails.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "tests" / "fixtures" / "models" / "recurrent" / "model.xml"

COMMANDS = (
    "validate .",
    "validate a.xml b.xml --jobs 2",
    "validate a.xml --isolate --engine openvino",
    "validate . --changed",
    "validate a.xml --fix",
    "validate bad.xml --report html=bad.html --format sarif",
    "convert a.xml -o a.onnx --check",
    "convert a.onnx -o c.xml --check",
    "check a.xml a.onnx",
    "check a.onnx a.onnx --engines onnxruntime,numpy",
    "run a.xml --outputs o.npz",
    "diff a.xml b.xml",
    "reduce a.xml b.xml -o smaller",
    "inspect a.xml --draw a.svg",
    "view a.xml -o a.html",
    "transform a.xml -o t.xml --pass simplify --check",
    "sweep . -o results --do validate,convert,check",
    "sweep report results",
    "passes simplify",
    "explain IRL203",
    "rules",
    "ops Loop",
    "schema -o s.xsd",
    "doctor",
)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The hostile folder, and the file in which planted modules leave their marks."""
    folder, mark = tmp_path_factory.mktemp("hostile"), tmp_path_factory.mktemp("mark") / "mark"
    names = set(sys.stdlib_module_names) | set(importlib.metadata.packages_distributions())
    for name in filter(str.isidentifier, names | {"sitecustomize", "usercustomize"}):
        text = f"open({str(mark)!r}, 'a').write({name!r} + '\\n')\nraise ImportError({name!r})\n"
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    for name in ("a", "b", "bad"):
        for suffix in (".xml", ".bin"):
            shutil.copy(MODEL.with_suffix(suffix), folder / f"{name}{suffix}")
    bad = folder / "bad.xml"
    text = bad.read_text(encoding="utf-8")
    bad.write_text(text.replace('from-port="2"', 'from-port="9"'), encoding="utf-8")
    return folder, mark


def marks(mark: Path) -> list[str]:
    return mark.read_text(encoding="utf-8").split() if mark.exists() else []


def started(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        capture_output=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **variables},
        text=True,
        timeout=300,
    )


def test_the_planted_modules_would_be_imported(planted: tuple[Path, Path]) -> None:
    """Otherwise the other tests of this file would prove nothing."""
    folder, mark = planted
    done = started(sys.executable, "-c", "import multiprocessing", cwd=folder)
    assert done.returncode == 1
    assert marks(mark) == ["multiprocessing"]
    mark.unlink()


def test_no_command_imports_from_the_current_folder(planted: tuple[Path, Path]) -> None:
    folder, mark = planted
    program = Path(sysconfig.get_path("scripts")) / "irloop"
    for command in COMMANDS:
        done = started(program, *command.split(), cwd=folder)
        assert marks(mark) == [], command
        assert "internal error" not in done.stderr, command + done.stderr
        assert done.returncode in (0, 1) or command.startswith("reduce"), command + done.stderr


def test_no_function_starts_a_process_that_imports_from_the_current_folder(
    planted: tuple[Path, Path], tmp_path: Path
) -> None:
    """Programs that call the API start child processes, too."""
    folder, mark = planted
    program = tmp_path / "program.py"
    program.write_text(
        "import os\nimport irloop\n"
        "if __name__ == '__main__':\n"
        f"    os.chdir({str(folder)!r})\n"
        "    assert str(irloop.compare('a.xml', 'b.xml', seeds=1)).startswith('equal')\n",
        encoding="utf-8",
    )
    done = started(sys.executable, program, cwd=tmp_path)
    assert (done.returncode, marks(mark)) == (0, []), done.stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash: the steps cannot be run")
def test_no_step_of_the_action_imports_from_the_checkout(
    planted: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, mark = planted
    steps = {
        step["id"]: step
        for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    }
    output = tmp_path / "output"
    variables = dict.fromkeys(steps["validate"]["env"], "") | {
        "PYTHON": sys.executable,
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(output),
        "GITHUB_ACTION_PATH": str(ROOT),
        # pip starts and stops at the first package: nothing is fetched by a test.
        "PIP_NO_INDEX": "1",
    }
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
    done = started(*shell, steps["install"]["run"], cwd=folder, **variables)
    assert "No matching distribution found" in done.stderr
    assert marks(mark) == []
    # What the step would have installed, from the environment of the tests.
    variables |= {"BIN": sysconfig.get_path("scripts"), "PATHS": "a.xml\nb.xml"}
    done = started(*shell, steps["validate"]["run"], cwd=folder, **variables)
    assert (done.returncode, marks(mark)) == (0, []), done.stderr
    assert "errors=0" in output.read_text(encoding="utf-8")
