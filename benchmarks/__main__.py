"""The table of speed: irloop and its peers in one run, one thread each, taking turns.

    python -m benchmarks [--only TEXT ...] [--rounds 5] [-o FILE] [--history]

The shortest of several times is compared, since other work on the machine only adds to it. The
results are written as JSON beside the table (`-o`); `--history` also appends them as one line to
`benchmarks/history.jsonl`, which has one line a release. If a work fails, for instance because the
outputs of irloop and of its peer differ, its line names the failure and the exit status is 1.
`--layers`, `--megabytes`, `--iterations`, `--many-layers` and `--models` make the works smaller
for a first look.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import onnxruntime

from benchmarks.speed_works import Sizes, Work, works

HISTORY = Path(__file__).with_name("history.jsonl")
#: The least time for the turns of a work, unless it has few rounds.
SECONDS = 1.0
HEAD = f"{'work':<52}{'irloop':>11}  {'peer':<13}{'its time':>11}{'ratio':>8}{'goal':>7}"


def measured(work: Work, rounds: int) -> dict[str, float]:
    """The shortest time of irloop and of each peer, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        calls = work.prepare(Path(folder))
        best = dict.fromkeys(calls, float("inf"))
        begin, turn = time.perf_counter(), 0
        # Short works get more turns: the shortest of few is chance on a busy machine.
        while turn < min(rounds, work.rounds) or (
            turn < work.rounds and time.perf_counter() - begin < SECONDS
        ):
            turn += 1
            for name, call in calls.items():
                gc.collect()
                start = time.perf_counter()
                call()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def row(work: Work, best: dict[str, float]) -> dict[str, Any]:
    """A line of the table as data."""
    own = best["irloop"]
    ratios = {name: round(own / seconds, 3) for name, seconds in best.items() if name != "irloop"}
    return {
        "group": work.group,
        "work": work.name,
        "seconds": {name: round(seconds, 6) for name, seconds in best.items()},
        "ratios": ratios,
        "goals": work.goals,
    }


def measured_row(work: Work, rounds: int) -> dict[str, Any]:
    """Measure a work. If it fails, its line names the failure, and the table continues."""
    try:
        return row(work, measured(work, rounds))
    except Exception as error:
        found = {"group": work.group, "work": work.name, "seconds": {}, "ratios": {}}
        return {**found, "goals": work.goals, "failure": failure_text(error)}


def failure_text(error: Exception) -> str:
    """An exception in one line: its type, and what it tells."""
    text = str(error)
    if isinstance(error, subprocess.CalledProcessError) and error.stderr:
        text = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    found = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: {'; '.join(found[:4])}"


def lines(found: dict[str, Any]) -> Iterator[str]:
    """A line of the table as text, one for each peer."""
    if "failure" in found:
        yield f"{found['group']}: {found['work']}".ljust(52) + f"  failed: {found['failure']}"
        return
    own = found["seconds"]["irloop"]
    for name, ratio in found["ratios"].items():
        title = f"{found['group']}: {found['work']}"
        goal = found["goals"].get(name)
        wanted = "" if goal is None else f"{goal:g}{' ' if ratio <= goal else '!'}"
        seconds = found["seconds"][name]
        times = f"{own * 1e3:>8.1f} ms  {name:<13}{seconds * 1e3:>8.1f} ms"
        yield f"{title:<52}{times}{ratio:>8.2f}{wanted:>7}"


def machine() -> dict[str, str]:
    """What the figures depend on."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return {
        "commit": told.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnxruntime": str(onnxruntime.__version__),
        "processor": platform.machine(),
    }


def main() -> int:
    """Print the table and write the JSON."""
    standard = Sizes()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="works whose line has the text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=standard.layers)
    parser.add_argument("--megabytes", type=int, default=standard.megabytes)
    parser.add_argument("--iterations", type=int, default=standard.iterations)
    parser.add_argument("--many-layers", type=int, default=standard.many_layers)
    parser.add_argument("--models", type=int, default=standard.models)
    parser.add_argument("-o", "--output", type=Path, default=Path("speed.json"))
    parser.add_argument("--history", action="store_true")
    options = parser.parse_args()
    sizes = Sizes(
        options.layers,
        options.megabytes,
        options.iterations,
        options.many_layers,
        options.models,
    )
    chosen = [
        work
        for work in works(sizes)
        if not options.only or any(text in f"{work.group}: {work.name}" for text in options.only)
    ]
    if not chosen:
        parser.error("no work has this text")
    print(HEAD, flush=True)
    rows = []
    for work in chosen:
        rows.append(measured_row(work, options.rounds))
        print("\n".join(lines(rows[-1])), flush=True)
    result = {**machine(), "rows": rows}
    options.output.write_text(f"{json.dumps(result, indent=1)}\n", encoding="utf-8")
    if options.history:
        with HISTORY.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(result)}\n")
    return 1 if any("failure" in found for found in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
