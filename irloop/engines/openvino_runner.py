"""OpenVINO's CPU plugin as an engine, which runs in a child process; models in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import openvino
import openvino.frontend

from irloop.graph.tensor import pack, unpack
from irloop.graph.types import ElementType

__all__ = ["OpenVinoRunner", "model_of"]

Array = np.ndarray[Any, np.dtype[Any]]

_ov: Any = openvino  # the package does not declare its exports

#: On CPUs with bf16, OpenVINO computes in bf16 by default.
_HINTS = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}


class OpenVinoRunner:
    """A model compiled once for the CPU, and one inference request that every run uses.

    `options` are properties of the plugin, such as ``LP_TRANSFORMS_MODE``: ``NO``. `output_names`
    has a name of each output; it is empty for an output without a name.
    """

    def __init__(self, path: str, options: Mapping[str, str] | None = None) -> None:
        model = _read(path)
        compiled = _ov.Core().compile_model(model, "CPU", {**_HINTS, **(options or {})})
        self._types = [port.get_element_type() for port in compiled.inputs]
        self.output_names = [min(port.get_names(), default="") for port in compiled.outputs]
        self._request = compiled.create_infer_request()
        self._given: list[Any] = []

    def reset(self) -> None:
        """Reset the model's state variables (ReadValue and Assign) to their initial values."""
        self._request.reset_state()

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs of one run."""
        if len(values) != len(self._types):
            raise TypeError(f"the model has {len(self._types)} inputs in OpenVINO")
        tensors = []
        for index, (type, value) in enumerate(zip(self._types, values, strict=True)):
            if isinstance(value, list) or value is None:
                raise TypeError("OpenVINO accepts tensors only")
            tensors.append(_tensor(type, value))
            self._request.set_input_tensor(index, tensors[-1])
        self._request.infer()
        numbers = range(len(self.output_names))
        outputs = [_array(self._request.get_output_tensor(at)) for at in numbers]
        # The inputs of the previous run must exist until here: if an input reaches an output
        # through a Convert without effect, 2026.4 returns the output in the memory of the earlier
        # input.
        self._given = tensors
        return outputs


def _read(path: str) -> Any:
    """The model in a file as users read it, but with the types of inputs and outputs in the file.

    `Core.read_model` changes these types in v10 files, and names more tensors, which may collide.
    The frontend keeps them. What was a string in the file cannot be compiled after the change.
    """
    read = _ov.Core().read_model(path)
    if path.endswith(".onnx"):
        return read
    frontend = _ov.frontend.FrontEndManager().load_by_framework("ir")
    kept = frontend.convert(frontend.load(path))
    pairs = zip([*kept.inputs, *kept.outputs], [*read.inputs, *read.outputs], strict=True)
    types = [(own.get_element_type(), other.get_element_type()) for own, other in pairs]
    is_kept = all(own in (other, _ov.Type.string) for own, other in types)
    return read if is_kept else kept


def model_of(xml: bytes, weights: memoryview) -> openvino.Model:
    """The model of OpenVINO in the text of an .xml.

    `weights` are copied into memory of OpenVINO, which does not keep other memory alive.

    Raises:
        RuntimeError: when OpenVINO does not read it.
    """
    tensor = _ov.Tensor(np.frombuffer(weights, np.uint8))
    model: openvino.Model = _ov.Core().read_model(xml.decode(), tensor)
    return model


def _tensor(type: Any, value: Array) -> Any:
    if type.is_dynamic():
        return _ov.Tensor(np.ascontiguousarray(value))
    tensor = _ov.Tensor(type, _ov.Shape(list(value.shape)))
    if not value.size:
        return tensor
    if type == _ov.Type.string:
        return _ov.Tensor(value.astype(str))
    element = ElementType(type.get_type_name())
    if value.dtype != element.numpy():
        raise TypeError(f"{value.dtype.name} given for an input of {element}")
    target = tensor.data.reshape(-1).view(np.uint8)
    target[...] = np.frombuffer(pack(value, element), np.uint8)
    return tensor


def _array(tensor: Any) -> Array:
    if tensor.get_element_type() == _ov.Type.string:
        return np.asarray(tensor.str_data, dtype=object)
    element = ElementType(tensor.get_element_type().get_type_name())
    raw = np.array(tensor.data).reshape(-1).view(np.uint8)
    return unpack(raw.tobytes(), element, tuple(tensor.get_shape()))
