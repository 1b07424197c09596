"""Runs every model of a folder both ways and prints a table by family: see `benchmarks.wild`.

    python -m benchmarks.wild FOLDER [--only TEXT] [--again] [--seconds 120]

Results are kept in ``FOLDER/results.json``; models that are in it are not run again without
``--again``. A cell counts the models that a step got right of those that the engine of
their format runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.wild.judge import STEPS


def main() -> None:
    """Judge each model that was not judged before, and print the table and what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="part of a name such as vision/vit")
    parser.add_argument("--again", action="store_true", help="also models with results")
    parser.add_argument("--seconds", type=float, default=120, help="the time limit of a model")
    parser.add_argument("--total", type=float, default=1e9, help="start no model after these")
    options = parser.parse_args()
    stored = options.folder / "results.json"
    results: dict[str, dict[str, str]] = json.loads(stored.read_text()) if stored.exists() else {}
    start = time.monotonic()
    for path in sorted([*options.folder.glob("*/*.onnx"), *options.folder.glob("*/*.xml")]):
        name = str(path.relative_to(options.folder).with_suffix(""))
        if options.only and not any(text in name for text in options.only):
            continue
        if name in results and not options.again:
            continue
        if time.monotonic() - start > options.total:
            break
        results[name] = _judged(path, options.seconds)
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
            cwd=Path(__file__).resolve().parents[2],
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


def table(results: dict[str, dict[str, str]]) -> str:
    """The counts by family: right of those that the engine runs and the step is for."""
    families: dict[str, list[dict[str, str]]] = defaultdict(list)
    for name, found in sorted(results.items()):
        if found["engine"] == "ok":
            families[name.split("/")[0]].append(found)
            families["all"].append(found)
    steps = STEPS[1:]
    lines = ["| family | models | " + " | ".join(steps) + " |", "|---" * (len(steps) + 2) + "|"]
    for family in [*(name for name in families if name != "all"), "all"]:
        models = families[family]
        cells = [_cell(models, step) for step in steps]
        lines.append(f"| {family} | {len(models)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(found: list[dict[str, str]], step: str) -> str:
    right = sum(item.get(step, "").startswith("ok") for item in found)
    if step in ("standard", "peer"):
        asked = sum(step in item for item in found)
        return f"{right} of {asked}" if asked else ""
    return str(right)


if __name__ == "__main__":
    main()
