"""A table of the messages of OpenVINO, ONNX Runtime and irloop about malformed models.

    python -W ignore -m benchmarks.malformed [--record]

Engines read, compile and run each model in a child process; irloop validates it in a separate
process, too, to detect its own crashes, hangs and tracebacks. `--record` writes the engines'
messages to the data of the tests. The exit status is 1 if irloop fails to name the cause and the
place of an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.verdicts import Verdicts
from tests.malformed.all_cases import CASES, RECORD
from tests.malformed.cases import Case, found_by

#: Longer messages repeat themselves.
WIDEST = 300
SECONDS = 30


def said_by_engines(engines: Verdicts, model: Path) -> dict[str, str]:
    """How far each engine came, and its message on one line."""
    names = ["openvino"]
    if model.suffix == ".onnx":
        names += ["onnxruntime", "onnx.checker"]
    # The paths of this run are not part of the message.
    return {
        name: engines.of(name, model).line.replace(f"{model.parent}/", "")[:WIDEST]
        for name in names
    }


def said_by_irloop(case: Case, model: Path, folder: Path) -> tuple[str, str, float]:
    """The verdict ("right" or what is wrong), the first finding, and the seconds it took."""
    command = [sys.executable, "-m", "irloop", "validate", str(model), "--format", "json"]
    start = time.perf_counter()
    try:
        done = subprocess.run(  # noqa: S603
            [*command, *case.options(folder)],
            capture_output=True,
            check=False,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "hang", "", SECONDS
    seconds = time.perf_counter() - start
    if "Traceback" in done.stderr or done.returncode < 0 or not done.stdout:
        return f"exit {done.returncode}: {done.stderr[-200:]}", "", seconds
    findings = json.loads(done.stdout)["findings"]
    item = found_by(case, model, findings)
    shown = item or (findings[0] if findings else None)
    text = "no findings"
    if shown is not None:
        line = "" if shown["line"] is None else f":{shown['line']}"
        text = f"{shown['code']}{line} {shown['path']} {shown['message']}"
    return "right" if item is not None or (case.good and not findings) else "wrong", text, seconds


def main() -> int:
    """Print the table and the counts."""
    engines, record = Verdicts(seconds=SECONDS), {}
    counts: dict[str, Counter[str]] = {"OpenVINO": Counter(), "irloop": Counter()}
    slowest = 0.0
    for case in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model = case.make(folder)
            said = record[case.name] = said_by_engines(engines, model)
            verdict, text, seconds = said_by_irloop(case, model, folder)
        slowest = max(slowest, seconds)
        counts["OpenVINO"][said["openvino"].partition(":")[0]] += 1
        counts["irloop"][verdict] += 1
        print(f"{case.name}")
        for engine, line in said.items():
            print(f"    {engine:<12} {line[:150]}")
        print(f"    {'irloop':<12} {'' if verdict == 'right' else verdict + ': '}{text[:150]}")
    engines.close()
    for name, counter in counts.items():
        print(f"{name}: {', '.join(f'{number} {kind}' for kind, number in counter.most_common())}")
    print(f"{len(CASES)} models; irloop took at most {slowest:.2f} s for one")
    if "--record" in sys.argv[1:]:
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0 if set(counts["irloop"]) == {"right"} else 1


if __name__ == "__main__":
    sys.exit(main())
