"""The group: help, version, exit statuses, internal errors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import Result

import irloop as api

COMMANDS = ("convert", "validate", "check", "diff", "run", "inspect", "explain", "rules", "ops")

Irloop = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


def test_help_names_every_command_the_exit_status_and_completion(irloop: Irloop) -> None:
    result = irloop("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f"\n  {command} " in result.stdout
    assert "not checked" in result.stdout
    assert "_IRLOOP_COMPLETE" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(irloop: Irloop, command: str) -> None:
    result = irloop(command, "--help")
    assert result.exit_code == 0
    assert f"  irloop {command}" in result.stdout.partition("Examples:")[2]
    assert "--quiet" in result.stdout


def test_the_option_version_prints_the_version(irloop: Irloop) -> None:
    assert irloop("--version").stdout == f"irloop, version {version('irloop')}\n"


def test_an_unknown_command_is_wrong_usage(irloop: Irloop) -> None:
    result = irloop("frobnicate")
    assert result.exit_code == 2
    assert "no such command 'frobnicate'" in result.stderr
    assert result.stdout == ""


def test_an_internal_error_is_one_line_that_says_how_to_report_it(
    irloop: Irloop, recurrent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("the\ndetails")

    monkeypatch.setattr(api, "validate", broken)
    result = irloop("validate", recurrent)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first == "irloop: error: internal error: ZeroDivisionError: the"
    assert "--debug" in second


def test_debug_shows_the_traceback_of_an_internal_error(
    recurrent: Path, monkeypatch: pytest.MonkeyPatch, process: Process, tmp_path: Path
) -> None:
    broken = tmp_path / "sitecustomize.py"
    broken.write_text("import irloop\nirloop.validate = lambda *a, **k: 1 / 0\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = process("validate", recurrent, "--debug")
    assert done.returncode == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert "Traceback" not in process("validate", recurrent).stderr


def test_an_interrupt_causes_no_traceback(
    irloop: Irloop, recurrent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "validate", interrupted)
    result = irloop("validate", recurrent)
    assert (result.exit_code, result.stderr) == (130, "irloop: interrupted\n")


@pytest.mark.parametrize("arguments", [("--version", "-v"), ("-v", "--version")])
def test_the_version_names_engines_if_asked(irloop: Irloop, arguments: tuple[str, str]) -> None:
    lines = irloop(*arguments).stdout.splitlines()
    assert lines[0] == f"irloop, version {version('irloop')}"
    assert f"onnx {version('onnx')}" in lines
    assert f"onnxruntime {version('onnxruntime')}" in lines


def test_without_a_command_the_help_has_its_lines(irloop: Irloop) -> None:
    result = irloop()
    assert "\\n" not in result.output
    assert "\n  convert " in result.output


def test_the_module_is_the_same_command(process: Process) -> None:
    done = process("--version")
    assert (done.returncode, done.stdout) == (0, f"irloop, version {version('irloop')}\n")


def test_a_closed_pipe_causes_no_traceback(recurrent: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "irloop", "inspect", str(recurrent)],
            stdout=write_end,
            stderr=subprocess.PIPE,
            check=False,
            timeout=300,
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (0, b"")


#: Runs the command with a fake clock: the second after which progress is shown passes while the
#: model is validated, or not at all.
OWN_CLOCK = """
import sys, threading, time, irloop

waiting = []

class Timer:
    def __init__(self, seconds, call):
        assert seconds == 1
        self.call = call

    def start(self):
        waiting.append(self)

    def cancel(self):
        waiting.remove(self)

def validate(*arguments, check=irloop.validate, **options):
    if sys.argv[2] == "long":
        waiting[0].call()
    return check(*arguments, **options)

threading.Timer, irloop.validate = Timer, validate
# The line is drawn again only as time passes.
time.monotonic = lambda: 100.0
from irloop_cli.main import main
main(["validate", sys.argv[1]], prog_name="irloop")
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("work", ["short", "long"])
def test_progress_is_for_terminals_and_long_work(recurrent: Path, work: str) -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", OWN_CLOCK, str(recurrent), work],
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=False,
            timeout=300,
        )
        os.write(theirs, b"!")
        seen = b""
        while not seen.endswith(b"!"):
            seen += os.read(ours, 10_000)
    finally:
        os.close(theirs)
        os.close(ours)
    assert (done.returncode, done.stdout) == (0, b"no findings in 1 file\n")
    shown = f"\r\x1b[K1 of 1: {recurrent}\r\x1b[K".encode()
    assert seen == (shown + b"!" if work == "long" else b"!")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("frobnicate", "no such command 'frobnicate'"),
        ("convert", "missing argument 'INPUT'"),
        ("convert m.xml --frobnicate", "no such option '--frobnicate'"),
        ("validate --format xx m", "invalid value for '--format': 'xx' is not one of 'text'"),
        ("run no.xml", "invalid value for 'MODEL': File 'no.xml' does not exist"),
        ("convert m.xml --mean x", "invalid value for '--mean': 'x' is not numbers"),
        ("schema -o x.pdf", "x.pdf: the schema is written as .xsd"),
        ("view {ir} -o x.pdf", "x.pdf: pages are written as .htm, .html"),
        ("check {ir} {ir} --report x.pdf", "x.pdf: pages are written as .htm, .html"),
        ("inspect {ir} --draw x.pdf", "x.pdf: drawings are written as .dot, .svg"),
        ("extract {ir} -o x.pdf", "x.pdf: a part keeps the format .xml"),
        ("transform {ir} -o x.pdf --pass dead_code", "x.pdf: a transformation keeps the format"),
        ("convert {ir} -o x.pdf", "x.pdf: the suffix must be .onnx or .onnxtxt or .xml"),
        ("schema -o no/x.xsd", "no: no such folder"),
    ],
)
def test_all_errors_have_one_form(
    irloop: Irloop,
    recurrent: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = irloop(*words.format(ir=recurrent).split())
    assert (result.exit_code, result.stdout) == (2, "")
    first, *rest = result.stderr.splitlines()
    assert first.startswith("irloop: error: ")
    assert message in first
    assert all(line.startswith(("  fix: ", "  expected: ", "  found: ")) for line in rest)
    assert not list(tmp_path.iterdir())
