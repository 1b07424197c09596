"""Runs models in real engines: one JSON job per line on stdin, one answer per line on stdout.

A job: {"engine": "onnxruntime" | "openvino", "model": path, "inputs": [npz], "outputs": [npz]}.
Each file of inputs is one inference of the same session or compiled model. Arrays are in0, in1, ...
by position, or belong to the inputs whose "names" the job lists. A crash affects only this process.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import ml_dtypes
import numpy as np

from irloop.graph.tensor import pack, unpack
from irloop.graph.types import ElementType, element_type_of

Array = np.ndarray[Any, np.dtype[Any]]


def load_arrays(path: str, prefix: str) -> list[Any]:
    """Values prefix0, prefix1, ... as `store_arrays` packs them."""
    with np.load(path) as data:
        names = json.loads(str(data["names"]))[prefix]
        return [
            [_restored(data, key) for key in item]
            if isinstance(item, list)
            else _restored(data, item)
            for item in names
        ]


def store_arrays(path: str, prefix: str, values: Sequence[Any]) -> None:
    """Store arrays, lists of arrays (sequences) and None; unsupported types are stored as bits."""
    packed: dict[str, Any] = {}

    def put(value: Any) -> str | None:
        if value is None:
            return None
        array = np.asarray(value)
        key = f"{prefix}{len(packed)}"
        if array.dtype.kind == "V" or array.dtype.name in ML_TYPES:
            key += f"__{array.dtype.name}"
            array = np.array(array, order="C").view(f"u{array.dtype.itemsize}")
        packed[key] = array.astype(str) if array.dtype.kind == "O" else array
        return key

    names = [
        [put(item) for item in value] if isinstance(value, list) else put(value) for value in values
    ]
    np.savez(path, names=json.dumps({prefix: names}), **packed)


#: Element types of ml_dtypes, keyed by the names that NumPy prints.
ML_TYPES = {
    np.dtype(kind).name: kind
    for kind in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float4_e2m1fn,
        ml_dtypes.int4,
        ml_dtypes.uint4,
        ml_dtypes.int2,
        ml_dtypes.uint2,
    )
}


def _restored(data: Any, key: str | None) -> Any:
    if key is None:
        return None
    _, _, name = key.partition("__")
    return data[key].view(ML_TYPES[name]) if name else data[key]


#: ONNX's numbers of the element types that NumPy lacks.
ONNX_TYPES = {
    ElementType.BF16: 16,
    ElementType.F8E4M3: 17,
    ElementType.F8E4M3FNUZ: 18,
    ElementType.F8E5M2: 19,
    ElementType.F8E5M2FNUZ: 20,
    ElementType.U4: 21,
    ElementType.I4: 22,
    ElementType.F4E2M1: 23,
    ElementType.F8E8M0: 24,
}
ORT_NAMES = {
    "bfloat16": ElementType.BF16,
    "float8e4m3fn": ElementType.F8E4M3,
    "float8e4m3fnuz": ElementType.F8E4M3FNUZ,
    "float8e5m2": ElementType.F8E5M2,
    "float8e5m2fnuz": ElementType.F8E5M2FNUZ,
    "uint4": ElementType.U4,
    "int4": ElementType.I4,
    "float4e2m1": ElementType.F4E2M1,
    "float8e8m0": ElementType.F8E8M0,
}


def _in_order(inputs: Sequence[set[str]], arrays: list[Any], names: list[str]) -> list[Any]:
    """The array for each input of a model, whose names are given.

    By position if no name matches: OpenVINO may give an input the name of the output it is
    connected to.
    """
    named = dict(zip(names, arrays, strict=False))
    return [
        next((named[name] for name in known if name in named), arrays[at])
        for at, known in enumerate(inputs)
    ]


Infer = Callable[[list[Any]], list[Any]]


def open_onnxruntime(model: str, names: list[str], *, optimised: bool = True) -> Infer:
    """ONNX Runtime's CPU provider; types that NumPy lacks are passed as bits."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs, outputs = session.get_inputs(), session.get_outputs()
    kinds = [item.type for item in (*inputs, *outputs)]
    bits = any(name in kind for kind in kinds for name in ORT_NAMES)

    def infer(arrays: list[Any]) -> list[Any]:
        if names:
            arrays = _in_order([{item.name} for item in inputs], arrays, names)
        given = {item.name: value for item, value in zip(inputs, arrays, strict=True)}
        if not bits:
            return list(session.run([item.name for item in outputs], given))
        values = {name: _as_value(value) for name, value in given.items()}
        return [_from_value(item) for item in session.run_with_ort_values(None, values)]

    return infer


def _as_value(array: Any) -> Any:
    import onnxruntime

    make = onnxruntime.OrtValue
    if array.dtype.name not in ML_TYPES:
        return make.ortvalue_from_numpy(array)
    element = element_type_of(array.dtype)
    value = make.ortvalue_from_shape_and_type(list(array.shape), ONNX_TYPES[element], "cpu")
    raw = pack(array, element)
    ctypes.memmove(value.data_ptr(), raw, len(raw))
    return value


def _from_value(value: Any) -> Any:
    element = ORT_NAMES.get(value.data_type().removeprefix("tensor(").removesuffix(")"))
    if element is None:
        return value.numpy()
    shape = tuple(value.shape())
    raw = ctypes.string_at(value.data_ptr(), element.nbytes(int(np.prod(shape))))
    return unpack(raw, element, shape)


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def open_openvino(model: str, names: list[str], *, low_latency: bool = False) -> Infer:
    """OpenVINO's CPU in f32, read through the frontend so that v10 keeps its types."""
    from openvino.frontend import FrontEndManager

    framework = "onnx" if model.endswith(".onnx") else "ir"
    frontend = FrontEndManager().load_by_framework(framework)
    network = frontend.convert(frontend.load(model))
    if low_latency:
        from openvino.passes import LowLatency2, Manager

        manager = Manager()
        manager.register_pass(LowLatency2(False))
        manager.run_passes(network)
    known = [port.names | {port.node.get_friendly_name()} for port in network.inputs]
    compiled: list[Any] = []

    def infer(arrays: list[Any]) -> list[Any]:
        if names:
            arrays = _in_order(known, arrays, names)
        if any(port.get_partial_shape().rank.is_dynamic for port in network.inputs):
            # The CPU plugin does not accept inputs of unknown rank, so it gets the ranks of the
            # data.
            ranks = [[-1] * value.ndim for value in arrays]
            network.reshape(dict(enumerate(ranks)))
        if not compiled:
            hints = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}
            compiled.append(_core().compile_model(network, "CPU", hints))
        return _inferred(compiled[0], arrays)

    return infer


def _inferred(compiled: Any, arrays: list[Any]) -> list[Any]:
    import openvino

    request = compiled.create_infer_request()
    for at, value in enumerate(arrays):
        port = compiled.inputs[at]
        tensor = openvino.Tensor(port.get_element_type(), openvino.Shape(list(value.shape)))
        if value.size and value.dtype.kind == "U":
            tensor = openvino.Tensor(value)
        elif value.size and value.dtype.name in ML_TYPES:
            # The Python binding shows these types as others: pass the bits, not the numbers.
            raw = pack(value, element_type_of(value.dtype))
            tensor.data.reshape(-1).view(np.uint8)[...] = np.frombuffer(raw, np.uint8)
        elif value.size:
            tensor.data[...] = value
        request.set_input_tensor(at, tensor)
    request.infer()
    return [_from_openvino(request.get_output_tensor(at)) for at in range(len(compiled.outputs))]


def _from_openvino(tensor: Any) -> Any:
    name = tensor.element_type.to_string()
    element = ElementType(name)
    if element is ElementType.STRING:
        return np.array(tensor.str_data, object)
    if element.numpy().name not in ML_TYPES:
        return np.array(tensor.data)
    raw = np.array(tensor.data).reshape(-1).view(np.uint8).tobytes()
    return unpack(raw, element, tuple(tensor.shape))


def save_as_ir(model: str, xml: str) -> None:
    """Let OpenVINO import an ONNX file and save it as version 10."""
    import openvino

    network = openvino.convert_model(model)
    openvino.serialize(network, xml, version="IR_V10")


#: By name: ONNX Runtime, with and without its optimisations, and OpenVINO, with and without its own
#: LowLatency2.
ENGINES: dict[str, Callable[[str, list[str]], Infer]] = {
    "onnxruntime": open_onnxruntime,
    "onnxruntime-plain": partial(open_onnxruntime, optimised=False),
    "openvino": open_openvino,
    "openvino-low-latency": partial(open_openvino, low_latency=True),
}


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
            infer = ENGINES[job["engine"]](job["model"], job.get("names", []))
            for given, made in zip(job["inputs"], job["outputs"], strict=True):
                store_arrays(made, "out", infer(load_arrays(given, "in")))
        except Exception as error:  # a refusal of an engine is an answer, not a failure of ours
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
