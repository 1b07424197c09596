"""Values from other files than the model do not stand in logs that anyone may read."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import Result
from onnx import TensorProto, helper

Irloop = Callable[..., Result]

PUBLIC = ("github", "gitlab", "azure", "rdjson", "sarif", "junit", "summary")


def squeezing(folder: Path, element: int, data: bytes, *, location: str | None) -> Path:
    """An ONNX model with an axis that is out of range, taken from a constant with these bytes."""
    axis = TensorProto(name="a", data_type=element, dims=[1])
    if location is None:
        axis.raw_data = data
    else:
        (folder / location).write_bytes(data)
        axis.data_location = TensorProto.EXTERNAL
        axis.external_data.add(key="location", value=location)
    nodes = [
        helper.make_node("Cast", ["a"], ["axes"], name="cast", to=TensorProto.INT64),
        helper.make_node("Squeeze", ["x", "axes"], ["y"], name="squeeze7"),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", 1, [1, 2])], [info("y", 1, None)], [axis])
    path = folder / "m.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


@pytest.mark.parametrize("style", PUBLIC)
@pytest.mark.parametrize(
    ("element", "value"),
    [(TensorProto.INT64, 7503595596514879579), (TensorProto.UINT8, 211), (TensorProto.INT32, 4321)],
)
def test_values_of_external_data_are_left_out(
    irloop: Irloop, tmp_path: Path, style: str, element: int, value: int
) -> None:
    data = np.array(value, helper.tensor_dtype_to_np_dtype(element)).tobytes()
    model = squeezing(tmp_path, element, data, location="w.data")
    report = tmp_path / "report"
    result = irloop("validate", model, "--format", style, "--report", f"{style}={report}")
    assert result.exit_code == 1
    for text in (result.output, report.read_text("utf-8")):
        assert "axis is out of range" in text
        assert "squeeze7" in text
        assert not re.search(rf"\b{value}\b", text)
    # The user sees the value.
    assert str(value) in irloop("validate", model).output


def test_small_values_of_the_model_itself_are_shown(irloop: Irloop, tmp_path: Path) -> None:
    for value, is_shown in ((211, True), (7503595596514879579, False)):
        data = np.array(value, np.int64).tobytes()
        model = squeezing(tmp_path, TensorProto.INT64, data, location=None)
        assert (str(value) in irloop("validate", model, "--format", "github").output) == is_shown


@pytest.mark.skipif(os.name == "nt", reason="making links needs a privilege on Windows")
def test_values_behind_a_link_in_the_folder_are_left_out(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    """The .bin may be a link to a file in the folder, which need not be weights."""
    text = recurrent.read_text("utf-8")
    (tmp_path / "m.xml").write_text(text.replace('from-port="2"', 'from-port="911"'), "utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), tmp_path / "other")
    (tmp_path / "m.bin").symlink_to("other")
    linked = irloop("validate", tmp_path / "m.xml", "--format", "github").output
    assert "IRL203" in linked
    assert "911" not in linked
    (tmp_path / "m.bin").unlink()
    (tmp_path / "other").rename(tmp_path / "m.bin")
    assert "911" in irloop("validate", tmp_path / "m.xml", "--format", "github").output
