"""Child processes end when their parent is killed, whatever they are doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irloop.engines import child_messages

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups exist on POSIX only")

#: Ways in which an engine may hang: in Python, in C without Python's lock, in C with it, in a child
#: process.
HANGS = {
    "computes": "while True: pass",
    "sleeps": "time.sleep(600)",
    "holds the lock": "ctypes.PyDLL(None).sleep(600)",
    "waits for a child": "subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])",
}

ENGINE = """
import ctypes, os, subprocess, sys, time
def make(path):
    def run(values):
        print(os.getpid(), file=open(path + ".pid", "w"))
        os.replace(path + ".pid", path)
        {hang}
    return run
"""

PARENT = """
import sys
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
if __name__ == "__main__":
    with Process(engine_of("own_engine:make"), sys.argv[1]) as process:
        process.run([], seconds=600)
"""


def awaited(path: Path) -> int:
    """Wait for the process number that an engine writes to a file when it starts to run."""
    end = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < end, "the engine did not start"
        time.sleep(0.02)
    return int(path.read_text())


def assert_group_ends(leader: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            os.killpg(leader, 0)
        except (ProcessLookupError, PermissionError):
            return
        if time.monotonic() > end:
            os.killpg(leader, signal.SIGKILL)
            pytest.fail("the engine outlived its parent")
        time.sleep(0.02)


@pytest.mark.parametrize("hang", sorted(HANGS))
def test_an_engine_dies_with_a_killed_parent(tmp_path: Path, hang: str) -> None:
    if hang == "holds the lock" and sys.platform != "linux":
        pytest.skip("only Linux sends a signal when a pipe closes")
    (tmp_path / "own_engine.py").write_text(ENGINE.format(hang=HANGS[hang]), encoding="utf-8")
    (tmp_path / "parent.py").write_text(PARENT, encoding="utf-8")
    places = os.pathsep.join([str(tmp_path), *sys.path])
    started = tmp_path / "started"
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), str(started)],
        env={**os.environ, "PYTHONPATH": places},
    ) as parent:
        engine = awaited(started)
        assert engine != parent.pid
        parent.kill()
    assert_group_ends(engine)


def test_a_worker_without_a_lifeline_ends_with_its_input(tmp_path: Path) -> None:
    """The end of its input also ends a worker; this is the only way if such a pipe cannot be passed
    on.
    """
    (tmp_path / "own_engine.py").write_text(ENGINE.format(hang="time.sleep(600)"), encoding="utf-8")
    started = tmp_path / "started"
    with subprocess.Popen(
        [sys.executable, "-m", "irloop.engines.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    ) as worker:
        assert worker.stdin is not None
        child_messages.send(worker.stdin, {"engine": "own_engine:make"})
        child_messages.send(worker.stdin, {"model": str(started), "options": {}})
        child_messages.send(worker.stdin, {"reset": True})
        awaited(started)
        worker.stdin.close()
        assert worker.wait(60) == 0


def test_a_lifeline_that_is_closed_already_ends_the_process() -> None:
    reader, writer = os.pipe()
    os.close(writer)
    code = "import sys, time; from irloop.lifeline import end_with;"
    code += "end_with(int(sys.argv[1])); time.sleep(600)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(reader)],
            pass_fds=[reader],
            check=False,
            timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    finally:
        os.close(reader)
    assert done.returncode == -signal.SIGKILL


def test_openvino_reports_nothing_about_its_import() -> None:
    """Its telemetry forks a process, which would keep our pipes open."""
    pytest.importorskip("openvino")
    code = (
        "import sys\n"
        "from irloop.engines import worker\n"
        "worker._maker('openvino')\n"
        "print([name for name, module in sys.modules.items() if module and 'telemetry.' in name])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, check=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
