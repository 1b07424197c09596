"""OpenVINO returns strings as ONNX Runtime does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import agree, needs_engines

WORDS = [np.array([["a", "bb"], ["", "c"]], object), np.array([["xyz", "q"]], object)]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


COPIES = {
    "an input": "g (string[N,2] w) => (string[N,2] y) { y = Identity (w) }",
    "two outputs": """g (string[N,2] w) => (string[M,2] y, string[M,2] z) {
    y = Concat <axis = 0> (w, w)
    z = Identity (y)
}""",
    "no conversion": """g (string[N,2] w) => (string[N,2] y) {
    v = Cast <to = 8> (w)
    y = CastLike (v, w)
}""",
    "no strings": """g (string[N,2] w) => (string[0,M,2] y) {
    zero = Constant <value = int64 {0}> ()
    y = Loop (zero, "") <body = b (int64 i, bool c) => (bool d, string[N,2] n) {
        d = Identity (c)
        n = Identity (w)
    }>
}""",
}


@needs_engines
@pytest.mark.parametrize("copied", COPIES)
def test_copies_of_strings(copied: str, engines: Engines, tmp_path: Path) -> None:
    agree(COPIES[copied], [[words] for words in WORDS], engines, tmp_path)


def moved(line: str, constants: str = "", shape: str = "A,B") -> str:
    return f"g (string[N,2] w, bool[N,2] f) => (string[{shape}] y) {{ {constants} {line} }}"


def numbers(name: str, *values: int) -> str:
    data = ", ".join(map(str, values))
    return f"{name} = Constant <value = int64[{len(values)}] {{{data}}}> ()"


MOVES = {
    "Slice": moved("y = Slice (w, i, e)", f"{numbers('i', 0)} {numbers('e', 1)}"),
    "Slice backwards": moved(
        "y = Slice (w, i, e, a, i)", f"{numbers('i', -1)} {numbers('e', -9)} {numbers('a', 1)}"
    ),
    "Split": moved("y, z = Split <axis = 1> (w)"),
    "Tile": moved("y = Tile (w, r)", numbers("r", 2, 1)),
    "Expand": moved("y = Expand (w, s)", numbers("s", 3, 1, 1), "A,B,C"),
    "Where": moved(
        "v = Concat <axis = 1> (w, w)  u = Slice (v, i, e, a)  y = Where (f, w, u)",
        f"{numbers('i', 1)} {numbers('e', 3)} {numbers('a', 1)}",
    ),
    "GatherElements": moved(
        "y = GatherElements <axis = 0> (w, i)", "i = Constant <value = int64[1,2] {-1, 0}> ()"
    ),
    "GatherND": moved("y = GatherND (w, i)", "i = Constant <value = int64[1,2] {0, 1}> ()", "A"),
    "ScatterND": moved(
        "y = ScatterND (w, i, u)",
        "i = Constant <value = int64[1,1] {0}> () "
        'u = Constant <value = string[1,2] {"new", "est"}> ()',
    ),
    "a branch": moved(
        "y = If (c) <then_branch = t () => (string[A,B] p) { p = Tile (w, r) }, "
        "else_branch = e () => (string[C,B] q) { q = Expand (w, r) }>",
        f"{numbers('r', 2, 1)} {numbers('a', 0)} n = Shape (w) s = ReduceMax <keepdims = 0> (n) "
        "two = Constant <value = int64 {2}> () c = Equal (s, two)",
    ),
}


@needs_engines
@pytest.mark.parametrize("operation", MOVES)
def test_moves_of_strings(operation: str, engines: Engines, tmp_path: Path) -> None:
    """OpenVINO refuses these operations, or its process dies, if they get strings (OVN153)."""
    sets = [[words, words > "a"] for words in (*WORDS, WORDS[0])]
    agree(MOVES[operation], sets, engines, tmp_path)


def test_an_ir_that_returns_strings_has_version_11(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino", reason="needs OpenVINO")
    onnx = pytest.importorskip("onnx", reason="needs the onnx package")
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (string[3] x) => (string[3] y) { y = Identity (x) }"""
    model, _ = irloop.convert(onnx.parser.parse_model(text))
    irloop.save_model(model, tmp_path / "m.xml")
    assert [item.severity for item in irloop.validate(tmp_path / "m.xml")] == []
    compiled = openvino.compile_model(openvino.Core().read_model(tmp_path / "m.xml"), "CPU")
    words = np.array(["a", "", "\u00fc"])
    assert compiled([words])[0].tolist() == words.tolist()
