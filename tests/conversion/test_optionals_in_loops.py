"""Optionals that a loop fills, in IR a value and a boolean that tells whether it counts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, back_agrees, i64, needs_engines

pytestmark = needs_engines

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
X = np.arange(1, 13, dtype=F32).reshape(4, 3)

#: The value that `made` holds, or zeros.
READ = """
  is_there = OptionalHasElement (made)
  y = If (is_there) <
    then_branch = yes () => (float[p] value) { value = OptionalGetElement (made) },
    else_branch = no () => (float[q] zeros) { zeros = Sub (start, start) }>
"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def body(result: str, columns: str) -> str:
    """A Loop over rows of x that adds the product of each row and the one that `s` holds."""
    return f"""
  none = Optional <type = float[{columns}]> ()
  start = ReduceMax <keepdims = 0, axes = [0]> (x)
  total, made = Loop (n, "", start, none) <body = b (int64 i, bool c, float[{columns}] t,
      optional(float[{columns}]) s) => (bool d, float[{columns}] u, optional(float[{columns}]) r) {{
    d = Identity (c)  row = Gather (x, i)  has = OptionalHasElement (s)
    u = If (has) <
      then_branch = then () => (float[v] more) {{
        last = OptionalGetElement (s)  product = Mul (row, last)  more = Add (t, product)
      }},
      else_branch = else () => (float[w] same) {{ same = Identity (t) }}>
    {result}
  }}>
"""


#: The states of the optional: filled in each iteration, and where the sum of a row is above 10.
RESULTS = {
    "each iteration": "r = Optional (row)",
    "some iterations": """
    sum = ReduceSum <keepdims = 0> (row)  ten = Constant <value_float = 10.0> ()
    big = Greater (sum, ten)
    r = If (big) <
      then_branch = fill () => (optional(float[v]) filled) { filled = Optional (row) },
      else_branch = keep () => (optional(float[w]) kept) { kept = Identity (s) }>""",
}


@pytest.mark.parametrize("columns", ["3", "m"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_loop_that_fills_an_optional(
    name: str, columns: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""{HEADER}
g (int64 n, float[r, {columns}] x) => (float[{columns}] total, float[e] y) {{
  {body(RESULTS[name], columns)} {READ}
}}
"""
    sets = [[i64(trips), X] for trips in (3, 0, 1, 4)]
    sets += [[i64(2), X[:, :2].copy()]] if columns == "m" else []
    agree(text, sets, engines, tmp_path)
    back_agrees(sets, engines, tmp_path)


def test_a_loop_that_goes_on_with_the_optional_of_another(engines: Engines, tmp_path: Path) -> None:
    """The second loop empties the optional in its last iteration."""
    text = f"""{HEADER}
g (int64 n, int64 k, float[r, 3] x) => (float[3] again, float[e] y) {{
  {body(RESULTS["some iterations"], "3").replace("made", "first")}
  again, made = Loop (k, "", start, first) <body = a (int64 i, bool c, float[3] t,
      optional(float[3]) s) => (bool d, float[3] u, optional(float[3]) r) {{
    d = Identity (c)  has = OptionalHasElement (s)
    u = If (has) <
      then_branch = then () => (float[v] more) {{
        last = OptionalGetElement (s)  more = Add (t, last)
      }},
      else_branch = else () => (float[w] less) {{ less = Neg (t) }}>
    two = Constant <value_int = 2> ()  late = Equal (i, two)
    r = If (late) <
      then_branch = drop () => (optional(float[3]) nothing) {{
        nothing = Optional <type = float[3]> ()
      }},
      else_branch = keep () => (optional(float[3]) kept) {{ kept = Identity (s) }}>
  }}>
  {READ}
}}
"""
    sets = [[i64(n), i64(k), X] for n, k in ((3, 1), (0, 2), (4, 3), (4, 0), (1, 4), (4, 4))]
    agree(text, sets, engines, tmp_path)
    back_agrees(sets, engines, tmp_path)


def test_a_model_that_returns_it_is_refused(tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float[r, 3] x) => (float[3] total, optional(float[3]) made) {{
  {body(RESULTS["each iteration"], "3")}
}}
"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    with pytest.raises(irloop.UnsupportedError, match="an optional that may be empty"):
        irloop.convert(tmp_path / "model.onnx")
