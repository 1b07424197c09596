"""The time of an inference: irloop against ONNX Runtime, on one thread each, taking turns.

python -m benchmarks.net_speed [--rounds 7] [NET ...]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import onnxruntime

from benchmarks.nets import NETS, inputs_of
from irloop.execution.session import Session
from irloop.formats.onnx import reader

__all__ = ["Ratio", "measure"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Seconds of irloop and of its peer, and the ratio."""

    name: str
    own: float
    peer: float

    @property
    def ratio(self) -> float:
        """How much longer irloop takes."""
        return self.own / self.peer


def measure(name: str, rounds: int) -> Ratio:
    """Run a net in both and compare the outputs; the shortest times of several rounds."""
    model = NETS[name]()
    ort: Any = onnxruntime  # the package does not declare its exports
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    peer = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    own = Session(reader.from_proto(model))
    given = inputs_of(model)
    for wanted, found in zip(peer.run(None, given), own.run(given).values(), strict=True):
        scale = float(np.abs(wanted).max()) or 1.0
        np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-4)
    best = [float("inf"), float("inf")]
    runs: tuple[Callable[[], Any], ...] = (lambda: own.run(given), lambda: peer.run(None, given))
    for _ in range(rounds):
        for at, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[at] = min(best[at], time.perf_counter() - start)
    return Ratio(name, best[0], best[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nets", nargs="*", default=list(NETS))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name in options.nets:
        found = measure(name, options.rounds)
        print(
            f"{name:<16} irloop {found.own * 1e3:8.1f} ms  "
            f"ONNX Runtime {found.peer * 1e3:8.1f} ms  {found.ratio:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
