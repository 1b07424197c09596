"""Runs models in real engines, one job a line of JSON on stdin, one answer a line on stdout.

A job: {"engine": "onnxruntime" | "openvino", "model": path, "inputs": npz, "outputs": npz}.
Arrays are in0, in1, ... by position. A crash costs the caller only this process.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def load_arrays(path: str, prefix: str) -> list[Any]:
    """Arrays prefix0, prefix1, ...; bf16, sequences and absent values as the corpus packs them."""
    values: list[Any] = []
    with np.load(path) as data:
        names = set(data.files)
        while True:
            key = f"{prefix}{len(values)}"
            if key in names:
                values.append(data[key])
            elif f"{key}__bf16" in names:
                values.append(data[f"{key}__bf16"].view(ml_dtypes.bfloat16))
            elif f"{key}__none" in names:
                values.append(None)
            elif f"{key}__seq_len" in names:
                count = int(data[f"{key}__seq_len"])
                values.append([data[f"{key}__seq_{at}"] for at in range(count)])
            else:
                return values


def store_arrays(path: str, prefix: str, values: Sequence[Any]) -> None:
    """The counterpart of `load_arrays`."""
    packed: dict[str, Any] = {}
    for at, value in enumerate(values):
        key = f"{prefix}{at}"
        if value is None:
            packed[f"{key}__none"] = np.zeros((), np.int64)
        elif isinstance(value, list):
            packed[f"{key}__seq_len"] = np.array(len(value), np.int64)
            packed.update({f"{key}__seq_{i}": np.asarray(item) for i, item in enumerate(value)})
        elif value.dtype == ml_dtypes.bfloat16:
            packed[f"{key}__bf16"] = value.view(np.uint16)
        else:
            packed[key] = value
    np.savez(path, **packed)


def run_onnxruntime(model: str, arrays: list[Any]) -> list[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = {item.name: value for item, value in zip(session.get_inputs(), arrays, strict=True)}
    if any(getattr(value, "dtype", None) == ml_dtypes.bfloat16 for value in arrays):
        given = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(value.view(np.uint16), 16)
            if value.dtype == ml_dtypes.bfloat16
            else onnxruntime.OrtValue.ortvalue_from_numpy(value)
            for name, value in given.items()
        }
        return [_plain(item) for item in session.run_with_ort_values(None, given)]
    names = [item.name for item in session.get_outputs()]
    if any("bfloat16" in item.type for item in session.get_outputs()):
        binding = session.io_binding()
        for name, value in given.items():
            binding.bind_cpu_input(name, np.ascontiguousarray(value))
        for name in names:
            binding.bind_output(name)
        session.run_with_iobinding(binding)
        return [_plain(item) for item in binding.get_outputs()]
    return list(session.run(names, given))


def _plain(value: Any) -> Any:
    if value.data_type() != "tensor(bfloat16)":
        return value.numpy()
    count = int(np.prod(value.shape()))
    raw = ctypes.string_at(value.data_ptr(), 2 * count)
    return np.frombuffer(raw, np.uint16).view(ml_dtypes.bfloat16).reshape(value.shape())


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def run_openvino(model: str, arrays: list[Any]) -> list[Any]:
    """OpenVINO's CPU in f32, read through the frontend so that v10 keeps its types."""
    import openvino
    from openvino.frontend import FrontEndManager

    framework = "onnx" if model.endswith(".onnx") else "ir"
    frontend = FrontEndManager().load_by_framework(framework)
    network = frontend.convert(frontend.load(model))
    if any(port.get_partial_shape().rank.is_dynamic for port in network.inputs):
        # The CPU plugin takes no input of unknown rank; the ranks of the data are what it gets.
        network.reshape({at: list(value.shape) for at, value in enumerate(arrays)})
    compiled = _core().compile_model(
        network, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}
    )
    request = compiled.create_infer_request()
    for at, value in enumerate(arrays):
        port = compiled.inputs[at]
        tensor = openvino.Tensor(port.get_element_type(), openvino.Shape(list(value.shape)))
        if value.size and value.dtype == ml_dtypes.bfloat16:
            # The binding shows bfloat16 as float16: the bits have to go over, not the numbers.
            tensor.data.view(np.uint16)[...] = value.view(np.uint16)
        elif value.size:
            tensor.data[...] = value
        request.set_input_tensor(at, tensor)
    request.infer()
    return [_from_openvino(request.get_output_tensor(at)) for at in range(len(compiled.outputs))]


def _from_openvino(tensor: Any) -> Any:
    array = np.array(tensor.data)
    return array.view(ml_dtypes.bfloat16) if tensor.element_type.to_string() == "bf16" else array


def save_as_ir(model: str, xml: str) -> None:
    """What OpenVINO makes of an ONNX file, saved with version 10."""
    import openvino

    network = openvino.convert_model(model)
    openvino.serialize(network, xml, version="IR_V10")


def main() -> None:
    for line in sys.stdin:
        job = json.loads(line)
        answer: dict[str, Any] = {"ok": True}
        try:
            if job["engine"] == "save-ir":
                save_as_ir(job["model"], job["outputs"])
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
                continue
            arrays = load_arrays(job["inputs"], "in")
            run = run_onnxruntime if job["engine"] == "onnxruntime" else run_openvino
            store_arrays(job["outputs"], "out", run(job["model"], arrays))
        except Exception as error:  # an engine's refusal is an answer, not a failure of ours
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
