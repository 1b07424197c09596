"""Nested Loops, Scans and Ifs of ONNX, converted to IR and run by OpenVINO.

A Scan of known length becomes a TensorIterator, one of unknown length a Loop. Each model is
compiled once and infers several times; the expected numbers are plain NumPy (`nests`).
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.nests import COUNTED, NAMES, arrays, expected, same

KINDS = ("counted", "run time", "never", "while", "scan", "scan backwards", "branch")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="OpenVINO is not installed"
)

#: The types of `nests.Given`.
INPUTS = {
    "h": "float[n,3] h",
    "x": "float[n,3] x",
    "xs": "float[t,n,3] xs",
    "fixed": "float[4,n,3] fixed",
    "count": "int64 count",
    "go": "bool go",
    "stop": "int64 stop",
    "flag": "bool flag",
}
OUTPUTS = (
    "float[n,3] last0, float[p,n,3] parts0, float[s] sums0, int64[l] lengths0, float[q,n,3] starts0"
)


def body(depth: int, inner: str, row: str) -> str:
    """The nodes of one iteration; they compute `next` from the state `h`, and at depth 0 also `sum`
    and `length`.
    """
    if depth:
        return f"{row} next{depth} = Sub (row{depth}, h{depth})"
    return f"""
      {row}
      {construct(1, "", inner, "h0")}
      next0 = Sub (row0, last1)
      sum0 = ReduceSum <keepdims = 0> (parts1)
      shape0 = Shape <end = 1> (parts1)
      length0 = Squeeze (shape0)"""


def construct(depth: int, inner: str, kind: str, start: str) -> str:
    """The text of a loop or branch with the outputs `last` and `parts`; at depth 0 it has the
    others, too.

    `OUTPUTS` lists them.
    """
    d = depth
    made = f"last{d}, parts{d}" + ("" if d else ", sums0, lengths0, starts0")
    results = f"float[n,3] next{d}, float[n,3] next{d}"
    results += "" if d else ", float sum0, int64 length0, float[n,3] h0"
    if kind == "branch":
        return branch(depth, inner, start, made)
    if kind.startswith("scan"):
        rows, back = ("fixed", 1) if kind == "scan backwards" else ("xs", 0)
        return f"""
          {made} = Scan <num_scan_inputs = 1, scan_input_directions = [{back}],
            body = step{d} (float[n,3] h{d}, float[n,3] row{d}) => ({results}) {{
              {body(depth, inner, "")}
          }}> ({start}, {rows})"""
    count = {"counted": "three", "run time": "count", "never": "zero0", "while": ""}[kind]
    stops = kind in {"run time", "while"}
    on = f"Less (i{d}, stop)" if stops else f"Identity (c{d})"
    row = f"number{d} = Cast <to = 1> (i{d}) row{d} = Add (x, number{d})"
    return f"""
      {made} = Loop ({count}, {"go" if stops else "yes"}, {start}) <
        body = step{d} (int64 i{d}, bool c{d}, float[n,3] h{d}) => (bool on{d}, {results}) {{
          {body(depth, inner, row)}
          on{d} = {on}
      }}>"""


def branch(depth: int, inner: str, start: str, made: str) -> str:
    """An If that runs the body once, or returns the state twice."""
    d = depth
    then = [f"next{d}", f"once{d}"]
    other = [f"less{d}", f"twice{d}"]
    once = f"once{d} = Unsqueeze (next{d}, zero)"
    twice = f"less{d} = Sub ({start}, x) up{d} = Unsqueeze ({start}, zero) "
    twice += f"twice{d} = Concat <axis = 0> (up{d}, up{d})"
    if not depth:
        then += ["once_sum", "once_length", "once_start"]
        other += ["twice_sum", "none", "twice_start"]
        once += " once_sum = Unsqueeze (sum0, zero) once_length = Unsqueeze (length0, zero)"
        once += " once_start = Unsqueeze (h, zero)"
        twice += " twice_start = Identity (twice0)"
        twice += " twice_sum = Constant <value_floats = [0.0, 0.0]> ()"
        twice += " none = Constant <value_ints = [0, 0]> ()"
    types = ["float[n,3]", "float[p,n,3]", "float[p]", "int64[p]", "float[p,n,3]"]
    thens = ", ".join(map(" ".join, zip(types, then, strict=False)))
    others = ", ".join(map(" ".join, zip(types, other, strict=False)))
    row = f"h{d} = Identity ({start}) row{d} = Identity (x)"
    return f"""
      {made} = If (flag) <
        then_branch = then{d} () => ({thens}) {{ {body(depth, inner, row)} {once} }},
        else_branch = else{d} () => ({others}) {{ {twice} }}>"""


def model(outer: str, inner: str) -> tuple[onnx.ModelProto, tuple[str, ...]]:
    """The model, and the names of its inputs."""
    nodes = construct(0, inner, outer, "h")
    words = set(nodes.replace("(", " ").replace(")", " ").replace(",", " ").split())
    names = tuple(name for name in NAMES if name in words)
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    nest ({", ".join(INPUTS[name] for name in names)}) => ({OUTPUTS}) {{
      zero = Constant <value_ints = [0]> ()
      zero0 = Constant <value_int = 0> ()
      three = Constant <value_int = {COUNTED}> ()
      yes = Constant <value = bool {{1}}> ()
      {nodes}
    }}"""
    proto = onnx.parser.parse_model(text)
    onnx.checker.check_model(proto, full_check=True)
    return proto, names


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("inner", KINDS)
@pytest.mark.parametrize("outer", KINDS)
def test_openvino_computes_each_nest_correctly(
    outer: str, inner: str, engines: Engines, tmp_path: Path
) -> None:
    proto, names = model(outer, inner)
    source, path = tmp_path / "model.onnx", tmp_path / "model.xml"
    onnx.save(proto, source)
    converted, _ = irloop.convert(source)
    irloop.save_model(converted, path)
    found = engines.run_all("openvino", path, arrays(names), tmp_path, names)
    assert same(found, expected(outer, inner))
