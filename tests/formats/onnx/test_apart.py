"""The shape inference of onnx crashes on some models; irloop must report an error instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import irloop
from irloop.budget import Budget
from irloop.errors import LimitError, WriteError
from irloop.formats.onnx import apart
from irloop.formats.onnx.soundness import is_sound

HEAD = '<ir_version: 10, opset_import: ["" : 18, "ai.onnx.preview" : 1, "my" : 1]>\n'

#: With this axis, onnx 1.23 writes 16 GB while it infers the shape of the second output.
NORMALIZED = "y, mean = LayerNormalization <axis = 2147483648> (x, w)"

DAMAGED = (
    f"g (float[2,3,5] x, float[5] w) => (float[2,3,5] y, float[2,1,1] mean) {{ {NORMALIZED} }}"
)

#: A damaged model; the second branch never runs.
BRANCH_DAMAGED = f"""
g (float[2,3,5] x, float[5] w) => (float[2,3,5] z)
<bool yes = {{1}}>
{{
  z = If (yes) <
    then_branch = then () => (float[2,3,5] a) {{ a = Relu (x) }},
    else_branch = other () => (float[2,3,5] y) {{ {NORMALIZED} }}
  >
}}"""

#: onnx expands the preview operation, and infers the whole model for that.
EXPANDED = f"""
g (float[2,3,5] x, float[5] w, float[1,2,3,4] q) => (float[2,3,5] y, float[1,2,3,4] z) {{
  {NORMALIZED}
  z = ai.onnx.preview.FlexAttention (q, q, q)
}}"""


def written(folder: Path, text: str) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())
    return path


@pytest.mark.parametrize("text", [DAMAGED, BRANCH_DAMAGED], ids=["main", "branch"])
def test_saving_a_model_that_crashes_the_inference_of_onnx_is_an_error(
    tmp_path: Path, text: str
) -> None:
    # The model is saved in another process, because a crash would end this one.
    program = "import sys, irloop; irloop.save_model(irloop.read_model(sys.argv[1]), sys.argv[2])"
    target = tmp_path / "saved.onnx"
    done = subprocess.run(
        [sys.executable, "-c", program, str(written(tmp_path, text)), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "WriteError" in done.stderr
    assert "the ONNX checker refuses the model" in done.stderr
    assert not target.exists()


def test_expanding_a_model_that_crashes_the_inference_of_onnx_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "irloop", "validate", str(written(tmp_path, EXPANDED))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "axis is out of range" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        DAMAGED,
        BRANCH_DAMAGED,
        "g (float[2] x) => (float[2] y) { y = my.Unknown (x) }",
    ],
    ids=["error", "branch", "unknown"],
)
def test_damaged_and_unknown_operations_are_not_sound(tmp_path: Path, text: str) -> None:
    assert not is_sound(irloop.read_model(written(tmp_path, text)))


def test_judging_soundness_keeps_the_types(tmp_path: Path) -> None:
    text = """
    g (float[2,3] x, int64 n) => (float[M,N] y) <float[3] w = {1, 2, 3}> {
      h = Add (x, w)
      y = Loop (n, , h) <body = b (int64 i, bool c, float[M,N] a) => (bool d, float[M,N] e)
        { d = Identity (c)
          e = Relu (a) }>
    }"""
    model = irloop.read_model(written(tmp_path, text))
    (added,) = (node for node in model.graph.nodes if node.op.type == "Add")
    before = added.outputs[0].type
    assert str(before) == "dynamic[...]"
    assert is_sound(model)
    assert added.outputs[0].type == before


def test_the_checker_has_a_time_limit(tmp_path: Path) -> None:
    path = written(tmp_path, "g (float[2] x) => (float[2] y) { y = Relu (x) }")
    apart.check(str(path), full_check=True)
    with Budget(seconds=0.0).entered(), pytest.raises(LimitError) as caught:
        apart.check(str(path), full_check=True)
    assert caught.value.diagnostics[0].code == "LIM002"


def test_messages_of_the_checker_are_passed_on(tmp_path: Path) -> None:
    model = irloop.read_model(written(tmp_path, "g (float[2] x) => (float[3] y) { y = Relu (x) }"))
    with pytest.raises(WriteError) as here:
        irloop.save_model(model, tmp_path / "saved.onnx")
    with pytest.raises(apart.ApartError) as there:
        apart.check(str(tmp_path / "model.onnx"), full_check=True)
    words = "Inferred shape and existing shape differ in dimension 0: (2) vs (3)"
    assert words in str(here.value)
    assert words in str(there.value)
