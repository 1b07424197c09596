"""What engines add to the cost of `irloop convert --check` on a small model.

    python -m benchmarks.check_cost [--rounds 7] [--limit 2.5] [MODEL]

Each round converts the model once with `--engines numpy` and once with the default, in alternating
processes, so that both run under the same load. The ratio compares the shortest times, which have
the least noise; above the limit the exit status is 1. The default MODEL is a recurrent network in a
Scan, as exporters write it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import onnx
import onnx.parser

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
recurrent (float[N,8] x, float[1,16] h) => (float[1,16] last, float[N,1,16] all)
   <float[8,16] w, float[16,16] r> {
   last, all = Scan <num_scan_inputs = 1, body = step (float[1,16] s, float[8] part)
      => (float[1,16] new, float[1,16] shown) {
      axes = Constant <value_ints = [0]> ()
      row = Unsqueeze (part, axes)
      a = MatMul (row, w)
      b = MatMul (s, r)
      c = Add (a, b)
      new = Tanh (c)
      shown = Neg (c)
   }> (h, x)
}"""


def small_model(path: Path) -> None:
    """Write the recurrent network; its weights alternate between one and small numbers."""
    proto = onnx.parser.parse_model(MODEL)
    for name, rows in (("w", 8), ("r", 16)):
        numbers = [((at * 7) % 11 - 5) / 20 for at in range(rows * 16)]
        tensor = onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, (rows, 16), numbers)
        proto.graph.initializer.append(tensor)
    onnx.save(proto, path)


def seconds(model: Path, folder: Path, engines: str) -> float:
    """The time of one conversion with its check.

    Raises:
        RuntimeError: when the models are not equal.
    """
    command = [sys.executable, "-m", "irloop", "convert", str(model), "-o", str(folder / "m.xml")]
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [*command, "--check", "--engines", engines], capture_output=True, check=False, text=True
    )
    taken = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return taken


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns 1 if the ratio is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, default=2.5)
    given = parser.parse_args(arguments)
    times: dict[str, list[float]] = {"numpy": [], "auto": []}
    with TemporaryDirectory() as name:
        folder = Path(name)
        model = given.model or folder / "m.onnx"
        if given.model is None:
            small_model(model)
        for _ in range(given.rounds):
            for engines, found in times.items():
                found.append(seconds(model, folder, engines))
    for engines, found in times.items():
        print(f"{engines:6} {min(found):.2f} s shortest, {median(found):.2f} s median")
    ratio = min(times["auto"]) / min(times["numpy"])
    print(f"ratio  {ratio:.2f}, at most {given.limit:g} is wanted")
    return int(ratio > given.limit)


if __name__ == "__main__":
    sys.exit(main())
