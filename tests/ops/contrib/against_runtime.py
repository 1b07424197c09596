"""Compares one operation of irloop with the same operation of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session

__all__ = ["DOMAIN", "Case", "agree", "drawn", "half", "model_of"]

DOMAIN = "com.microsoft"

F32 = np.float32


def drawn(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Normally distributed f32 numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(F32)


def half(*arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Arrays as f16."""
    return [array.astype(np.float16) for array in arrays]


class Case:
    """A node: its type, inputs (None: omitted), attributes and the number of its outputs.

    Inputs in `constants` are initializers. `outputs` are the names of the outputs; those that are
    empty are omitted. `opset` is that of ai.onnx. With `declared` the model declares its outputs as
    f32, which is required for outputs whose types ONNX Runtime does not infer. 8-bit results may
    differ by `codes`: by 1 if numbers halfway between two codes are frequent, because the order of
    a sum decides how they are rounded. `opens` is false if sizes must be known. `named` holds
    attributes whose names are parameters of this class.
    """

    def __init__(
        self,
        type: str,
        inputs: Sequence[np.ndarray[Any, Any] | None],
        *,
        outputs: int | Sequence[str] = 1,
        constants: Sequence[int] = (),
        domain: str = DOMAIN,
        opset: int = 17,
        declared: bool = False,
        tolerance: float = 1e-5,
        codes: int = 0,
        opens: bool = True,
        named: Mapping[str, Any] | None = None,
        **attributes: Any,
    ) -> None:
        self.type = type
        self.inputs = list(inputs)
        names = [f"y{at}" for at in range(outputs)] if isinstance(outputs, int) else outputs
        self.outputs = list(names)
        self.constants = constants
        self.domain = domain
        self.opset = opset
        self.declared = declared
        self.tolerance = tolerance
        self.codes = codes
        self.opens = opens
        self.attributes: Mapping[str, Any] = {**attributes, **(named or {})}

    @property
    def given(self) -> list[np.ndarray[Any, Any]]:
        """The inputs of the model."""
        return [
            array
            for at, array in enumerate(self.inputs)
            if array is not None and at not in self.constants
        ]

    def __repr__(self) -> str:
        shapes = [
            "-" if item is None else f"{item.dtype}{list(item.shape)}" for item in self.inputs
        ]
        words = [f"{name}={value}" for name, value in self.attributes.items()]
        return " ".join([self.type, *shapes, *words, f"opset{self.opset}"])


def open_dims(array: np.ndarray[Any, Any], at: int) -> list[int | str]:
    """The shape of an input with names for the dimensions that real models leave open.

    These are the batch and the positions: axes 0 and 1 of arrays of rank 3 and of ids and masks,
    axes 0 and 2 of arrays of rank 4.
    """
    dims: list[int | str] = list(array.shape)
    if array.ndim == 1 and array.dtype == np.int32:
        return [f"d{at}_0"]
    is_ids = array.ndim == 2 and array.dtype in (np.int32, np.int64)
    for axis in {2: (0, 1) if is_ids else (), 3: (0, 1), 4: (0, 2), 5: (1, 3)}.get(array.ndim, ()):
        dims[axis] = f"d{at}_{axis}"
    return dims


def model_of(case: Case, expected: Sequence[Any] = (), *, is_open: bool = False) -> onnx.ModelProto:
    """A model of one node; it declares the element types of the outputs `expected`.

    With `is_open`, dimensions that vary in real models are unknown.
    """
    names = ["" if array is None else f"x{at}" for at, array in enumerate(case.inputs)]
    node = helper.make_node(
        case.type, names, case.outputs, name="node", domain=case.domain, **case.attributes
    )
    inputs, constants = [], []
    for at, array in enumerate(case.inputs):
        if array is None:
            continue
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        if at in case.constants:
            constants.append(onnx.numpy_helper.from_array(array, names[at]))
        else:
            dims = open_dims(array, at) if is_open else array.shape
            inputs.append(helper.make_tensor_value_info(names[at], kind, dims))
    outputs = [onnx.ValueInfoProto(name=name) for name in case.outputs if name]
    for item in outputs if case.declared else []:
        item.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for item, array in zip(outputs, expected, strict=False):
        item.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    graph = helper.make_graph([node], "one", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def agree(case: Case, engines: Engines, folder: Path, expected: list[Any] | None = None) -> None:
    """Assert that all forms of the case return what ONNX Runtime returns, in two runs.

    The forms are the model in irloop's executor, its standard operations in ONNX Runtime, and its
    IR in OpenVINO; each with known sizes, and with unknown batch and positions. Pass `expected` if
    ONNX Runtime cannot run the operation on a CPU.
    """
    source = folder / "source.onnx"
    source.write_bytes(model_of(case).SerializeToString())
    sets = [case.given, case.given]
    if expected is None:
        expected = engines.run_all("onnxruntime", source, sets, folder)[0]
    declared = folder / "declared.onnx"
    declared.write_bytes(model_of(case, expected).SerializeToString())
    again = folder / "again.onnx"
    irloop.save_model(irloop.read_model(declared), again)
    assert irloop.read_model(again).opsets == irloop.read_model(source).opsets
    for is_open in (False, True) if case.opens else (False,):
        source.write_bytes(model_of(case, is_open=is_open).SerializeToString())
        report = irloop.validate(source)
        assert not report.has_errors, [str(item) for item in report.sorted()]
        model = irloop.read_model(source)
        where = "open sizes" if is_open else "known sizes"
        found = list(Session(model).run(case.given).values())
        _close(found, expected, case, f"executor, {where}")
        standard = folder / "standard.onnx"
        irloop.save_model(irloop.convert(model, "onnx", standard=True)[0], standard)
        assert all(not item.domain for item in onnx.load(standard).opset_import)
        for found in engines.run_all("onnxruntime", standard, sets, folder):
            _close(found, expected, case, f"standard operations, {where}")
        ir = folder / "model.xml"
        irloop.save_model(irloop.convert(model)[0], ir, ir_version=11)
        for found in engines.run_all("openvino", ir, sets, folder):
            _close(found, expected, case, f"OpenVINO, {where}")


def _close(found: list[Any], expected: list[Any], case: Case, place: str) -> None:
    assert len(found) == len(expected), place
    for at, (one, other) in enumerate(zip(found, expected, strict=True)):
        label = f"{case}: output {at} of {place}"
        assert one.dtype == other.dtype, f"{label}: {one.dtype}, not {other.dtype}"
        assert one.shape == other.shape, f"{label}: {one.shape}, not {other.shape}"
        np.testing.assert_allclose(
            one.astype(np.float64),
            other.astype(np.float64),
            case.tolerance,
            max(case.tolerance, case.codes),
            err_msg=label,
        )
