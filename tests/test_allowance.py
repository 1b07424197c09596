"""The number of steps that a command may take, according to the size of its files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irloop.allowance import STEPS, allowance_for
from irloop.kernels.work import OF_FLOATS


def test_a_check_of_an_ordinary_convolutional_net_has_enough_steps(tmp_path: Path) -> None:
    """16 layers with 64 channels and 3 x 3 kernels run on 160 x 160 pixels; a check runs each model
    six times.
    """
    weights = 16 * 64 * 64 * 9
    path = tmp_path / "model.onnx"
    path.touch()
    os.truncate(path, 4 * weights)
    allowance = allowance_for([str(path)], runs=10.0, full_runs=4.0)
    products_a_run = weights * 160 * 160
    assert products_a_run // OF_FLOATS < allowance.steps
    assert 12 * products_a_run // OF_FLOATS < allowance.all_steps


def test_a_small_file_gets_no_more_than_the_steps_of_its_runs(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"-" * 1024)
    allowance = allowance_for([str(path)], runs=10.0, full_runs=4.0)
    assert STEPS <= allowance.steps < 1.01 * STEPS
    assert 4 * STEPS <= allowance.all_steps < 1.01 * 4 * STEPS


def test_more_seconds_allow_more_steps(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.touch()
    one, two = (allowance_for([str(path)], seconds=seconds) for seconds in (60.0, 120.0))
    assert two.all_steps == 2 * one.all_steps


#: Blocks of one holder in a new process: each line of the output is what a block ended with.
BLOCKS = """
import time
from irloop.allowance import Allowance, Holder
from irloop.errors import LimitError

holder = Holder()

def block(memory, seconds, work):
    try:
        with holder.held(Allowance(memory, seconds)):
            work()
    except LimitError as error:
        print(error.diagnostics[0].code)
    else:
        print("done")

def endless():
    while True:
        pass
"""


def ended(script: str) -> list[str]:
    command = [sys.executable, "-c", BLOCKS + script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory")
def test_each_block_has_its_own_memory_limit() -> None:
    assert ended(
        """
block(200 << 20, 60.0, lambda: bytearray(100 << 20))
block(200 << 20, 60.0, lambda: bytearray(1 << 30))
bytearray(1 << 30)
block(2 << 30, 60.0, lambda: bytearray(1 << 30))
block(200 << 20, 60.0, lambda: bytearray(1 << 30))
"""
    ) == ["done", "LIM001", "done", "LIM001"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such timer")
def test_the_timer_of_a_block_ends_only_that_block() -> None:
    assert ended(
        """
block(1 << 30, 2.0, lambda: None)
time.sleep(2.5)
block(1 << 30, 0.2, endless)
block(1 << 30, 2.0, lambda: None)
block(1 << 30, 60.0, lambda: time.sleep(2.5))
"""
    ) == ["done", "LIM002", "done", "done"]
