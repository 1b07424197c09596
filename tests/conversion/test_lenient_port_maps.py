"""Port maps that OpenVINO refuses or misreads although the file has one meaning: they convert.

The expected numbers are worked out by hand. Validation warns about each of these files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.loop_programs.judge import in_turn
from irloop.engines.onnxruntime_runner import OnnxRuntimeRunner
from irloop.engines.openvino_runner import OpenVinoRunner

pytest.importorskip("onnxruntime", reason="needs onnxruntime")
pytest.importorskip("openvino", reason="needs openvino")

FOLDER = Path(__file__).parents[1] / "fixtures" / "port_maps"
ONE = [np.ones((1, 2), np.float32)]
ROWS = np.arange(36, dtype=np.float32).reshape(2, 6, 3)
EVEN = 2 * ROWS[:, ::2]

#: The code of the warning, the inputs and the outputs of each file.
FILES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "stride_without_part_size": (
        "IRL614",
        [ROWS, np.zeros((2, 1, 3), np.float32)],
        [EVEN.tolist(), EVEN.sum(1, keepdims=True).tolist()],
    ),
    "parts_of_two": ("IRL613", ONE, [[[2, 2, 3, 3, 4, 4]]]),
    "one_input_two_parameters": ("IRL505", ONE, [[[4, 4]]]),
    "iterator_in_iterator": (
        "IRL522",
        [np.arange(8, dtype=np.float32).reshape(4, 2)],
        [[[0, 1], [2, 5], [4, 9], [6, 13]]],
    ),
    "ports_2_0_1": ("IRL520", ONE, [[[4, 4]]]),
    "ports_5_7_9": ("IRL520", ONE, [[[4, 4]]]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_converts_with_a_warning(name: str, tmp_path: Path) -> None:
    code, given, wanted = FILES[name]
    path, there, back = FOLDER / f"{name}.xml", tmp_path / "there.onnx", tmp_path / "back.xml"
    found = [(item.code, item.severity.value) for item in irloop.validate(path).diagnostics]
    assert found == [(code, "warning")]
    assert [value.tolist() for value in irloop.run(path, given).values()] == wanted
    irloop.save_model(irloop.convert(path)[0], there)
    irloop.save_model(irloop.convert(there)[0], back)
    for runner in (OnnxRuntimeRunner(str(there)), OpenVinoRunner(str(back))):
        for row in in_turn(runner, [given, given]):
            assert [value.tolist() for value in row] == wanted


def test_openvino_gets_an_input_for_each_parameter(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    made, _ = irloop.transform(FOLDER / "one_input_two_parameters.xml", ["dead_code"])
    irloop.save_model(made, path)
    (row,) = in_turn(OpenVinoRunner(str(path)), [ONE])
    assert row[0].tolist() == [[4, 4]]
