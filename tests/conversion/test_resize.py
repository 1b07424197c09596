"""Interpolation in the other dialect, against OpenVINO's and ONNX's own values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from irloop.conversion import pipelines
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader

OPCONF_TYPES = "Interpolate"

BACKEND_OPS = "Resize Upsample"

#: What the weights depend on is an input of the model in these node tests.
NEEDS_CONSTANTS = (
    "antialias",
    "exclude_outside",
    "tf_crop_and_resize",
    "not_larger",
    "not_smaller",
    "half_pixel_symmetric",
)

#: Scales that give no whole size: runtimes round the size before the corners are aligned.
ROUNDED_FIRST = (
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
)


@pytest.mark.parametrize("opset", [11, 17, 19])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [4, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    if any(word in backend_case for word in NEEDS_CONSTANTS):
        with pytest.raises(UnsupportedError, match="constant"):
            check_import(backend_case, opset)
    elif backend_case not in ROUNDED_FIRST:
        check_import(backend_case, opset)


@cache
def _tests() -> dict[str, Any]:
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {test.name: test for test in loader.load_model_tests(kind="node")}


def _with_constants(proto: onnx.ModelProto, values: list[Any]) -> onnx.ModelProto:
    """The model with the values of all inputs but the first in it."""
    changed = onnx.ModelProto()
    changed.CopyFrom(proto)
    for item, value in zip(list(changed.graph.input)[1:], values[1:], strict=True):
        changed.graph.initializer.append(numpy_helper.from_array(np.asarray(value), item.name))
        changed.graph.input.remove(item)
    return changed


def test_imports_of_constants(backend_case: str) -> None:
    """With constant sizes every mode has a form, or its region is filled."""
    test = _tests()[backend_case]
    inputs, outputs = test.data_sets[0]
    source = reader.from_proto(_with_constants(test.model, inputs))
    if "extrapolation_value" in backend_case:
        with pytest.raises(UnsupportedError, match="filled"):
            pipelines.to_openvino(source)
        return
    model, notes = pipelines.to_openvino(source)
    assert not notes
    (found,) = Session(model).run([np.asarray(inputs[0])]).values()
    np.testing.assert_allclose(found, outputs[0], rtol=max(test.rtol, 1e-4), atol=1e-5)
    assert found.dtype == np.asarray(outputs[0]).dtype


@pytest.mark.parametrize("name", ROUNDED_FIRST)
def test_rounded_sizes_are_noted(name: str) -> None:
    test = _tests()[name]
    _, notes = pipelines.to_openvino(reader.from_proto(test.model))
    assert [note.code for note in notes] == ["CNV803"]
