"""Judges conversions of IR of versions 2 to 7 by the stored outputs of the engine of their time.

Run it as ``python -m benchmarks.old_ir FOLDER``. Each folder in FOLDER holds a ``model.xml``, a
``model.bin``, inputs ``in0.npz``, ``in1.npz``, ... and ``out0.npz``, ..., the engine's outputs.
If a model has ``out0_f32.npz``, its other outputs are those of 8-bit arithmetic.

A case is right if the built-in executor, OpenVINO (after conversion to IR version 11) and ONNX
Runtime (after conversion to ONNX) compute these outputs, with an error of at most 1e-4, which is
relative for numbers above 1. It is refused if irloop refuses to read it.

Two kinds of difference are no error of irloop, and are told apart from a wrong case. Tied: a
DetectionOutput found more boxes than `keep_top_k` with the score of the last row; the engine of
2020 chose among them, and ordered them, by an unstable sort (``std::sort`` of libstdc++ in 4.2.0.4:
the same sort of the same inputs gives its rows exactly). Rounded: the stored outputs and those of
irloop are both further from a computation in double precision than the tolerance, by errors of the
same order, as in deep nets with random weights.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import irloop
from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.graph.builder import element_of
from irloop.graph.model import Model

__all__ = ["Judge", "difference"]

#: The largest error, relative for numbers above 1.
TOLERANCE = 1e-4

Arrays = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    counts: Counter[str] = Counter()
    judge = Judge()
    for case in sorted(path.parent for path in folder.glob("*/model.xml")):
        verdict = judge.verdict(case)
        counts[verdict.partition(":")[0]] += 1
        if verdict != "right":
            print(f"{case.name}: {verdict}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
    return int(counts["wrong"] > 0)


class Judge:
    """Runs cases in the built-in executor, OpenVINO and ONNX Runtime."""

    def __init__(self) -> None:
        import openvino

        self._core = openvino.Core()

    def verdict(self, case: Path) -> str:
        """Return "right", "wrong: ...", "refused: ..." or, without stored outputs, "not run"."""
        pairs = list(_pairs(case))
        if not pairs:
            return "not run"
        try:
            model = irloop.read_model(case / "model.xml")
        except IrloopError as error:
            return f"refused: {error.message}"
        with tempfile.TemporaryDirectory() as folder:
            runners = {
                "executor": lambda inputs: dict(irloop.run(model, inputs)),
                "openvino": self._openvino(model, Path(folder)),
                "onnxruntime": _onnxruntime(model, Path(folder)),
            }
            for given, wanted in pairs:
                inputs = _typed(model, given)
                for name, run in runners.items():
                    results = run(inputs)
                    if text := difference(results, wanted):
                        kind = _kind(model, inputs, results, wanted)
                        return f"{kind}: {name}, {text}"
        return "right"

    def _openvino(self, model: Model, folder: Path) -> Any:
        path = folder / "model.xml"
        irloop.save_model(irloop.convert(model, "openvino")[0], path)
        compiled = self._core.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

        def run(inputs: Arrays) -> Arrays:
            results = compiled(inputs)
            return {name: array for key, array in results.items() for name in key.names}

        return run


def _onnxruntime(model: Model, folder: Path) -> Any:
    import onnxruntime

    path = folder / "model.onnx"
    irloop.save_model(irloop.convert(model, "onnx", stateless=True)[0], path)
    ort: Any = onnxruntime
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    # A variable is an input, and 0 at first.
    parameters = {node.name for node in model.graph.parameters}
    variables = [item for item in session.get_inputs() if item.name not in parameters]
    first = {item.name: np.zeros(item.shape, np.float32) for item in variables}
    return lambda inputs: dict(zip(names, session.run(None, {**first, **inputs}), strict=True))


def _pairs(case: Path) -> Iterator[tuple[Arrays, Arrays]]:
    """The inputs and the outputs of each stored inference; the first of a state is its only one."""
    for path in sorted(case.glob("in*.npz")):
        stem = path.stem.replace("in", "out")
        for name in (f"{stem}_f32.npz", f"{stem}.npz"):
            if (case / name).exists():
                yield _arrays(path), _arrays(case / name)
                break


def _arrays(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def _typed(model: Model, given: Arrays) -> Arrays:
    return {
        node.name: given[node.name].astype(element_of(node.output).numpy())
        for node in model.graph.parameters
    }


def _kind(model: Model, inputs: Arrays, results: Arrays, wanted: Arrays) -> str:
    """What a difference is: "tied", "rounded" or "wrong"."""
    if set(results) != set(wanted) or any(results[n].shape != wanted[n].shape for n in wanted):
        return "wrong"
    detections = {
        value.name
        for node in model.graph.nodes
        if node.op.type == "DetectionOutput"
        for value in node.outputs
    }
    far = [name for name in wanted if difference({name: results[name]}, {name: wanted[name]})]
    if all(name in detections and _is_tied(results[name], wanted[name]) for name in far):
        return "tied"
    exact = Session(model, double=True).run(inputs)
    for name in far:
        errors = [_error(item[name], exact[name]) for item in (results, wanted)]
        if min(errors) <= TOLERANCE or max(errors) > 20 * min(errors):
            return "wrong"
    return "rounded"


def _is_tied(rows: Any, wanted: Any) -> bool:
    """True if rows differ only in the choice among boxes that have the score of the last one."""
    ours, theirs = (item.reshape(-1, 7).astype(np.float64) for item in (rows, wanted))
    if (ours[:, 0] < 0).any() or (theirs[:, 0] < 0).any():
        return False
    last = max(ours[:, 2].min(), theirs[:, 2].min())
    above = [item[item[:, 2] > last + TOLERANCE] for item in (ours, theirs)]
    return len(above[0]) == len(above[1]) and not difference({"": above[0]}, {"": above[1]})


def _error(values: Any, exact: Any) -> float:
    """The largest error, relative for numbers above 1."""
    return float((np.abs(values - exact) / np.maximum(1, np.abs(exact))).max())


def difference(results: Arrays, wanted: Arrays) -> str:
    """Say where results differ from the wanted ones, or return an empty text."""
    for name, right in wanted.items():
        if name not in results:
            return f"no output {name!r}"
        made = results[name]
        if made.shape != right.shape:
            return f"output {name!r} has the shape {made.shape}, not {right.shape}"
        error = np.abs(made.astype(np.float64) - right.astype(np.float64))
        far = ~(error <= TOLERANCE * np.maximum(1, np.abs(right)))
        if far.any():
            return f"output {name!r}: {far.sum()} of {far.size} differ, by {error.max():.3g}"
    return ""


if __name__ == "__main__":
    raise SystemExit(main())
