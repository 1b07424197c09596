"""What a search for models leaves out: folders of tools, patterns, and what Git ignores."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import Result

Irloop = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, halving: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one model of its own, and models of others."""
    for folder in ("", ".venv/lib", "node_modules/pkg", "old", "old/kept", "deep/er"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(halving, tmp_path / folder / "m.xml")
        if halving.with_suffix(".bin").exists():
            shutil.copy(halving.with_suffix(".bin"), tmp_path / folder / "m.bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _files(result: Result) -> list[str]:
    return sorted(os.path.normpath(file) for file in json.loads(result.stdout)["files"])


def _searched(irloop: Irloop, *arguments: str) -> list[str]:
    return _files(irloop("validate", *arguments, "--format", "json"))


def _all(*folders: str) -> list[str]:
    return sorted(os.path.join(folder, "m.xml") if folder else "m.xml" for folder in folders)


def test_folders_of_tools_are_left_out(irloop: Irloop, project: Path) -> None:
    assert _searched(irloop, ".") == _all("", "old", "old/kept", "deep/er")
    assert _searched(irloop, "**/*.xml") == _all("", "old", "old/kept", "deep/er")


def test_what_the_user_names_is_validated(irloop: Irloop, project: Path) -> None:
    assert _searched(irloop, ".venv/lib/m.xml") == _all(".venv/lib")
    assert _searched(irloop, ".venv") == _all(".venv/lib")


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--extend-exclude", "old"], ["", "deep/er"]),
        (["--extend-exclude", "/old/kept/"], ["", "old", "deep/er"]),
        (["--extend-exclude", "er"], ["", "old", "old/kept"]),
        (["--extend-exclude", "deep/**"], ["", "old", "old/kept"]),
        (["--extend-exclude", "old/m.xml"], ["", "old/kept", "deep/er"]),
        (["--exclude", "o*d", "--exclude", "deep"], ["", ".venv/lib", "node_modules/pkg"]),
    ],
)
def test_patterns_leave_out_what_they_match(
    irloop: Irloop, project: Path, options: list[str], left: Sequence[str]
) -> None:
    assert _searched(irloop, ".", *options) == _all(*left)


@pytest.mark.parametrize("folder", [".", "deep"])
def test_settings_are_relative_to_their_file(
    irloop: Irloop, project: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".git").mkdir()
    (project / "irloop.toml").write_text('extend-exclude = ["/old", "deep/er"]\n')
    monkeypatch.chdir(project / folder)
    result = irloop("validate", "..", "--format", "json") if folder == "deep" else None
    found = _files(result) if result else _searched(irloop, ".")
    assert found == (["../m.xml"] if folder == "deep" else ["m.xml"])


def test_the_setting_exclude_replaces_the_defaults(irloop: Irloop, project: Path) -> None:
    (project / "irloop.toml").write_text('exclude = ["old", "deep"]\n')
    assert _searched(irloop, ".") == _all("", ".venv/lib", "node_modules/pkg")
    assert _searched(irloop, ".", "--extend-exclude", ".venv") == _all("", "node_modules/pkg")


@pytest.mark.parametrize(
    "text", ['exclude = "old"', "extend-exclude = [1]", "respect-gitignore = 3"]
)
def test_wrong_settings_are_named(irloop: Irloop, project: Path, text: str) -> None:
    (project / "irloop.toml").write_text(text)
    result = irloop("validate", ".")
    assert (result.exit_code, result.stdout) == (2, "")
    assert text.partition(" ")[0] in result.stderr


GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

IGNORED = [
    "old/",
    "*.xml",
    "*.xml\n!/deep/er/m.xml",
    "/deep/*\n!/deep/er",
    "old/*\n!old/kept/\n",
    "# comment\n\n  \n\\#m.xml\n",
    "**/er",
    "d[a-f]*p",
    "old/**/m.xml",
    "m.xml ",
    "m.xml\\ ",
    "/m.xml",
    "old/kept",
    "**/kept/m.xml\n!m.xml",
    "[!o]*\n!*.xml",
]


@pytest.mark.slow
@GIT
@pytest.mark.parametrize("text", IGNORED)
def test_what_git_ignores_is_left_out(irloop: Irloop, project: Path, text: str) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True)
    (project / ".gitignore").write_text(text)
    told = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "*.xml"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    wanted = sorted(name for name in told if not name.startswith((".venv", "node_modules")))
    result = irloop("validate", ".", "--format", "json")
    if wanted:
        assert _files(result) == wanted
    else:
        assert result.exit_code == 2
        assert "--no-respect-gitignore" in result.output
    everything = _all("", "old", "old/kept", "deep/er")
    if wanted != everything:
        assert wanted == [] or "Git ignores them" in result.stderr
    assert _searched(irloop, ".", "--no-respect-gitignore") == everything
    assert _searched(irloop, ".", "--no-ignore") == everything


def test_without_a_repository_nothing_is_ignored(irloop: Irloop, project: Path) -> None:
    (project / ".gitignore").write_text("*.xml\n")
    assert _searched(irloop, ".") == _all("", "old", "old/kept", "deep/er")


def test_patterns_of_strangers_take_no_time(irloop: Irloop, project: Path) -> None:
    (project / ".git").mkdir()
    hard = "/".join(["**"] * 300) + "/" + "*a" * 300 + "b\n"
    (project / ".gitignore").write_text(hard * 20)
    (project / ("a" * 200)).mkdir()
    (project / "irloop.toml").write_text("")
    assert _searched(irloop, ".") == _all("", "old", "old/kept", "deep/er")
