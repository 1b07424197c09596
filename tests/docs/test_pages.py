"""The commands of the documentation do what the pages show."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.console import Command, File, run, steps

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "pages"
SCRIPTS = [path for path in sorted(PAGES.rglob("*.md")) if "```console" in path.read_text("utf-8")]


#: Variables that determine the kernels of BLAS and NumPy; the pages must be true for all kernels.
KERNELS = {"OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "OMP_NUM_THREADS"}


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """The environment in which `irloop` and `python` are those that run the tests.

    Of the user's environment, only the variables in `KERNELS` are kept.
    """
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', "utf-8")
    (tools / "irloop").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m irloop "$@"\n', "utf-8")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    own = {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path)}
    return own | {name: os.environ[name] for name in KERNELS & os.environ.keys()}


@pytest.mark.parametrize("page", SCRIPTS, ids=lambda path: path.relative_to(PAGES).as_posix())
def test_commands(page: Path, tmp_path: Path, environment: Mapping[str, str]) -> None:
    folder = tmp_path / "irloop"
    shutil.copytree(ROOT / "tests" / "fixtures" / "models", folder / "tests/fixtures/models")
    status = 0
    for step in steps(page.read_text(encoding="utf-8")):
        if isinstance(step, File):
            (folder / step.name).write_text(step.content, encoding="utf-8")
            continue
        found, status = run(step, folder, environment, status)
        difference = step.difference(found)
        assert not difference, difference


@pytest.mark.parametrize("page", SCRIPTS, ids=lambda path: path.relative_to(PAGES).as_posix())
def test_outputs_on_pages_omit_digits_that_depend_on_the_processor(page: Path) -> None:
    # The difference between two models depends on the processor, whose kernels sum in different
    # orders.
    shown = [step for step in steps(page.read_text(encoding="utf-8")) if isinstance(step, Command)]
    assert not [step.line for step in shown if re.search(r"max abs \d|max rel \d", step.output)]


def test_a_difference_from_the_page_is_found() -> None:
    shown = Command("x", "a\n...\nz … end")
    assert not shown.difference("a\nb\nc\nz 3.1 end\n")
    assert not shown.difference("a\nz  end")
    assert shown.difference("a\nb\nz 3.1 END")
    assert shown.difference("b\nz 3.1 end")
    assert not Command("x", "").difference("")
    assert Command("x", "").difference("something")
