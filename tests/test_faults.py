"""Killed writers, full disks, closed pipes, shrinking weights: files always stay complete.

Every target contains the complete output of one writer or the old content, and no temporary file is
left.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop import files

FIXTURES = Path(__file__).parent / "fixtures" / "models"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL, no fork")

KILLS = 60

#: The number of elements that writers write: a megabyte, so that they can be killed while they
#: write.
COUNT = 1 << 17


def _filled(number: int) -> dict[str, Any]:
    return {"x": np.full(COUNT, number, np.int64)}


def _is_whole(path: Path, writers: int) -> bool:
    """True if the file contains the complete output of one of the writers."""
    x = irloop.read_arrays(path)["x"]
    return x.shape == (COUNT,) and int(x[0]) in range(writers) and bool((x == x[0]).all())


def _forked(work: Callable[[], object]) -> int:
    """Run `work` in a forked process, which only reads and writes files; return its exit status."""
    with warnings.catch_warnings():
        # Python warns because a BLAS has threads, but the forked process does not use them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(0)


@contextlib.contextmanager
def _writing(folder: Path, count: int) -> Iterator[list[int]]:
    """Processes that write the same target again and again."""

    def write(number: int) -> None:
        while True:
            irloop.write_arrays(folder / "target.npz", _filled(number))

    children = [_forked(partial(write, number)) for number in range(count)]
    try:
        yield children
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


@pytest.mark.parametrize("named", [False, True])
def test_killed_writers_leave_whole_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: bool
) -> None:
    """With `named`, the system has no unnamed temporary files."""
    if named:
        monkeypatch.setattr(files, "_unnamed", lambda _: None)
    target = tmp_path / "target.npz"
    irloop.write_arrays(target, _filled(0))
    draw = random.Random(7)  # noqa: S311
    for _ in range(KILLS // 2):
        child = _forked(lambda: [irloop.write_arrays(target, _filled(1)) for _ in range(1000)])
        # The writer is killed before its first byte or after some writes; a write takes a few
        # milliseconds.
        time.sleep(draw.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert _is_whole(target, 2)
    irloop.write_arrays(target, _filled(0))
    assert [item.name for item in tmp_path.iterdir()] == ["target.npz"]


def test_eight_writers_of_one_target_leave_a_whole_one(tmp_path: Path) -> None:
    target = tmp_path / "target.npz"
    irloop.write_arrays(target, _filled(0))
    seen = set()
    with _writing(tmp_path, 8):
        for _ in range(40):
            assert _is_whole(target, 8)
            seen.add(target.stat().st_ino)
    # Meanwhile, the target was indeed written several times.
    assert len(seen) > 1
    irloop.write_arrays(target, _filled(0))
    assert [item.name for item in tmp_path.iterdir()] == ["target.npz"]


COMMANDS = {
    "ir": ["convert", "m.xml", "-o", "out.xml", "--no-validate"],
    "onnx": ["convert", "m.xml", "-o", "out.onnx", "--no-validate"],
    "npz": ["run", "m.xml", "-o", "out.npz"],
}


def _started(folder: Path, command: str, **options: Any) -> subprocess.Popen[bytes]:
    for suffix in (".xml", ".bin"):
        source = (FIXTURES / "recurrent" / "model").with_suffix(suffix)
        (folder / f"m{suffix}").write_bytes(source.read_bytes())
    arguments = [sys.executable, "-m", "irloop", *COMMANDS[command]]
    return subprocess.Popen(arguments, cwd=folder, **options)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_disk_that_fills_leaves_the_old_files(tmp_path: Path, command: str) -> None:
    """The system refuses to let any file grow beyond a few bytes."""
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))

    targets = [tmp_path / COMMANDS[command][3]]
    if command == "ir":
        targets.append(tmp_path / "out.bin")
    for target in targets:
        target.write_bytes(b"old")
    child = _started(tmp_path, command, preexec_fn=limit, stderr=subprocess.PIPE)
    _, errors = child.communicate(timeout=120)
    assert child.returncode in (1, 2), errors
    assert b"Traceback" not in errors
    assert all(target.read_bytes() == b"old" for target in targets)
    names = {item.name for item in tmp_path.iterdir()}
    assert names == {"m.xml", "m.bin", *(target.name for target in targets)}


@pytest.mark.parametrize("command", COMMANDS)
def test_closing_the_progress_pipe_does_not_stop_the_work(tmp_path: Path, command: str) -> None:
    """The pipe for progress output is closed, but the work is still done."""
    reader, writer = os.pipe()
    os.close(reader)
    child = _started(tmp_path, command, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    _, errors = child.communicate(timeout=120)
    assert b"Traceback" not in errors
    assert child.returncode >= 0
    left = {item.name for item in tmp_path.iterdir()} - {"m.xml", "m.bin"}
    assert left <= {"out.xml", "out.bin", "out.onnx", "out.npz"}
    if "out.onnx" in left:
        irloop.read_model(tmp_path / "out.onnx")


def test_weights_that_shrink_while_models_are_read_end_no_process(tmp_path: Path) -> None:
    """A process reads, runs and saves while its weights are cut off and made whole, again and
    again; if the weights were mapped, SIGBUS would kill the process.
    """
    from irloop.graph.tensor import PIECE

    model = irloop.read_model(FIXTURES / "recurrent" / "model.xml")
    path = tmp_path / "m.xml"
    irloop.save_model(model, path)
    weights = path.with_suffix(".bin")
    data = weights.read_bytes() + bytes(2 * PIECE)
    weights.write_bytes(data)

    def work() -> None:
        for _ in range(20):
            with contextlib.suppress(irloop.IrloopError):
                again = irloop.read_model(path)
                irloop.run(again, irloop.random_inputs(again))
                irloop.save_model(again, tmp_path / "out.xml")
        os._exit(7)

    child = _forked(work)
    draw = random.Random(3)  # noqa: S311
    ended = 0
    while not ended:
        os.truncate(weights, draw.randrange(len(data)))
        weights.write_bytes(data)
        ended, status = os.waitpid(child, os.WNOHANG)
    assert os.waitstatus_to_exitcode(status) == 7
    assert not [item.name for item in tmp_path.iterdir() if item.name.startswith(".")]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    ("streams", "status"),
    [(">&-", 2), ("2>&-", 0), (">&- 2>&-", 2), ("<&- 2>&-", 0), (">/dev/full 2>/dev/full", 2)],
)
def test_closed_and_full_streams_end_in_a_status(tmp_path: Path, streams: str, status: int) -> None:
    model = FIXTURES / "halving" / "model.xml"
    command = f'"{sys.executable}" -m irloop'
    copied = tmp_path / "copy.onnx"
    lines = f"""
        {command} inspect "{model}" {streams}; echo $? > status
        {command} convert "{model}" -o "{copied}" {streams.replace(">/dev/full", ">/dev/null")}
        echo $? >> status
    """
    subprocess.run(["sh", "-c", lines], cwd=tmp_path, check=True, capture_output=True)
    # The conversion writes its output to a file, and only notes to stderr.
    assert (tmp_path / "status").read_text().split() == [str(status), "0"]
    assert not irloop.validate(copied).has_errors
