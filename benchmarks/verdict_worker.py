"""Engines' verdicts on model files: one JSON job per line on stdin, one answer per line on stdout.

A job: {"engine": "openvino" | "onnxruntime" | "onnx.checker", "model": path}. The answer contains
how far the engine came ("read", "compile", "infer", "accepted") and its message. A crash affects
only this process.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

#: The limit of this process's address space, so that a model cannot exhaust the machine's memory.
BYTES = 12 << 30


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def openvino_stages(model: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Read, compile and run with zeros."""
    yield "read", lambda _: _core().read_model(model)
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    yield "compile", lambda network: _core().compile_model(network, "CPU", options)
    yield "infer", lambda compiled: compiled([_zeros(item) for item in compiled.inputs])


def _zeros(port: Any) -> Any:
    dims = [
        1 if dim.is_dynamic else dim.get_length() for dim in list(port.get_partial_shape() or ())
    ]
    return np.zeros(dims, port.get_element_type().to_dtype())


def onnxruntime_stages(model: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Load and run with zeros."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    yield "read", lambda _: onnxruntime.InferenceSession(model, options, providers=providers)
    yield "infer", _run_session


def _run_session(session: Any) -> None:
    kinds = {"tensor(float)": "f4", "tensor(int64)": "i8", "tensor(bool)": "?"}
    given: dict[str, Any] = {
        item.name: np.zeros(
            [dim if isinstance(dim, int) else 1 for dim in item.shape], kinds[item.type]
        )
        for item in session.get_inputs()
    }
    session.run(None, given)


def checker_stages(model: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """onnx.checker with shape inference."""
    import onnx

    yield "check", lambda _: onnx.checker.check_model(model, full_check=True)


ENGINES = {
    "openvino": openvino_stages,
    "onnxruntime": onnxruntime_stages,
    "onnx.checker": checker_stages,
}


def judged(job: dict[str, str]) -> dict[str, str]:
    """How far the engine came, and its message."""
    made: Any = None
    for stage, step in ENGINES[job["engine"]](job["model"]):
        try:
            made = step(made)
        except Exception as error:  # a refusal is an answer
            return {"stage": stage, "message": str(error)[:4000]}
        if stage == job.get("last"):
            break
    return {"stage": "accepted", "message": ""}


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = BYTES if hard == resource.RLIM_INFINITY else min(BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for line in sys.stdin:
        # Engines print to stdout, too; the caller recognises the answer by its first character.
        print("\n>" + json.dumps(judged(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
