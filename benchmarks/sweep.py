"""The throughput of `irloop sweep` against bare processes that do the same without a cluster.

    python -m benchmarks.sweep --models 2000 --rounds 2

Models are copies of the fixtures with other names and digests. Each round measures both, one after
the other. The sweep is measured whole and from its first result on: starting a cluster takes some
seconds, which do not grow with the number of models.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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


def work(models: Sequence[str], output: str) -> None:
    """Validate and convert in this process, as a sweep does.

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
        try:
            converted, _ = irloop.convert(irloop.read_model(file), "onnx")
            irloop.save_model(converted, os.path.join(folder, f"{Path(model).stem}.onnx"))
        except irloop.IrloopError:
            continue
        finally:
            file.close()


def bare(folder: Path, processes: int) -> tuple[float, float]:
    """Seconds that bare processes take, each for its part of the models, and those of the
    processors.
    """
    models = sorted(map(str, folder.rglob("*.xml")))
    with tempfile.TemporaryDirectory() as output:
        context = multiprocessing.get_context("spawn")
        running = [
            context.Process(target=work, args=(models[number::processes], output))
            for number in range(processes)
        ]
        before = os.times()
        start = time.perf_counter()
        for process in running:
            process.start()
        for process in running:
            process.join()
        after = os.times()
        used = after.children_user + after.children_system
        used -= before.children_user + before.children_system
        return time.perf_counter() - start, used


def swept(folder: Path, processes: int) -> tuple[float, float]:
    """Seconds that a sweep takes, and those of the processors."""
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "irloop", "sweep", str(folder), "-o", output]
        command += ["--do", "validate,convert", "--workers", str(processes)]
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:  # noqa: S603
            used = processor_seconds(process)
        assert process.returncode in (0, 1)
        return time.perf_counter() - start, used


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process; the processor time of it and all below it (Linux)."""
    seconds: dict[int, float] = {}
    while process.poll() is None:
        time.sleep(0.2)
        parents: dict[int, int] = {}
        used: dict[int, float] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                number, text = int(stat.parent.name), stat.read_text("utf-8", "replace")
            except OSError:
                continue
            fields = text.rpartition(")")[2].split()
            parents[number] = int(fields[1])
            used[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        for number, spent in used.items():
            ancestor = number
            while ancestor not in (0, process.pid):
                ancestor = parents.get(ancestor, 0)
            if ancestor:
                seconds[number] = spent
    return sum(seconds.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "zoo"
        make(folder, options.models)
        nothing = Path(name) / "one"
        make(nothing, 1)
        for number in range(options.rounds):
            first = bare(folder, options.processes)
            start = swept(nothing, options.processes)
            second = swept(folder, options.processes)
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
