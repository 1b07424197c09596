"""The Inference Engine of 2020 as an engine, which ran IR of versions 2 to 7.

It is used through its C API, so that any Python can run it: `FOLDER` names the folder with its
shared libraries and ``plugins.xml``.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import Structure, byref, c_char, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from irloop.formats.openvino import reader

__all__ = ["FOLDER", "OpenVino2020Runner"]

#: The environment variable with the folder of the engine.
FOLDER = "IRLOOP_OPENVINO_2020"

#: The libraries that the C API needs, each after those that it needs itself.
_LIBRARIES = (
    "libtbb.so.2",
    "libopenblas.so.0",
    "libngraph.so",
    "libinference_engine.so",
    "libinference_engine_transformations.so",
    "libinference_engine_legacy.so",
    "libinference_engine_lp_transformations.so",
    "libinference_engine_nn_builder.so",
    "libinference_engine_preproc.so",
    "libinference_engine_c_api.so",
)
#: Element types by their numbers in the C API.
_TYPES = {
    10: np.float32,
    11: np.float16,
    30: np.int16,
    40: np.uint8,
    41: np.uint8,
    50: np.int8,
    60: np.uint16,
    70: np.int32,
    72: np.int64,
    73: np.uint64,
}
_F32 = 10
#: The plugin computes these as f32; as inputs or outputs it would refuse them.
_NARROW = (11, 30, 60)
#: Without this, FakeQuantize is computed in 8 bits.
_SETTINGS = (b"LP_TRANSFORMS_MODE", b"LP_TRANSFORMS_MODE_OFF", None)


class _Dims(Structure):
    _fields_ = (("rank", c_size_t), ("dims", c_size_t * 8))


class OpenVino2020Runner:
    """A model compiled once for the CPU; inputs and outputs are in the order of irloop's model."""

    def __init__(self, path: str) -> None:
        graph = reader.read(path).graph
        self._inputs = [node.name for node in graph.parameters]
        self.output_names = [value.name for value in graph.outputs]
        folder = Path(os.environ[FOLDER])
        for name in _LIBRARIES:
            if (folder / name).exists():
                self._library = ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
        self._core, self._net = c_void_p(), c_void_p()
        self._call("core_create", str(folder / "plugins.xml").encode(), byref(self._core))
        files = (path.encode(), str(Path(path).with_suffix(".bin")).encode())
        self._call("core_read_network", self._core, *files, byref(self._net))
        for side, names in (("input", self._inputs), ("output", self.output_names)):
            for name in names:
                self._widen(side, name.encode())
        self.reset()

    def reset(self) -> None:
        """Compile the network, whose variables then have their first values."""
        settings = (c_char_p * 3)(*_SETTINGS)
        compiled, self._request = c_void_p(), c_void_p()
        given = self._core, self._net, b"CPU", byref(settings)
        self._call("core_load_network", *given, byref(compiled))
        self._call("exec_network_create_infer_request", compiled, byref(self._request))

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs of one run."""
        for name, value in zip(self._inputs, values, strict=True):
            array = self._array(name)
            array[...] = np.asarray(value).reshape(array.shape).astype(array.dtype)
        self._call("infer_request_infer", self._request)
        return [self._array(name).copy() for name in self.output_names]

    def _widen(self, side: str, name: bytes) -> None:
        number = c_int()
        self._call(f"network_get_{side}_precision", self._net, name, byref(number))
        if number.value in _NARROW:
            self._call(f"network_set_{side}_precision", self._net, name, c_int(_F32))

    def _array(self, name: str) -> np.ndarray[Any, np.dtype[Any]]:
        """The memory of an input or output."""
        blob, dims, kind, size = c_void_p(), _Dims(), c_int(), c_int()
        start = (c_void_p * 1)()
        self._call("infer_request_get_blob", self._request, name.encode(), byref(blob))
        self._call("blob_get_dims", blob, byref(dims))
        self._call("blob_get_precision", blob, byref(kind))
        self._call("blob_get_buffer", blob, start)
        self._call("blob_byte_size", blob, byref(size))
        memory: Any = (c_char * size.value).from_address(start[0] or 0)
        return np.frombuffer(memory, _TYPES[kind.value]).reshape(dims.dims[: dims.rank])

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, f"ie_{name}")(*arguments)
        if status:
            raise RuntimeError(f"{name} of the Inference Engine failed with the status {status}")
