"""Runs every model of a folder both ways and prints a table by family: see `benchmarks.wild`.

    python -m benchmarks.wild FOLDER [--collect PYTHON] [--only TEXT] [--again] [--seconds 120]

With ``--collect``, the models that the packages of that interpreter ship or export are written to
the folder first; those that exist are kept. Results are kept in ``FOLDER/results.json``; models
that are in it are not run again without ``--again``.

A row counts the models that the engine of their format runs. "to OpenVINO" and "to ONNX" are the
models that irloop converts right, in OpenVINO and in ONNX Runtime against the engine of the source;
an ONNX model goes to ONNX by way of its IR. "peer" is OpenVINO's own reader of ONNX. "false alarms"
are models in which `validate` finds an error, and "wrong numbers" those for which a step of irloop
gave another result than the engine, which are listed below the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.wild.folders import models_in

ROOT = Path(__file__).resolve().parents[2]

#: What writes models, in an order in which each finds the models that it starts from.
WRITERS = ("export", "stateful", "quantised", "packaged")

#: The beginning of the result of a step that ran and gave other numbers.
WRONG = ("not equal", "step ")

#: A comparison in which an engine did not run the converted model gave no numbers.
NOT_RUN = "did not run"


def main() -> None:
    """Judge each model that was not judged before, and print the table and what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="part of a name such as vision/vit")
    parser.add_argument("--again", action="store_true", help="also models with results")
    parser.add_argument("--seconds", type=float, default=120, help="the time limit of a model")
    parser.add_argument("--total", type=float, default=1e9, help="start no model after these")
    parser.add_argument("--collect", metavar="PYTHON", help="write what its packages have first")
    options = parser.parse_args()
    if options.collect:
        collect(options.collect, options.folder.absolute(), options.only or ())
    stored = options.folder / "results.json"
    results: dict[str, dict[str, str]] = json.loads(stored.read_text()) if stored.exists() else {}
    start = time.monotonic()
    for name, path in models_in(options.folder, options.only):
        if name in results and not options.again:
            continue
        if time.monotonic() - start > options.total:
            break
        found = _judged(path, options.seconds)
        # Another process may have judged other models in the meantime.
        results = json.loads(stored.read_text()) if stored.exists() else {}
        results[name] = found
        stored.write_text(json.dumps(results, indent=1))
        for step, text in results[name].items():
            if not text.startswith("ok") and step != "peer":
                print(f"{name}: {step}: {text}", flush=True)
    print(table(results))


def _judged(path: Path, seconds: float) -> dict[str, str]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.wild.judge", str(path)]
    try:
        told = subprocess.run(  # noqa: S603
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"engine": "ok", "process": f"longer than {seconds:g} s"}
    if told.returncode:
        return {"engine": "ok", "process": f"exit status {told.returncode}: {told.stderr[-300:]}"}
    found: dict[str, str] = json.loads(told.stdout.splitlines()[-1])
    return found


def collect(python: str, folder: Path, only: Sequence[str]) -> None:
    """Write the models that the packages of an interpreter ship or export."""
    chosen = [argument for text in only for argument in ("--only", text)]
    for writer in WRITERS:
        # Not resolved: a link to the interpreter is what makes an environment.
        command = [
            str(Path(python).absolute()),
            "-W",
            "ignore",
            "-m",
            f"benchmarks.wild.{writer}",
            str(folder),
        ]
        # What a package ships is all copied at once.
        options = chosen if writer != "packaged" else []
        print(f"== {writer}", flush=True)
        subprocess.run([*command, *options], cwd=ROOT, check=False)  # noqa: S603


def table(results: dict[str, dict[str, str]]) -> str:
    """The counts by family, and the models whose numbers are wrong or which took too long."""
    families: dict[str, list[Row]] = defaultdict(list)
    notes = []
    for name, found in sorted(results.items()):
        if found["engine"] != "ok":
            continue
        if "process" in found:
            notes.append(f"not judged: {name}: {found['process']}")
            continue
        row = _row(found)
        families[name.split("/")[0]].append(row)
        families["all"].append(row)
        if row.wrong:
            notes.append(f"wrong numbers: {name}: {row.wrong}")
    heads = ["models", "to OpenVINO", "peer", "to ONNX", "standard", "run", "false alarms"]
    heads.append("wrong numbers")
    lines = [f"| family | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for family in [*(name for name in families if name != "all"), "all"]:
        rows = families[family]
        cells = [str(len(rows))]
        cells += [_right(rows, key) for key in ("to_openvino", "peer", "to_onnx", "standard")]
        cells += [_right(rows, "run"), str(sum(row.alarm for row in rows))]
        cells.append(str(sum(bool(row.wrong) for row in rows)))
        lines.append(f"| {family} | {' | '.join(cells)} |")
    return "\n".join([*lines, *notes])


@dataclass
class Row:
    """What became of one model; None where a step does not apply to it."""

    to_openvino: bool | None
    to_onnx: bool | None
    peer: bool | None
    standard: bool | None
    run: bool | None
    alarm: bool
    wrong: str


def _row(found: dict[str, str]) -> Row:
    def right(step: str) -> bool:
        return found.get(step, "").startswith("ok")

    # OpenVINO's reader of ONNX has nothing to do with an IR.
    is_ir = "peer" not in found
    there, back = right("there"), right("there") and right("back")
    steps = [text for step, text in found.items() if step not in ("peer", "validate", "engine")]
    wrong = [text for text in steps if text.startswith(WRONG) and NOT_RUN not in text]
    return Row(
        to_openvino=back if is_ir else there,
        to_onnx=there if is_ir else back,
        peer=right("peer") if "peer" in found else None,
        standard=right("standard") if "standard" in found else None,
        run=right("run"),
        alarm="error" in found.get("validate", "")[:6],
        wrong=wrong[0] if wrong else "",
    )


def _right(rows: Sequence[Row], key: str) -> str:
    """The number of models that a step got right, of how many if it is not for all."""
    values = [value for row in rows if (value := getattr(row, key)) is not None]
    if len(values) == len(rows):
        return str(sum(values))
    return f"{sum(values)} of {len(values)}" if values else ""


if __name__ == "__main__":
    main()
