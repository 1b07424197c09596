"""Completion: what the shells ask for, and bash, zsh and fish themselves."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"
IR = str(MODELS / "halving" / "model.xml")

CODE = "from irloop_cli.main import main; main(prog_name='irloop')"


def _completed(*words: str) -> list[tuple[str, str]]:
    """The type and the value of each completion of the last word."""
    environment = {
        **os.environ,
        "_IRLOOP_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["irloop", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.stderr == ""
    pairs = (line.partition(",") for line in done.stdout.splitlines() if line)
    return [(kind, value) for kind, _, value in pairs]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["transform", "m.xml", "--pass", "unr"], "unroll"),
        (["passes", "dead"], "dead_code"),
        (["explain", "irl62"], "IRL623"),
        (["explain", "cnv00"], "CNV001"),
        (["validate", "m.xml", "--select", "IRL1,IRL52"], "IRL1,IRL525"),
        (["ops", "tens"], "TensorIterator"),
        (["check", "a.xml", "b.xml", "--engines", "numpy,onn"], "numpy,onnxruntime"),
        (["check", "a.xml", "b.xml", "--engine-b", "num"], "numpy"),
        (["conformance", "open"], "openvino"),
        (["convert", "m.xml", "--target", "openvino-2024"], "openvino-2024.6"),
        (["validate", "m.xml", "--engine", "openvino-2021"], "openvino-2021.4"),
        (["sweep", "s", "-o", "r", "--do", "validate,ch"], "validate,check"),
        (["convert", IR, "--shape", ""], "x="),
        (["convert", IR, "--mean", ""], "x="),
        (["convert", IR, "--reverse-channels", ""], "x"),
        (["run", IR, "--type", ""], "x="),
        (["extract", IR, "--inputs", "x,x"], "x,x"),
        (["validate", "m.xml", "--output", "sar"], "sarif="),
    ],
)
def test_names_are_completed(words: list[str], some: str) -> None:
    found = [value for kind, value in _completed(*words) if kind == "plain"]
    assert some in found
    start = words[-1].lower()
    assert all(item.lower().startswith(start) for item in found)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "no.xml", "--type", ""],
        ["run", "-", "--type", ""],
        ["run", "http://host/m.onnx", "--type", ""],
        ["run", str(Path(__file__)), "--type", ""],
        ["run", str(MODELS), "--type", ""],
    ],
)
def test_a_model_that_cannot_be_read_has_no_completions(words: list[str]) -> None:
    assert _completed(*words) == []


WORDS_OF_PATHS = ("FILE", "FOLDER", "MODEL", "PATH", "OUTPUT", "SOURCE", "RESULTS")


def _paths() -> Iterator[tuple[str, str]]:
    """Each parameter whose metavar says that it is a file or a folder."""
    command = _group()
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        for param in found.params:
            words = (getattr(param, "metavar", None) or param.name or "").upper()
            if any(
                word in words for word in ("FILE", "FOLDER", "MODEL", "PATH", "OUTPUT", "SOURCE")
            ):
                yield name, param.name or ""


def _group() -> click.Group:
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="console_scripts", name="irloop")
    group = entry.load()
    assert isinstance(group, click.Group)
    return group


#: Not paths in spite of their words: the path of a body, a pass, profiles.
NO_PATHS = {
    ("extract", "body"),
    ("run", "profile"),
    ("transform", "passes"),
    ("transform", "profile"),
}


@pytest.mark.parametrize(("command", "name"), sorted({*_paths()} - NO_PATHS))
def test_every_path_is_completed(command: str, name: str) -> None:
    group = _group()
    found = group.get_command(click.Context(group), command)
    assert found is not None
    context = click.Context(found, resilient_parsing=True)
    (param,) = (item for item in found.params if item.name == name)
    kinds = {item.type for item in param.shell_complete(context, "mod")}
    assert kinds & {"file", "dir"}, param


class _Terminal:
    """A shell in a terminal."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.text = ""
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PS1": "$ ",
            "TERM": "dumb",
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
        }
        self._pid, self._descriptor = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)  # noqa: S606

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str) -> None:
        """Read until `text` appears; fail after two minutes, which no shell needs."""
        end = time.monotonic() + 120
        while text not in self.text:
            ready, _, _ = select.select([self._descriptor], [], [], max(0, end - time.monotonic()))
            assert ready, f"{text!r} did not appear in {self.text!r}"
            self.text += os.read(self._descriptor, 4096).decode(errors="replace")

    def close(self) -> None:
        os.close(self._descriptor)
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)


SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        'eval "$(_IRLOOP_COMPLETE=bash_source irloop)"',
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -Uz compinit && compinit -u && eval "$(_IRLOOP_COMPLETE=zsh_source irloop)"',
    ),
    "fish": (["fish", "--no-config", "-i"], "_IRLOOP_COMPLETE=fish_source irloop | source"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_files_names_and_inputs(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    shutil.copy(IR, tmp_path / "a_long_name.xml")
    words, setup = SHELLS[shell]
    terminal = _Terminal(words, tmp_path)
    try:
        terminal.type(f"{setup}; echo re''ady\n")
        terminal.wait_for("ready")
        for typed, completed in (
            ("irloop inspect a_lo", "inspect a_long_name.xml"),
            ("irloop transform a_long_name.xml --pass stateful_to_sta", "stateful_to_stateless"),
            ("irloop view a_long_name.xml -o a_lon", "-o a_long_name.xml"),
        ):
            terminal.text = ""
            terminal.type(f"{typed}\t")
            terminal.wait_for(completed)
            terminal.type("\x15")  # clears the line
    finally:
        terminal.close()
