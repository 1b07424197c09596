"""Real engines in a child process, and comparisons of converted models in them."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine_worker import load_arrays, store_arrays

__all__ = ["Child", "EngineError", "Engines", "check_onnx", "same_but_empty"]

#: The time limit of one job: enough on a busy machine, since engines rarely hang.
SECONDS = 300


class EngineError(Exception):
    """The message of an engine, or that it crashed or did not answer in time."""


class Child:
    """A process that answers jobs; restarted after a crash or a time-out."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._child: subprocess.Popen[str] | None = None

    def ask(self, job: Mapping[str, Any]) -> None:
        """Run one job.

        Raises:
            EngineError: with the engine's message, or "crash", or "time-out".
        """
        child = self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(job) + "\n")
        child.stdin.flush()
        # Not select.select, which refuses file descriptors from 1024 on.
        with selectors.DefaultSelector() as waiting:
            waiting.register(child.stdout, selectors.EVENT_READ)
            ready = waiting.select(SECONDS)
        line = child.stdout.readline() if ready else ""
        if not line:
            self.close()
            raise EngineError("time-out" if not ready else "crash")
        answer = json.loads(line)
        if not answer["ok"]:
            raise EngineError(" ".join(answer["error"].split()))

    def close(self) -> None:
        """End the process."""
        if self._child is None:
            return
        with self._child as child:
            child.kill()
            self._child = None

    def _start(self) -> subprocess.Popen[str]:
        if self._child is None or self._child.poll() is not None:
            self._child = subprocess.Popen(  # noqa: S603
                self._command,
                cwd=Path(__file__).resolve().parents[1],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._child


class Engines(Child):
    """The current versions of ONNX Runtime and OpenVINO."""

    def __init__(self) -> None:
        super().__init__([sys.executable, "-W", "ignore", "-m", "benchmarks.engine_worker"])

    def run(
        self,
        engine: str,
        model: Path,
        inputs: list[Any],
        folder: Path,
        names: Sequence[str] = (),
    ) -> list[Any]:
        """Outputs of `model` (engine onnxruntime or openvino); `folder` is for its files.

        With `names` the inputs are matched by name, and those that the model lacks are ignored.

        Raises:
            EngineError: with the engine's message, or "crash", or "time-out".
        """
        return self.run_all(engine, model, [inputs], folder, names)[0]

    def run_all(
        self,
        engine: str,
        model: Path,
        sets: Sequence[list[Any]],
        folder: Path,
        names: Sequence[str] = (),
    ) -> list[list[Any]]:
        """Like `run`, for several sets of inputs: successive inferences in one session.

        Raises:
            EngineError: with the engine's message, or "crash", or "time-out".
        """
        given = [str(folder / f"job_in_{at}.npz") for at in range(len(sets))]
        made = [str(folder / f"job_out_{at}.npz") for at in range(len(sets))]
        for path, arrays in zip(given, sets, strict=True):
            store_arrays(path, "in", arrays)
        job = {"engine": engine, "model": str(model), "inputs": given, "outputs": made}
        self.ask(job | {"names": list(names)})
        return [load_arrays(path, "out") for path in made]

    def save_as_ir(self, model: Path, xml: Path) -> None:
        """Let OpenVINO convert an ONNX file and save it as IR v10.

        Raises:
            EngineError: when OpenVINO cannot.
        """
        self.ask({"engine": "save-ir", "model": str(model), "outputs": str(xml)})


def check_onnx(path: Path) -> None:
    """onnx.checker with full check and shape inference."""
    import onnx

    onnx.checker.check_model(str(path), full_check=True)


def same_but_empty(want: Any, got: Any) -> bool:
    """True for two empty arrays of one type, because engines disagree on their other dimensions."""
    if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray):
        return False
    return want.size == got.size == 0 and want.dtype == got.dtype
