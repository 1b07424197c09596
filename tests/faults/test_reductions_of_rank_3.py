"""OVN140: reductions of three axes, computed together with what follows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.faults.catalogue import faults
from irloop.formats.onnx.reader import from_proto
from tests.conversion.both_engines import HEADER, agree, needs_engines

FOLLOWING = {
    "difference": ("y = Sub (r, one)", True),
    "from nine": ("y = Sub (nine, r)", True),
    "after another": ("d = Abs (r)  y = Mul (d, nine)", True),
    "sign": ("y = Neg (r)", False),
}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def model(kind: str, axis: int, following: str, dims: str) -> str:
    left = 9 if kind == "int64" else "9.0"
    one = 1 if kind == "int64" else "1.0"
    return f"""g ({kind}[{dims}] x) => ({kind}[a,b] y) {{
      one = Constant <value = {kind} {{{one}}}> ()  nine = Constant <value = {kind} {{{left}}}> ()
      r = ReduceMin <axes = [{axis}], keepdims = 0> (x)  {FOLLOWING[following][0]} }}"""


@needs_engines
@pytest.mark.parametrize("dims", ["4,20,30", "3,1,8", "5,4,1"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("following", FOLLOWING)
def test_integers_before_arithmetic(
    following: str, axis: int, dims: str, engines: Engines, tmp_path: Path
) -> None:
    shape = [int(dim) for dim in dims.split(",")]
    x = np.random.default_rng(0).integers(-9, 50, shape)
    agree(model("int64", axis, following, dims), [[x], [-x]], engines, tmp_path)


@pytest.mark.parametrize("kind", ["int64", "float"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("following", FOLLOWING)
def test_an_axis_is_added_only_where_it_is_needed(following: str, axis: int, kind: str) -> None:
    text = HEADER + model(kind, axis, following, "4,20,30")
    there, _ = irloop.convert(from_proto(onnx.parser.parse_model(text)))
    needs = kind == "int64" and axis > 0 and FOLLOWING[following][1]
    assert ("Unsqueeze" in [node.op.type for node in there.graph.nodes]) is needs
    assert not any(map(faults()["OVN140"]().is_repaired, there.graph.nodes))
