"""A campaign without libFuzzer: randomly changed seeds go through everything that users do.

    python fuzz/campaign.py onnx --seconds 60 --seed 1

Seeds are the corpus, the models of the tests and, for ONNX, the test models of the onnx package;
each is also converted to the other format. Inputs run successively in a child process with system
limits, which is restarted after an input killed it or took too long. Input N of a seed is always
the same. Prints a JSON object with the counts; exit status 1 when something was found, and the
inputs are in `--output`, each killed or slow process with the call stack that it ended in: memory
that an earlier input damaged may end it at an innocent one.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import json
import mmap
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from importlib import import_module
from pathlib import Path
from typing import Any

FUZZ = Path(__file__).resolve().parent
KINDS = {"ir": ".xml", "old-ir": ".xml", "onnx": ".onnx", "npz": ".npz", "settings": ".toml",
         "ir-readings": ".xml", "onnx-readings": ".onnx", "page": ".onnx", "table": ".parquet",
         "archive": ".zip", "onnx-text": ".onnxtxt"}  # fmt: skip

#: The limit of one input in processor seconds. A process that does not heed it is ended after
#: HANGING processor seconds, or after BLOCKED seconds of the clock.
SLOW, HANGING, BLOCKED = 10.0, 30.0, 600.0

#: The memory limit of the process; its address space may be three times as large.
MEMORY = 1 << 30

#: Larger seeds are slow to change and to run.
BIGGEST_SEED = 16_000

#: A process ends after this many inputs, since engines and caches grow.
TURNS = 20_000

#: Where the files of an input are, if the system has a file system in memory: a disk takes longer
#: to write one file than irloop takes for one input.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (a new folder)

#: The objects of a process are frozen after so many inputs each, so that garbage is only searched
#: for among those of a few inputs.
FREEZING = 100

#: The size of what a worker shares with its parent: the number of the input, and its start time,
#: two doubles. Each is written at once, so that the parent never reads half of one.
STATE = 16


class Slow(BaseException):
    """One input took too much processor time."""


def _expire(number: int, frame: object) -> None:
    raise Slow


def worker(kind: str, seed: int, first: int, count: int, output: Path) -> None:
    """Create and run inputs; print one line for each that did harm."""
    resource.setrlimit(resource.RLIMIT_AS, (3 * MEMORY, 3 * MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path.insert(0, str(FUZZ))
    harness = import_module("harness")
    seeds = [path.read_bytes() for path in sorted((output / "seeds" / kind).iterdir())]
    mutator = import_module("mutations").Mutator(kind, seeds, seed)
    path = harness.folder / f"m{KINDS[kind]}"
    path.with_suffix(".bin").write_bytes(bytes(range(256)) * 256)
    signal.signal(signal.SIGPROF, _expire)
    with open(output / f"state-{kind}", "r+b") as file:
        state = memoryview(mmap.mmap(file.fileno(), STATE)).cast("d")
    stack = open(output / f"stack-{kind}", "w")  # noqa: SIM115 (open until the process ends)
    faulthandler.enable(stack)
    faulthandler.register(signal.SIGUSR1, stack)
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    for number in range(first, first + count):
        state[1], state[0] = time.monotonic(), float(number)
        path.write_bytes(mutator.make(number))
        found = ""
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            harness.STEPS[kind](path)
        except BaseException as error:
            found = _named(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if held > MEMORY and held > highest + (100 << 20):
            found = found or f"memory {held >> 20} MB"
            highest = held
        if found:
            print(json.dumps([number, found]), flush=True)
        if number % FREEZING == 0:
            gc.collect()
            gc.freeze()
    shutil.rmtree(harness.folder, ignore_errors=True)


def _named(error: BaseException) -> str:
    """The cause of an exception, and its last location in irloop."""
    cause = error.__cause__ or error
    place, where = cause.__traceback__, ""
    while place is not None:
        _, inside, rest = place.tb_frame.f_code.co_filename.rpartition("/irloop/")
        if inside:
            where = f"{rest}:{place.tb_lineno}"
        place = place.tb_next
    return f"{type(cause).__name__}@{where or str(cause)[:50]}"


def _processor_seconds(pid: int) -> float:
    """The processor time of a process, which does not depend on other processes."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Campaign:
    """The counts of a campaign, and its worker."""

    def __init__(self, kind: str, seed: int, output: Path) -> None:
        self.kind, self.seed, self.output = kind, seed, output
        self.counts: dict[str, int] = {}
        self.inputs = 0
        self._state = output / f"state-{kind}"

    def run(self, seconds: float) -> None:
        """Run inputs until the time is over, continuing the last campaign with this seed."""
        end = time.monotonic() + seconds
        place = self.output / f"next-{self.kind}-{self.seed}"
        first = int(place.read_text()) if place.exists() else 0
        while time.monotonic() < end:
            after = self._turn(first, end)
            self.inputs += after - first
            first = after
            place.write_text(str(first))

    def _turn(self, first: int, end: float) -> int:
        """Run one worker's inputs from `first` on; returns the number of the next input."""
        self._state.write_bytes(memoryview(array("d", [first, time.monotonic()])))
        command = [sys.executable, "-W", "ignore", __file__, self.kind, "--seed", str(self.seed)]
        command += ["--output", str(self.output), "--worker", str(first), str(TURNS)]
        folder = Path(tempfile.mkdtemp(prefix="fuzz-of-irloop-", dir=IN_MEMORY))
        with tempfile.TemporaryFile() as lines:
            # Our own program and files.
            child = subprocess.Popen(  # noqa: S603
                command, stdout=lines, stderr=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": str(folder)},
            )  # fmt: skip
            ended = self._watched(child, end)
            lines.seek(0)
            for line in lines:
                # A killed process may leave an incomplete line.
                with contextlib.suppress(ValueError):
                    number, found = json.loads(line)
                    self._keep(number, found)
        shutil.rmtree(folder, ignore_errors=True)
        number = int(self._progress()[0])
        if ended == "over":
            return number
        if ended:
            self._keep(number, ended)
        return number + 1

    def _progress(self) -> tuple[float, float]:
        """The number of the input that the worker runs, and when it began."""
        number, begun = array("d", self._state.read_bytes())
        return number, begun

    def _watched(self, child: subprocess.Popen[bytes], end: float) -> str:
        """Wait for a worker; return "" if it finished, "over" at the time limit, or its error."""
        seen, used = -1.0, 0.0
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = child.wait(0.5)
                return f"status {code}" if code else ""
            number, begun = self._progress()
            if number != seen:
                seen, used = number, _processor_seconds(child.pid)
            late = _processor_seconds(child.pid) - used > HANGING
            late = late or time.monotonic() - begun > BLOCKED
            if late:
                # The worker writes its call stack.
                child.send_signal(signal.SIGUSR1)
                time.sleep(1)
            if late or time.monotonic() > end:
                child.kill()
                child.wait()
                return "hang" if late else "over"

    def _keep(self, number: int, found: str) -> None:
        self.counts[found] = self.counts.get(found, 0) + 1
        if self.counts[found] > 1:
            return
        sys.path.insert(0, str(FUZZ))
        mutations = import_module("mutations")
        seeds = sorted((self.output / "seeds" / self.kind).iterdir())
        data = mutations.Mutator(self.kind, [item.read_bytes() for item in seeds], self.seed).make(
            number
        )
        name = re.sub(r"\W+", "_", found)
        kept = self.output / f"found_{self.kind}_{name}{KINDS[self.kind]}"
        kept.write_bytes(data)
        stack = (self.output / f"stack-{self.kind}").read_text()
        kept.with_suffix(".txt").write_text(f"input {number}\n{stack}")


def gather_seeds(kind: str, folder: Path) -> None:
    """Copy the seeds of a kind to one folder, unless they are there."""
    target = folder / kind
    if target.exists():
        return
    making = folder / f"{kind}.new"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for number, data in enumerate(_seeds(kind)):
        if len(data) <= BIGGEST_SEED:
            (making / f"{number:05}").write_bytes(data)
    making.rename(target)


def _seeds(kind: str) -> list[bytes]:
    if kind == "onnx-text":
        return list(filter(None, map(_as_text, _seeds("onnx"))))
    kind = kind.removesuffix("-readings")
    found = [path.read_bytes() for path in sorted((FUZZ / "corpus" / kind).iterdir())]
    if kind not in ("ir", "old-ir", "onnx", "page"):
        return found
    fixtures = FUZZ.parent / "tests" / "fixtures"
    if kind == "old-ir":
        sys.path.insert(0, str(FUZZ))
        return found + list(import_module("seeds").old_cases().values())
    models = [item for item in sorted(fixtures.rglob("*.xml")) if item.stat().st_size < 30_000]
    if kind == "ir":
        found += [path.read_bytes() for path in models]
    from onnx.backend.test.loader import load_model_tests

    for case in load_model_tests(kind="node"):
        if case.model is not None and case.model.ByteSize() <= BIGGEST_SEED:
            data = case.model.SerializeToString()
            found += _converted(data, ".onnx") if kind == "ir" else [data]
    if kind != "ir":
        for path in models:
            found += _converted(path.read_bytes(), ".xml")
    return found


def _as_text(data: bytes) -> bytes:
    """An ONNX model in ONNX's text format, as onnx writes it; empty if it is no model."""
    import onnx

    try:
        return str(onnx.printer.to_text(onnx.load_model_from_string(data))).encode()
    except Exception:
        # A seed may be damaged in any way.
        return b""


def _converted(data: bytes, suffix: str) -> list[bytes]:
    """A model converted to the other format, if that is possible."""
    import irloop

    other = ".xml" if suffix == ".onnx" else ".onnx"
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(irloop.IrloopError):
        path = Path(folder) / f"m{suffix}"
        path.write_bytes(data)
        model, _ = irloop.convert(path)
        irloop.save_model(model, path.with_suffix(other))
        return [path.with_suffix(other).read_bytes()]
    return []


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("found"))
    parser.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.worker is not None:
        first, count = options.worker
        worker(options.kind, options.seed, first, count, options.output)
        return 0
    gather_seeds(options.kind, options.output / "seeds")
    campaign = Campaign(options.kind, options.seed, options.output)
    campaign.run(options.seconds)
    report = {"kind": options.kind, "seed": options.seed, "inputs": campaign.inputs}
    print(json.dumps({**report, "found": campaign.counts}))
    return 1 if campaign.counts else 0


if __name__ == "__main__":
    sys.exit(main())
