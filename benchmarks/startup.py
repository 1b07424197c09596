"""The time of a small ``irloop validate`` process, as a ratio to its two imports.

    python benchmarks/startup.py

The baseline is ``python -c "import click, lxml.etree"`` with the same interpreter; both alternate,
so that a busy machine slows both. The aim is a ratio of at most 1.6.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

MODEL = Path(__file__).resolve().parents[1] / "tests/fixtures/models/recurrent/model.xml"
COMMANDS = {
    "python": ["-c", "pass"],
    "import click, lxml.etree": ["-c", "import click, lxml.etree"],
    "irloop --help": ["-m", "irloop", "--help"],
    "irloop validate model.xml": ["-m", "irloop", "validate", str(MODEL)],
}
ROUNDS = 15


def seconds(arguments: list[str]) -> float:
    """Wall time of one process; it must succeed."""
    # An installed package has its bytecode; a checkout gets it in the first, unmeasured round.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, *arguments]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603
    return time.perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for arguments in COMMANDS.values():
        seconds(arguments)
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = medians["import click, lxml.etree"]
    for name, median in medians.items():
        print(f"{name:<28} {median * 1000:7.1f} ms  {median / base:5.2f}")


if __name__ == "__main__":
    main()
