"""Judges how IR of versions 2 to 7 are read and converted, by the outputs of the engine of 2020.

    python -m benchmarks.old_ir FOLDER [--only TEXT] [-v] [--json FILE]

FOLDER has one folder for each case: `model.xml`, `model.bin`, inputs `in0.npz`, `in1.npz`, ... and
the outputs of the engine, `out0.npz`, ... (`out0_f32.npz` counts where it stands beside it). A case
counts as equal when the built-in executor, OpenVINO after conversion to version 11, and ONNX
Runtime after conversion to ONNX give the same outputs, by name, within 1e-4. Cases without outputs
are those that the engine refused: they are read and reported, but not counted.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import check_onnx
from irloop import read_model, save_model
from irloop.conversion.pipelines import to_onnx
from irloop.engines.onnxruntime_runner import OnnxRuntimeRunner
from irloop.engines.openvino_runner import OpenVinoRunner
from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.graph.model import Model

TOLERANCE = 1e-4
WAYS = ("numpy", "openvino", "onnxruntime")

Arrays = dict[str, Any]


def cases(folder: Path, only: str = "") -> Iterator[Path]:
    """The folders of the cases, sorted by name."""
    for model in sorted(folder.glob("*/model.xml")):
        if only in model.parent.name:
            yield model.parent


def runs_of(case: Path) -> list[tuple[Arrays, Arrays]]:
    """The inputs and the outputs of the inferences of a case, in their order."""
    found = []
    for given in sorted(case.glob("in*.npz")):
        number = given.stem.removeprefix("in")
        names = (f"out{number}_f32.npz", f"out{number}.npz")
        made = next((case / name for name in names if (case / name).exists()), None)
        if made is not None:
            found.append((dict(np.load(given)), dict(np.load(made))))
    return found


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What differs between two sets of outputs; "" if nothing does."""
    if set(found) != set(wanted):
        return f"outputs {sorted(found)} instead of {sorted(wanted)}"
    for name, right in wanted.items():
        left = np.asarray(found[name])
        if left.shape != right.shape:
            return f"{name}: shape {left.shape} instead of {right.shape}"
        if left.dtype != right.dtype:
            return f"{name}: type {left.dtype} instead of {right.dtype}"
        error = np.abs(left.astype(np.float64) - right)
        wrong = ~(error <= TOLERANCE * np.maximum(1, np.abs(right)))
        wrong &= ~(np.isnan(left) & np.isnan(right)) & (left != right)
        if wrong.any():
            worst = np.nanmax(np.where(wrong, error, 0))
            return f"{name}: {wrong.sum()} of {wrong.size} elements differ by up to {worst:.3g}"
    return ""


def judged(case: Path, way: str) -> str:
    """What is wrong with a case in one engine; "" if nothing is."""
    runs = runs_of(case)
    model = read_model(case / "model.xml")
    names = [node.name for node in model.graph.results]
    inputs = [(node.name, node.outputs[0].type) for node in model.graph.parameters]
    with tempfile.TemporaryDirectory() as folder:
        runner = _runner(model, way, Path(folder))
        for given, wanted in runs:
            # Some stored integers are wider than the input.
            arrays = [given[name].astype(type.element.numpy()) for name, type in inputs]
            found = dict(zip(names, runner(arrays), strict=True))
            problem = differences(found, wanted)
            if problem:
                return problem
    return ""


def _runner(model: Model, way: str, folder: Path) -> Any:
    if way == "numpy":
        session = Session(model)
        return lambda arrays: list(session.run(arrays).values())
    path = folder / ("model.xml" if way == "openvino" else "model.onnx")
    if way == "openvino":
        save_model(model, path, ir_version=11)
        runner: Any = OpenVinoRunner(str(path))
    else:
        save_model(to_onnx(model)[0], path)
        check_onnx(path)
        runner = OnnxRuntimeRunner(str(path))
    wanted = {node.name for node in model.graph.results}
    if not wanted <= set(runner.output_names):
        raise IrloopError(f"outputs are called {runner.output_names} instead of {sorted(wanted)}")
    return runner


def main() -> int:
    """Judge every case of a folder; print what failed, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    results: dict[str, dict[str, str]] = {}
    for case in cases(options.folder, options.only):
        has_outputs = bool(runs_of(case))
        started = time.perf_counter()
        results[case.name] = found = {}
        for way in WAYS:
            try:
                found[way] = judged(case, way)
            except IrloopError as error:
                found[way] = f"refused: {error.diagnostics[0].message}"
            except Exception as error:  # a fault of irloop or of an engine is a result, too
                found[way] = f"{type(error).__name__}: {str(error)[:200]}"
        seconds = time.perf_counter() - started
        if not has_outputs:
            refused = all(text.startswith("refused") for text in found.values())
            counts[
                "engine refused it, " + ("so does irloop" if refused else "irloop reads it")
            ] += 1
            if options.verbose:
                print(f"{case.name}: {found['numpy'] or 'runs'} (the engine refused it)")
            continue
        wrong = {way: text for way, text in found.items() if text}
        counts["equal" if not wrong else "not equal"] += 1
        for way, text in wrong.items():
            print(f"{case.name}: {way}: {text}", flush=True)
        if options.verbose and not wrong:
            print(f"{case.name}: equal ({seconds:.1f} s)", flush=True)
    for text, count in sorted(counts.items()):
        print(f"{count:5}  {text}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return int(counts["not equal"] > 0)


if __name__ == "__main__":
    sys.exit(main())
