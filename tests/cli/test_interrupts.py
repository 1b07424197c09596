"""Signals end the command quietly, at any moment, and leave no temporary files."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals like these")

#: What a planted module does: it tells that it was reached, and waits for the signal.
WAIT = """
import pathlib, time
with open({pipe!r}, "w") as pipe:
    pipe.write("here")
time.sleep(600)
"""

#: NumPy and other modules turn an interrupt of their own loading into an ImportError.
DISGUISED = """
try:
{wait}
except KeyboardInterrupt:
    raise ImportError("numpy._core.multiarray failed to import") from None
"""

#: A shell that starts the tests in the background lets them ignore Ctrl-C, and nohup SIGHUP.
RESET = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""

SIGNALS = {"SIGINT": "interrupted", "SIGTERM": "ended by SIGTERM", "SIGHUP": "ended by SIGHUP"}


def plant(folder: Path, name: str, text: str) -> None:
    (folder / "sitecustomize.py").write_text(RESET, "utf-8")
    (folder / f"{name}.py").write_text(text, "utf-8")


def ended(
    arguments: Sequence[object], places: Path, pipe: Path, name: str, *, script: bool = False
) -> tuple[int, str]:
    """Start irloop, send it a signal once `pipe` was written, and return its status and stderr."""
    os.mkfifo(pipe)
    # Opened for both, so that neither side waits for the other.
    reader = os.open(pipe, os.O_RDWR)
    program = [sys.executable, "-m", "irloop"]
    if script:
        (entry,) = entry_points(group="console_scripts", name="irloop")
        program = [sys.executable, "-c", f"from {entry.module} import main; main()"]
    with subprocess.Popen(
        [*program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(places)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as process:
        while process.poll() is None and not select.select([reader], [], [], 0.1)[0]:
            pass
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=120)
    reached = select.select([reader], [], [], 0)[0]
    os.close(reader)
    assert reached, errors
    return process.returncode, errors


@pytest.mark.parametrize("script", [False, True])
def test_ctrl_c_before_the_command_is_known(
    recurrent: Path, tmp_path: Path, *, script: bool
) -> None:
    pipe = tmp_path / "pipe"
    plant(tmp_path, "click", WAIT.format(pipe=str(pipe)))
    found = ended(["validate", recurrent], tmp_path, pipe, "SIGINT", script=script)
    assert found == (130, "irloop: interrupted\n")


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("disguised", [False, True])
def test_a_signal_while_numpy_loads(
    recurrent: Path, tmp_path: Path, name: str, *, disguised: bool
) -> None:
    pipe = tmp_path / "pipe"
    text = WAIT.format(pipe=str(pipe))
    if disguised:
        text = DISGUISED.format(wait="\n".join(f"    {line}" for line in text.splitlines()))
    plant(tmp_path, "numpy", text)
    status = 128 + getattr(signal, name)
    found = ended(["run", recurrent], tmp_path, pipe, name)
    assert found == (status, f"irloop: {SIGNALS[name]}\n")


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_leaves_no_temporary_files(recurrent: Path, tmp_path: Path, name: str) -> None:
    """An engine of the test waits, while the result lies in a scratch folder beside the output."""
    pipe, out = tmp_path / "pipe", tmp_path / "out"
    out.mkdir()
    places = tmp_path / "places"
    places.mkdir()
    lines = "\n".join(f"    {line}" for line in WAIT.format(pipe=str(pipe)).splitlines())
    plant(places, "waiting", f"def run(path):\n{lines}\n")
    arguments = ["convert", recurrent, "-o", out / "m.onnx", "--check"]
    found = ended([*arguments, "--engines", "waiting:run"], places, pipe, name)
    assert found == (128 + getattr(signal, name), f"irloop: {SIGNALS[name]}\n")
    assert list(out.iterdir()) == []


def test_a_signal_that_the_parent_ignores_stays_ignored() -> None:
    """`nohup irloop ...` goes on when the terminal closes."""
    command = "import signal, sys, os\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    command += "from irloop_cli import interrupts\ninterrupts.raise_when_they_come()\n"
    command += "os.kill(os.getpid(), signal.SIGHUP)\nprint('goes on')\n"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout == "goes on\n"
