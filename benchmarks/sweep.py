"""The throughput of `irloop sweep` against bare processes that do the same without a cluster.

    python -m benchmarks.sweep --models 2000 --rounds 2
    python -m benchmarks.sweep --models 500 --do validate,convert,check

Models are copies of the fixtures with other names and digests. Each round measures both, one after
the other, by the clock and by the time of all processors. The sweep is measured whole and without
what a sweep of one model takes: starting a cluster does not grow with the number of models.

Bare processes validate each model, convert it and write the conversion, parse it only once, and
start without a cluster; with `check` they also compare it with the model, on the engines. They do
not do what else a sweep does: compute digests, hold limits of
memory and time, measure the peak memory of each model, survive a crash, and write a table. So the
difference is the cost of all that.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import irloop
from irloop.files import ParsedOnce

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"


def make(folder: Path, count: int) -> None:
    """Copies of the models of the fixtures, each with a comment of its own."""
    originals = sorted((FIXTURES / "models").rglob("*.xml"))
    originals += sorted((FIXTURES / "rules").rglob("good_*.xml"))
    for number in range(count):
        original = originals[number % len(originals)]
        place = folder / f"{number // 1000:04}"
        place.mkdir(parents=True, exist_ok=True)
        target = place / f"{original.stem}_{number:07}.xml"
        target.write_bytes(original.read_bytes() + b"<!-- %d -->" % number)
        weights = original.with_suffix(".bin")
        if weights.exists():
            target.with_suffix(".bin").write_bytes(weights.read_bytes())


def work(models: Sequence[str], output: str, *, check: bool = False) -> None:
    """Validate and convert in this process, as a sweep does; with `check`, also compare both.

    A valid file is parsed only once, and the results are in small folders: each writer looks for
    leftovers in the folder of its file.
    """
    for number, model in enumerate(models):
        folder = os.path.join(output, f"{os.getpid()}_{number // 100}")
        os.makedirs(folder, exist_ok=True)
        file = ParsedOnce(model)
        if irloop.validate(file).has_errors:
            file.close()
            file = ParsedOnce(model)
        target = os.path.join(folder, f"{Path(model).stem}.onnx")
        try:
            converted, _ = irloop.convert(irloop.read_model(file), "onnx")
            irloop.save_model(converted, target)
            if check:
                irloop.compare(model, target, max_memory=8 << 30)
        except irloop.IrloopError:
            continue
        finally:
            file.close()


def bare(folder: Path, processes: int, steps: str) -> tuple[float, float]:
    """Seconds that bare processes take, each for its part of the models, and those of the
    processors.
    """
    models = sorted(map(str, folder.rglob("*.xml")))
    with tempfile.TemporaryDirectory() as output:
        context = multiprocessing.get_context("spawn")
        running = [
            context.Process(
                target=work,
                args=(models[number::processes], output),
                kwargs={"check": steps.endswith("check")},
            )
            for number in range(processes)
        ]
        before = used_by_children()
        start = time.perf_counter()
        for process in running:
            process.start()
        for process in running:
            process.join()
        return time.perf_counter() - start, used_by_children() - before


def swept(folder: Path, processes: int, steps: str) -> tuple[float, float]:
    """Seconds that a sweep takes, and those of the processors."""
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "irloop", "sweep", str(folder), "-o", output]
        command += ["--do", steps, "--workers", str(processes)]
        before = used_by_children()
        start = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
        seconds = time.perf_counter() - start
        assert done.returncode in (0, 1)
        # Processes that outlive the command become children of this one, and count when they end.
        for _ in range(60):
            time.sleep(0.05)
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)
        return seconds, used_by_children() - before


def used_by_children() -> float:
    """Processor seconds of the children of this process that have ended, and of those below."""
    times = os.times()
    return times.children_user + times.children_system


def adopt_orphans() -> None:
    """Become the parent of processes below whose parents end (Linux)."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    choices = ("validate,convert", "validate,convert,check")
    parser.add_argument("--do", choices=choices, default=choices[0], dest="steps")
    options = parser.parse_args()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "zoo"
        make(folder, options.models)
        nothing = Path(name) / "one"
        make(nothing, 1)
        for number in range(options.rounds):
            first = bare(folder, options.processes, options.steps)
            start = swept(nothing, options.processes, options.steps)
            second = swept(folder, options.processes, options.steps)
            for what, at in (("clock", 0), ("processors", 1)):
                running = first[at] / (second[at] - start[at])
                print(
                    f"round {number}, {what}: bare {first[at]:.1f} s, sweep {second[at]:.1f} s, "
                    f"of one model {start[at]:.1f} s: {first[at] / second[at]:.0%} of the "
                    f"throughput, {running:.0%} without the start",
                    flush=True,
                )


if __name__ == "__main__":
    main()
