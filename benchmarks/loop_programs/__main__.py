"""The campaign: runs many programs, prints a table, and exits with 1 for findings."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import click

from benchmarks.loop_programs.judge import FINDINGS

#: The time limit of one stage: enough on a busy machine.
SECONDS = 120
#: Loops in ONNX, loops in IR, arithmetic with sizes in ONNX, loops in ONNX with arithmetic that has
#: no effect, and loops in ONNX whose states change their sizes.
FAMILIES = ("onnx", "ir", "sizes", "neutral", "resizing")
#: A process is replaced after this many programs, because engines leak memory.
PROGRAMS_A_PROCESS = 100

Result = dict[str, Any]


class Worker:
    """A process that judges programs; restarted when it dies or hangs."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._done = 0

    def judge(self, family: str, seed: int, keep: str | None = None) -> Result:
        """The verdicts of one program; a stage that kills the process is skipped and reported."""
        ended: dict[str, tuple[str, str]] = {}
        while True:
            child = self._start()
            job = {"family": family, "seed": seed, "skipped": list(ended), "keep": keep}
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps(job).encode() + b"\n")
            child.stdin.flush()
            stage = "start"
            for answer in _answers(child.stdout):
                if "result" in answer:
                    self._done += 1
                    result: Result = answer["result"]
                    result["stages"] |= ended
                    return {"family": family, "seed": seed} | result
                stage = answer["stage"]
            hung = child.poll() is None
            self.close()
            ended[stage] = ("hung", "") if hung else ("died", f"status {child.returncode}")
            if stage == "start" or len(ended) > 6:
                return {"family": family, "seed": seed, "features": [], "stages": ended}

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        self._child, self._done = None, 0

    def _start(self) -> subprocess.Popen[bytes]:
        if self._done >= PROGRAMS_A_PROCESS:
            self.close()
        if self._child is None:
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.loop_programs.worker"]
            self._child = subprocess.Popen(  # noqa: S603
                command,
                cwd=Path(__file__).resolve().parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
        return self._child


def _answers(stream: IO[bytes]) -> Iterator[Result]:
    """Yield lines of JSON until the stream ends or nothing arrives in time."""
    waiting = b""
    while select.select([stream], [], [], SECONDS)[0]:
        found = stream.read(65536)
        if not found:
            # The process has ended or is about to end.
            return
        *lines, waiting = (waiting + found).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _kind(result: Result) -> str:
    """The worst verdict of a program."""
    kinds = {verdict for verdict, _ in result["stages"].values()}
    for kind in (*FINDINGS, "no oracle", "no counterpart", "engine limit"):
        if kind in kinds:
            return kind
    return "right"


def _table(results: list[Result]) -> str:
    lines = [f"{len(results)} programs"]
    counts = Counter(map(_kind, results))
    lines += [f"  {count:6}  {kind}" for kind, count in counts.most_common()]
    features: dict[str, Counter[bool]] = defaultdict(Counter)
    reasons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for result in results:
        name = f"{result['family']} {result['seed']}"
        for feature in result["features"]:
            features[feature][_kind(result) in FINDINGS] += 1
        for stage, (verdict, reason) in result["stages"].items():
            if verdict != "right":
                reasons[verdict, stage, _short(reason)].append(name)
    lines.append("by feature (programs, with findings)")
    for feature, count in sorted(features.items()):
        lines.append(f"  {feature:24} {count.total():6} {count[True]:6}")
    lines.append("by verdict")
    ordered = sorted(reasons.items(), key=lambda item: (item[0][0] not in FINDINGS, -len(item[1])))
    for (verdict, stage, reason), names in ordered:
        some = ", ".join(names[:4])
        lines.append(f"  {len(names):5}  {verdict} ({stage}): {reason}  [{some}]")
    return "\n".join(lines)


def _short(reason: str) -> str:
    """A reason without the parts that differ from program to program."""
    words = ["#" if any(map(str.isdigit, word)) else word for word in reason.split()]
    return " ".join(words)[:160]


@click.command(help=__doc__)
@click.option("--programs", default=100, show_default=True)
@click.option("--seed", default=0, show_default=True, help="The first program is SEED * 1000000.")
@click.option("--family", type=click.Choice(FAMILIES), help="All by default.")
@click.option("-o", "output", type=click.Path(path_type=Path), help="A line of JSON a program.")
@click.option("--only", type=int, help="Judge one program by its own number.")
@click.option("--keep", type=click.Path(), help="Keep the files of the last program here.")
def main(
    programs: int,
    seed: int,
    family: str | None,
    output: Path | None,
    only: int | None,
    keep: str | None,
) -> None:
    families = [family] if family else [*FAMILIES]
    numbers = [only] if only is not None else range(seed * 1_000_000, seed * 1_000_000 + programs)
    worker, results = Worker(), []
    stream = None if output is None else output.open("a", encoding="utf-8")
    if keep:
        Path(keep).mkdir(parents=True, exist_ok=True)
    for number in numbers:
        # The families share the number of programs.
        chosen = families[number % len(families)]
        results.append(worker.judge(chosen, number, keep))
        if stream is not None:
            stream.write(json.dumps(results[-1]) + "\n")
            stream.flush()
    worker.close()
    if stream is not None:
        stream.close()
    click.echo(_table(results))
    sys.exit(any(_kind(result) in FINDINGS for result in results))


if __name__ == "__main__":
    main()
