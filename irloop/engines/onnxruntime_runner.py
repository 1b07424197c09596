"""ONNX Runtime as an engine; imported only in a child process.

Its Python interface supports only NumPy's types. All others (bfloat16, 8-bit and 4-bit) are copied
from and to the memory of its own tensors.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime

from irloop.graph.tensor import pack, unpack
from irloop.graph.types import ElementType

__all__ = ["OnnxRuntimeRunner"]

Array = np.ndarray[Any, np.dtype[Any]]

_ort: Any = onnxruntime

#: ONNX Runtime's names of the types that NumPy does not have, and their numbers in ONNX.
_ODD = {
    "tensor(bfloat16)": (ElementType.BF16, 16),
    "tensor(float8e4m3fn)": (ElementType.F8E4M3, 17),
    "tensor(float8e4m3fnuz)": (ElementType.F8E4M3FNUZ, 18),
    "tensor(float8e5m2)": (ElementType.F8E5M2, 19),
    "tensor(float8e5m2fnuz)": (ElementType.F8E5M2FNUZ, 20),
    "tensor(uint4)": (ElementType.U4, 21),
    "tensor(int4)": (ElementType.I4, 22),
    "tensor(float4e2m1)": (ElementType.F4E2M1, 23),
    "tensor(float8e8m0)": (ElementType.F8E8M0, 24),
    "tensor(uint2)": (ElementType.U2, 25),
    "tensor(int2)": (ElementType.I2, 26),
}

_LEVELS = {
    "none": _ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "all": _ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


class OnnxRuntimeRunner:
    """A model in one session of ONNX Runtime's CPU provider.

    `options` may hold ``optimization``: none or all (the default), and entries of the session's
    configuration, whose names start with ``session.``. `output_names` are the names of the outputs.
    """

    def __init__(self, path: str, options: Mapping[str, str] | None = None) -> None:
        chosen = _ort.SessionOptions()
        chosen.log_severity_level = 4
        chosen.graph_optimization_level = _LEVELS[(options or {}).get("optimization", "all")]
        for name, value in (options or {}).items():
            if name.startswith("session."):
                chosen.add_session_config_entry(name, value)
        self._session = _ort.InferenceSession(path, chosen, providers=["CPUExecutionProvider"])
        defaults = {item.name for item in self._session.get_overridable_initializers()}
        inputs = [item for item in self._session.get_inputs() if item.name not in defaults]
        self._inputs = [(item.name, item.type) for item in inputs]
        outputs = self._session.get_outputs()
        self.output_names = [item.name for item in outputs]
        types = [item.type for item in (*inputs, *outputs)]
        self._odd = any(type in _ODD for type in types)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs of one run."""
        if len(values) != len(self._inputs):
            raise TypeError(f"the model has {len(self._inputs)} inputs in ONNX Runtime")
        pairs = zip(self._inputs, values, strict=True)
        feed = [(name, type, value) for (name, type), value in pairs if value is not None]
        if not self._odd:
            plain = {name: value for name, _, value in feed}
            return [_plain(value) for value in self._session.run(None, plain)]
        if any(isinstance(value, list) for _, _, value in feed):
            raise TypeError(
                "ONNX Runtime cannot take sequences together with types that NumPy does not have"
            )
        tensors = {name: _tensor(type, value) for name, type, value in feed}
        return [_array(value) for value in self._session.run_with_ort_values(None, tensors)]


def _plain(value: Any) -> Any:
    """Convert lists of maps and sparse tensors, which ONNX Runtime may return, to arrays.

    A list of maps (the output of a ZipMap) becomes an f32 matrix with one row per map; the columns
    are in the order of the sorted keys. A sparse tensor (a sparse constant that is an output of the
    model) becomes a dense array. Other values are returned unchanged.
    """
    if hasattr(value, "get_coo_data"):
        return _dense(value)
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return value
    return np.array([[row[key] for key in sorted(row)] for row in value], np.float32)


def _dense(sparse: Any) -> Array:
    elements, places = sparse.values(), sparse.get_coo_data().indices()
    dense = np.zeros(sparse.dense_shape(), elements.dtype)
    if places.ndim == 2:
        places = np.ravel_multi_index(tuple(places.T), dense.shape)
    dense.reshape(-1)[places] = elements
    return dense


def _tensor(type: str, value: Array) -> Any:
    if type not in _ODD:
        return _ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value))
    element, number = _ODD[type]
    tensor = _ort.OrtValue.ortvalue_from_shape_and_type(list(value.shape), number)
    raw = pack(value, element)
    ctypes.memmove(tensor.data_ptr(), raw, len(raw))
    return tensor


def _array(value: Any) -> Any:
    if value.data_type() not in _ODD:
        return value.numpy()
    element, _ = _ODD[value.data_type()]
    shape = tuple(value.shape())
    raw = ctypes.string_at(value.data_ptr(), element.nbytes(math.prod(shape)))
    return unpack(raw, element, shape)
