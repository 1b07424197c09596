"""Time and peak memory of each step with whole models, each step in a separate process.

    python -m benchmarks.whole_models [--only detector]

The steps of irloop are listed next to those of OpenVINO and ONNX Runtime, measured in the same run;
the last column is the ratio of the wall time to `python -c "import numpy, onnx"`. `tests/models`
asserts that the results are equal.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAVE = "import sys, openvino as ov; ov.serialize(ov.convert_model(sys.argv[1]), sys.argv[2])"
# Created in a child, because this process's memory would count as its children's.
MAKE = """
import sys, numpy, onnx, pathlib
from tests.models import MODELS
for name, model in MODELS.items():
    folder = pathlib.Path(sys.argv[1], name)
    folder.mkdir()
    onnx.save(model.build(), folder / "source.onnx")
    numpy.savez(folder / "inputs.npz", *model.inputs()[-1])
"""
LOAD = "import sys, numpy as np; data = np.load(sys.argv[2]); values = [data[k] for k in data];"
RUN_ONNX = (
    f"{LOAD} import onnxruntime as ort; session = ort.InferenceSession(sys.argv[1]);"
    "session.run(None, {i.name: v for i, v in zip(session.get_inputs(), values)})"
)
RUN_IR = f"{LOAD} import openvino as ov; ov.Core().compile_model(sys.argv[1], 'CPU')(values)"


def measured(*arguments: str) -> tuple[float, float]:
    """Seconds and peak MiB of one Python process, which must succeed."""
    start = time.perf_counter()
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-W", "ignore", *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if child.returncode:
        raise SystemExit(f"exit status {child.returncode}: {' '.join(arguments)}")
    return seconds, usage.ru_maxrss / 1024


def steps(folder: Path) -> dict[str, list[str]]:
    """The arguments of each step, in an order in which each finds its files."""
    source, inputs = str(folder / "source.onnx"), str(folder / "inputs.npz")
    there, back, theirs = (str(folder / file) for file in ("there.xml", "back.onnx", "theirs.xml"))
    irloop = ["-m", "irloop"]
    run = ["--inputs", inputs, "--outputs", str(folder / "outputs.npz")]
    return {
        "irloop convert: ONNX to IR": [*irloop, "convert", source, "-o", there],
        "OpenVINO: ONNX to IR": ["-c", SAVE, source, theirs],
        "irloop convert: IR to ONNX": [*irloop, "convert", there, "-o", back],
        "irloop validate: IR": [*irloop, "validate", there],
        "irloop run: ONNX": [*irloop, "run", source, *run],
        "ONNX Runtime: ONNX": ["-c", RUN_ONNX, back, inputs],
        "irloop run: IR": [*irloop, "run", there, *run],
        "OpenVINO: IR": ["-c", RUN_IR, there, inputs],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a model's name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        measured("-c", MAKE, made)
        for folder in sorted(Path(made).iterdir()):
            if not options.only or folder.name in options.only:
                _report(folder)


def _report(folder: Path) -> None:
    base, _ = measured("-c", "import numpy, onnx")
    for step, arguments in steps(folder).items():
        seconds, memory = measured(*arguments)
        ratio = seconds / base
        print(f"{folder.name:<11} {step:<27} {seconds:6.2f} s {memory:6.0f} MiB {ratio:5.1f}")


if __name__ == "__main__":
    main()
