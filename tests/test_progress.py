"""Progress: what long work reports, and the line that a terminal shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest

import irloop
from irloop.progress import counted, listening, told

SQUARED = """<ir_version: 8, opset_import: ["" : 16]>
m (int64 trip, float[2] x) => (float[2] last) {
   last = Loop (trip, , x) <body = step (int64 i, bool c, float[2] s) => (bool c, float[2] n) {
      n = Mul (s, s)
   }>
}
"""

#: Runs a command on a terminal with a fake clock. Half of the first of four pieces takes 3 seconds,
#: so all of them take 24, of which 21 are left.
OWN_CLOCK = """
import sys, threading, time, irloop
from irloop.progress import told

waiting, clock = [], [100.0]

class Timer:
    def __init__(self, seconds, call):
        self.call = call

    def start(self):
        waiting.append(self)

    def cancel(self):
        pass

def diff(*arguments, check=irloop.diff, **options):
    told("layers", 0, 4)
    clock[0] += 1
    told("weights", 0, 2)
    clock[0] += 2
    told("weights", 1, 2)
    waiting[-1].call()
    told("weights", 2, 2)
    clock[0] += 3
    told("layers", 1, 4)
    waiting[-1].call()
    clock[0] += 8
    waiting[-1].call()
    clock[0] += 20
    waiting[-1].call()
    told("layers", 4, 4)
    clock[0] += 1
    told("bytes", 7)
    waiting[-1].call()
    return check(*arguments, **options)

threading.Timer, time.monotonic, irloop.diff = Timer, lambda: clock[0], diff
from irloop_cli.main import main
main(["diff", sys.argv[1], sys.argv[1]], prog_name="irloop")
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_nested_counts_and_the_remaining_time(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(onnx.parser.parse_model(SQUARED).SerializeToString())
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", OWN_CLOCK, str(model)],
            env=os.environ | {"COLUMNS": ""},
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
    assert done.returncode == 0, seen
    assert done.stdout == b"the same\n"
    head = f"comparing {model} and {model}"
    lines = seen.decode().split("\r\x1b[K")
    assert lines[1] == f"{head}: layers 0 of 4, weights 1 of 2, about 21 s left"
    # One piece took 6 seconds, so three more take 18.
    assert f"{head}: layers 1 of 4, about 18 s left" in lines
    # Without further reports, 8 seconds later 10 are left; another 20 seconds later, the estimate
    # has proved wrong, and the line shows how often it has been drawn.
    assert f"{head}: layers 1 of 4, about 10 s left" in lines
    assert f"{head}: layers 1 of 4 (4 s)" in lines
    # Work without a total has no estimated end; the line has been drawn five times.
    assert f"{head}: bytes 7 (5 s)" in lines
    assert lines[-1] == "!"


def test_items_are_counted() -> None:
    heard: list[tuple[str, int, int | None]] = []
    with listening(lambda *told: heard.append(told)):
        assert list(counted("things", "abcde", 5, every=2)) == list("abcde")
        told("more", 3)
    assert heard == [
        ("things", 0, 5), ("things", 2, 5), ("things", 4, 5), ("things", 5, 5), ("more", 3, None)
    ]  # fmt: skip
    assert list(counted("things", "ab", 2)) == ["a", "b"]
    assert len(heard) == 5


def test_every_long_work_reports_how_far_it_is(tmp_path: Path) -> None:
    """All kinds of work that may take long for a single model, each with its number of pieces."""
    first, second = tmp_path / "m.onnx", tmp_path / "m.xml"
    first.write_bytes(onnx.parser.parse_model(SQUARED).SerializeToString())
    heard: list[tuple[str, int, int | None]] = []

    def work(what: str) -> set[int | None]:
        """Return the totals that were reported for a kind of work, and forget all reports."""
        found = {total for name, _, total in heard if name == what}
        heard.clear()
        return found

    with listening(lambda *told: heard.append(told)):
        model = irloop.read_model(first)
        # The file has a single node, besides the body.
        assert work("nodes") == {1}
        inputs = {"trip": np.int64(200), "x": np.ones(2, np.float32)}
        irloop.run(model, inputs)
        assert {total for name, _, total in heard if name == "operations"} == {1}
        assert work("iterations") == {200}
        irloop.infer(model)
        assert work("types") == {1}
        converted, _ = irloop.convert(model)
        assert len(work("passes")) >= 1
        irloop.save_model(converted, second)
        layers = len(
            [*converted.graph.parameters, *converted.graph.nodes, *converted.graph.results]
        )
        assert work("layers") == {layers}
        irloop.read_model(second)
        assert {name for name, _, _ in heard} >= {"layers parsed", "layers"}
        assert work("layers") == {layers}
        irloop.validate(second)
        (rules,) = work("rules")
        assert rules is not None
        assert rules > 20
        irloop.diff(model, model)
        assert work("nodes") == {1}
        irloop.compare(model, converted, engines="numpy", seeds=1)
        names = {name for name, _, _ in heard}
        assert names >= {"trials", "comparing trials"}


@pytest.mark.parametrize("format", ["svg", "dot"])
def test_drawing_reports_how_far_it_is(tmp_path: Path, format: Literal["svg", "dot"]) -> None:
    """The two sums cross the two negations, so the layers are sorted to avoid the crossing."""
    text = """
    m (float[2] a, float[2] b) => (float[2] last) {
       p = Neg (a)  q = Neg (b)  r = Abs (a)  s = Abs (b)
       t = Add (p, s)  u = Add (q, r)  v = Add (t, u)
       last = Relu (v)
    }"""
    path = tmp_path / "m.onnx"
    head = '<ir_version: 8, opset_import: ["" : 16]>'
    path.write_bytes(onnx.parser.parse_model(head + text).SerializeToString())
    model = irloop.read_model(path)
    heard: list[tuple[str, int, int | None]] = []
    with listening(lambda *told: heard.append(told)):
        irloop.draw(model, format)
        irloop.draw(model, format, limit=3)
    # Eight operations, two inputs and an output; then three operations, and a note about the rest.
    works = {("operations", 8), ("boxes", 11), ("operations", 3), ("boxes", 7)}
    works |= {("phases", 3), ("sweeps", 12)} if format == "svg" else {("phases", 2)}
    assert {(name, total) for name, _, total in heard} == works
    for name, total in works:
        assert (name, total, total) in heard


#: Runs a command on a terminal, and shows its progress while it writes the page.
WRITES_PAGE = """
import sys, threading, irloop

waiting = []

class Timer:
    def __init__(self, seconds, call):
        self.call = call

    def start(self):
        waiting.append(self)

    def cancel(self):
        pass

def save_report(*arguments, save=irloop.save_report):
    waiting[-1].call()
    return save(*arguments)

threading.Timer, irloop.save_report = Timer, save_report
from irloop_cli.main import main
main(sys.argv[1:], prog_name="irloop")
"""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("columns", ["", "30"])
@pytest.mark.parametrize("command", ["diff", "validate"])
def test_a_report_page_shows_progress(tmp_path: Path, command: str, columns: str) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(onnx.parser.parse_model(SQUARED).SerializeToString())
    page = str(tmp_path / "page.html")
    models = [str(model)] * (2 if command == "diff" else 1)
    ours, theirs = os.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", WRITES_PAGE, command, *models, "--report", page],
            env=os.environ | {"COLUMNS": columns},
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            check=True,
            timeout=300,
        )
        os.write(theirs, b"!")
        seen = b""
        while not seen.endswith(b"!"):
            seen += os.read(ours, 10_000)
    finally:
        os.close(theirs)
        os.close(ours)
    line = f"writing {page}"
    assert (line[:29] if columns else line) in seen.decode().split("\r\x1b[K")
