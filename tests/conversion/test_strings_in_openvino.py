"""OpenVINO returns strings as ONNX Runtime does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

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
