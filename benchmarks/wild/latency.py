"""The latency of converted models against the originals on the same engine: see `benchmarks.wild`.

    python -m benchmarks.wild.latency FOLDER [--only TEXT] [--rounds 15] [--seconds 4]

An ONNX model is compared with its IR in OpenVINO, whose own reader reads the original, and with the
ONNX model from that IR in ONNX Runtime. An IR is compared with the IR from its ONNX model; if its
cache is in variables, each inference is a first step, with an empty cache. Every engine has one
thread. The two models take turns within a process, processor time is measured, and the ratio is
that of the medians. The models of each family are listed from the slowest ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import irloop
from benchmarks.wild.decoding import has_variables
from benchmarks.wild.folders import models_in

#: Converted models that take longer than the original by more than this are named.
WORST = 1.15
#: The ratio of shorter inferences says more about the engine's call than about the model.
SHORTEST = 1e-3

Run = Callable[[], Any]


def main() -> None:
    """Measure each model in a process of its own, and print the ratios and the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="part of a name such as vision/vit")
    parser.add_argument("--rounds", type=int, default=15, help="inferences of each model at least")
    parser.add_argument("--seconds", type=float, default=4, help="time for each pair of models")
    parser.add_argument("--one", action="store_true", help="FOLDER is one model")
    options = parser.parse_args()
    if options.one:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(measured(options.folder, Path(scratch), options)))
        return
    found: dict[str, list[tuple[float, float, str]]] = {}
    for name, path in models_in(options.folder, options.only):
        for engine, (before, after) in _in_process(path, options).items():
            found.setdefault(engine, []).append((after / before, before, name))
            print(f"{after / before:6.2f} {before * 1e3:9.2f} ms {engine:12} {name}", flush=True)
    for engine, rows in found.items():
        long = [row for row in rows if row[1] >= SHORTEST]
        median = statistics.median(row[0] for row in rows)
        slow = [f"{name} {ratio:.2f}" for ratio, _, name in sorted(long)[::-1] if ratio > WORST]
        worst = max((row[0] for row in long), default=0)
        print(f"== {engine}: {len(rows)} models, median {median:.2f}, worst {worst:.2f}; {slow}")


def _in_process(path: Path, options: Any) -> dict[str, tuple[float, float]]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.wild.latency", str(path), "--one"]
    command += ["--rounds", str(options.rounds), "--seconds", str(options.seconds)]
    try:
        told = subprocess.run(  # noqa: S603
            command,
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        ratios: dict[str, tuple[float, float]] = json.loads(told.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, IndexError, json.JSONDecodeError):
        print(f"{path.stem}: not measured", flush=True)
        return {}
    print(told.stderr, end="", flush=True)
    return ratios


def measured(model: Path, scratch: Path, options: Any) -> dict[str, tuple[float, float]]:
    """The seconds of the original and of the converted model, by engine."""
    there = scratch / ("there.xml" if model.suffix == ".onnx" else "there.onnx")
    back = scratch / ("back.onnx" if model.suffix == ".onnx" else "back.xml")
    stateless = model.suffix == ".xml" and has_variables(model)
    inputs = irloop.random_inputs(model)
    found = {}
    for target, source, engine in ((there, model, "openvino"), (back, there, "onnxruntime")):
        if model.suffix == ".xml":
            engine = "openvino" if target is back else ""  # noqa: PLW2901
        try:
            first = stateless and source is model
            irloop.save_model(irloop.convert(source, stateless=first)[0], target)
        except Exception as error:
            print(f"{model.stem}: not converted: {_line(error)}", file=sys.stderr)
            break
        make = openvino_run if engine == "openvino" else ort_run
        try:
            if engine:
                runs = make(model, inputs), make(target, inputs)
                times = in_turns(*runs, options.rounds, options.seconds)
                found[engine] = statistics.median(times[0]), statistics.median(times[1])
        except Exception as error:
            # An engine that does not run the original may run the other format.
            print(f"{model.stem}: {engine}: {_line(error)}", file=sys.stderr)
    return found


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def in_turns(
    first: Run, second: Run, rounds: int, seconds: float
) -> tuple[list[float], list[float]]:
    """The processor times of two models that take turns, for `seconds` and at least `rounds`."""
    times: tuple[list[float], list[float]] = ([], [])
    for call in (first, second, first, second):
        call()
    end = time.monotonic() + seconds
    while len(times[0]) < rounds or time.monotonic() < end:
        # The order alternates, because the first inference after another model's is slower.
        order = ((0, first), (1, second)) if len(times[0]) % 2 else ((1, second), (0, first))
        for at, call in order:
            start = time.process_time()
            call()
            times[at].append(time.process_time() - start)
    return times


def openvino_run(model: Path, inputs: dict[str, Any]) -> Run:
    import openvino

    single = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1}
    compiled = openvino.compile_model(model, "CPU", single)
    request = compiled.create_infer_request()
    values = list(inputs.values())
    # A model without variables takes its cache as further inputs.
    values += [_empty_cache(port, len(values[0])) for port in compiled.inputs[len(values) :]]

    def run() -> Any:
        request.reset_state()
        return request.infer(values)

    return run


def _empty_cache(port: Any, batch: int) -> Any:
    """A cache of no tokens: of the unknown dimensions, the first is the batch and the others 0."""
    dims = [0 if dim.is_dynamic else dim.get_length() for dim in port.partial_shape]
    return np.zeros([batch, *dims[1:]], port.element_type.to_dtype())


def ort_run(model: Path, inputs: dict[str, Any]) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session: Any = onnxruntime.InferenceSession(str(model), options)
    given = dict(zip([port.name for port in session.get_inputs()], inputs.values(), strict=True))
    return lambda: session.run(None, given)


if __name__ == "__main__":
    main()
