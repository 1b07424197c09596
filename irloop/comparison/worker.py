"""The child process in which another engine runs: a line of JSON in, a line of JSON out.

A job names engine, model, and the files of the inputs (in0, in1, ... by position) and outputs.
The answer is {"count": n}, or {"error": text} when the engine refuses.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from irloop.formats import npz
from irloop.formats.onnx.evaluator import reference_evaluator

__all__ = ["main"]

#: Engines explain themselves at length.
LONGEST = 400

Array = np.ndarray[Any, np.dtype[Any]]
Runner = Callable[[Sequence[Any]], list[Any]]


def main() -> None:
    """Answer jobs until the input ends."""
    # What engines print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    runners: dict[tuple[str, str], Runner] = {}
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer: dict[str, Any] = {"count": _run(job, runners)}
        except Exception as error:
            # Whatever an engine raises is its answer.
            text = " ".join(str(error).split())
            answer = {"error": f"{type(error).__name__}: {text}"[:LONGEST]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _run(job: dict[str, str], runners: dict[tuple[str, str], Runner]) -> int:
    key = (job["engine"], job["model"])
    if key not in runners:
        runners[key] = _MAKERS[job["engine"]](job["model"])
    given = npz.read(job["inputs"])
    outputs = runners[key]([given[f"in{at}"] for at in range(len(given))])
    npz.write(job["outputs"], {f"out{at}": value for at, value in enumerate(outputs)})
    return len(outputs)


def _onnxruntime(path: str) -> Runner:
    import onnxruntime

    ort: Any = onnxruntime
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    defaults = {item.name for item in session.get_overridable_initializers()}
    names = [item.name for item in session.get_inputs() if item.name not in defaults]

    def run(values: Sequence[Any]) -> list[Any]:
        pairs = zip(names, values, strict=True)
        feed = {name: _to_ort(ort, value) for name, value in pairs if value is not None}
        if not any(hasattr(value, "data_type") for value in feed.values()):
            return list(session.run(None, feed))
        every = {
            name: value if hasattr(value, "data_type") else ort.OrtValue.ortvalue_from_numpy(value)
            for name, value in feed.items()
        }
        return [_from_ort(value) for value in session.run_with_ort_values(None, every)]

    return run


def _to_ort(ort: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == ml_dtypes.bfloat16:
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(value.view(np.uint16), 16)
    return value


def _from_ort(value: Any) -> Any:
    array = value.numpy()
    bfloat = value.data_type() == "tensor(bfloat16)"
    return array.view(ml_dtypes.bfloat16) if bfloat and array.dtype.itemsize == 2 else array


def _openvino(path: str) -> Runner:
    import openvino
    import openvino.frontend

    ov: Any = openvino  # its package does not say what it exports
    # Core.read_model changes the types of inputs and outputs of old files; the frontend does not.
    frontend = ov.frontend.FrontEndManager().load_by_framework(
        "onnx" if path.endswith(".onnx") else "ir"
    )
    model = frontend.convert(frontend.load(path))
    core = ov.Core()
    hints = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}

    def run(values: Sequence[Any]) -> list[Any]:
        # A loop of zero iterations gives what is left of the run before: each gets its own.
        compiled = core.compile_model(model, "CPU", hints)
        request = compiled.create_infer_request()
        for at, value in enumerate(values):
            if isinstance(value, list) or value is None:
                raise TypeError("OpenVINO takes tensors only")
            request.set_input_tensor(at, _to_openvino(ov, compiled.inputs[at], value))
        request.infer()
        count = len(compiled.outputs)
        return [_from_openvino(request.get_output_tensor(at)) for at in range(count)]

    return run


def _to_openvino(openvino: Any, port: Any, value: Array) -> Any:
    element = port.get_element_type()
    if element == openvino.Type.string:
        return openvino.Tensor(value.astype(str))
    tensor = openvino.Tensor(element, openvino.Shape(list(value.shape)))
    if value.size:
        target = tensor.data
        target[...] = value.view(target.dtype) if value.dtype.kind == "V" else value
    return tensor


def _from_openvino(tensor: Any) -> Array:
    if str(tensor.get_element_type()) == "<Type: 'string'>":
        return np.asarray(tensor.str_data, dtype=object)
    return np.array(tensor.data)


_MAKERS: dict[str, Callable[[str], Runner]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "onnx-reference": reference_evaluator,
}

if __name__ == "__main__":
    main()
