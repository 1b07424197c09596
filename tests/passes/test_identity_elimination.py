"""Operations without effect are removed; operations that only seem to have none stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irloop.execution.session import run
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.graph.verify import verify
from irloop.passes import Manager
from irloop.passes.common import DeadCode, IdentityElimination
from tests.passes.texts import shown

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def changed(text: str, folder: Path) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    model = reader.read(path)
    Manager([IdentityElimination(), DeadCode()], check=True).run_passes(model)
    verify(model.graph)
    return model


def test_a_chain_without_effect_is_removed(tmp_path: Path) -> None:
    model = changed(
        """
        g (float[2,3] x) => (float[2,3] y) <int64[2] whole = {2, 3}, int64[1] first = {0},
            float one = {1.0}, float minus = {-0.0}> {
          a = Cast <to = 1> (x)
          b = Reshape (a, whole)
          c = Transpose <perm = [0, 1]> (b)
          d = Transpose <perm = [1, 0]> (c)
          e = Transpose (d)
          f = Unsqueeze (e, first)
          g = Squeeze (f, first)
          h = Mul (one, g)
          i = Add (h, minus)
          j, mask = Dropout (i)
          k = Concat <axis = 1> (j)
          l = Identity (k)
          y = Relu (l)
        }
        """,
        tmp_path,
    )
    assert shown(model) == "y = Relu(x)\n-> y"


@pytest.mark.parametrize(
    "line",
    [
        "y = Add (t, zero)",  # -0.0 + 0.0 is 0.0, so the sign changes
        "y = Mul (t, ones)",  # the shape [3] becomes [2, 3]
        "y = Reshape (t, turned)",
        "y = Transpose <perm = [1, 0]> (u)",
        "y = Slice (t, none, all, none, back)",
        "y = Cast <to = 10> (t)",
        "y = Sub (one, t)",
    ],
)
def test_operations_with_an_effect_stay(line: str, tmp_path: Path) -> None:
    model = changed(
        f"""
        g (float[3] x) => (y) <int64[2] turned = {{3, 1}}, float zero = {{0}}, float one = {{1}},
            float[2,3] ones = {{1, 1, 1, 1, 1, 1}}, int64[1] none = {{0}}, int64[1] all = {{99}},
            int64[1] back = {{-1}}> {{
          t = Relu (x)
          row = Unsqueeze (t, none)
          u = Relu (row)
          {line}
        }}
        """,
        tmp_path,
    )
    assert line.split()[2] in shown(model)


@pytest.mark.parametrize(
    ("shape", "stays"),
    [
        ("1, 0, 8", False),
        ("0, -1, 8", False),
        ("-1, 0, 8", False),
        ("1, 3, 8", True),
        ("-1, 8, 1", True),
        ("0, 0, 4", True),
    ],
)
def test_a_reshape_that_restates_the_sizes_is_removed(
    shape: str, stays: bool, tmp_path: Path
) -> None:
    text = f"""
        g (float[1,n,8] x) => (y) <int64[3] to = {{{shape}}}> {{
          t = Neg (x)  r = Reshape (t, to)  y = Relu (r)
        }}
        """
    assert ("Reshape" in shown(changed(text, tmp_path))) is stays


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("c = Where (yes, t, one)", False),
        ("c = Where (no, one, t)", False),
        ("c = Where (no, t, one)", True),  # the shape [] becomes [n]
        ("c = Where (row, t, one)", True),  # the shape [n] becomes [1, n]
        ("c = Where (yes, t, t)", True),
    ],
)
def test_a_choice_by_a_constant_is_its_operand(line: str, stays: bool, tmp_path: Path) -> None:
    text = f"""
        g (float[n] x) => (y) <bool yes = {{1}}, bool no = {{0}}, bool[1,1] row = {{1}},
            float one = {{1.0}}> {{
          t = Neg (x)  {line}  y = Relu (c)
        }}
        """
    assert ("Where" in shown(changed(text, tmp_path))) is stays


def test_names_of_inputs_and_outputs_stay(tmp_path: Path) -> None:
    model = changed(
        """
        g (float[2] x) => (float[2] y, float[2] z) {
          y = Identity (x)
          a = Relu (x)
          z = Identity (a)
        }
        """,
        tmp_path,
    )
    assert shown(model) == "y = Identity(x)\nz = Relu(x)\n-> y, z"
    found = run(model, [np.array([-1, 2], np.float32)])
    assert list(found) == ["y", "z"]


def test_slices_of_a_whole_axis_are_removed_whatever_its_length(tmp_path: Path) -> None:
    model = changed(
        """
        g (float[N, 2] x) => (float[N, 2] y)
            <int64[1] first = {0}, int64[1] end = {9223372036854775807}> {
          a = Slice (x, first, end)
          y = Relu (a)
        }
        """,
        tmp_path,
    )
    assert shown(model) == "y = Relu(x)\n-> y"
