"""Outputs of a loop in the body of another loop; OpenVINO moves their memory between inferences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, needs_engines

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,3] y, float[t,n,3] xs) => ({outputs})
    <int64 count = {{3}}, bool yes = {{1}}, int64[1] one = {{1}}, int64[1] two = {{2}},
     float nothing = {{0.0}}, float whole = {{1.0}}> {{
      p_all, q_all = Scan <num_scan_inputs = 1, scan_output_axes = [1, 2], body = step
        (float[n,3] x) => ({results}) {{
          u = Loop <body = inner (int64 i, bool c, float[n,3] s) => (bool d, float[n,3] r) {{
            d = Identity (c)
            r = Relu (y)
          }}> (count, yes, y)
          {readers}
      }}> (xs)
    }}"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@needs_engines
@pytest.mark.parametrize(
    ("readers", "rank"),
    [
        ("p = Neg (u) q = Softmax (u)", 2),
        ("p = Unsqueeze (u, one) q = Unsqueeze (u, two)", 3),
        ("v = Add (u, nothing) p = Neg (v) q = Softmax (v)", 2),
        ("w = Mul (u, whole) v = Add (nothing, w) p = Softmax <axis = 0> (v) q = Softmax (v)", 2),
        ("v = Cast <to = 1> (u) p = Unsqueeze (v, one) q = Unsqueeze (v, two)", 3),
    ],
)
def test_readers_notice_that_the_memory_moves(
    readers: str, rank: int, engines: Engines, tmp_path: Path
) -> None:
    """The second inference has fewer iterations of the outer loop, but the same number of rows.

    OpenVINO computed with values of the first inference, or with undefined ones.
    """
    result, output = (",".join("?" * count) for count in (rank, rank + 1))
    text = MODEL.format(
        readers=readers,
        results=f"float[{result}] p, float[{result}] q",
        outputs=f"float[{output}] p_all, float[{output}] q_all",
    )
    rng = np.random.default_rng(7)
    sets = [
        [rng.standard_normal((rows, 3)).astype(F32), np.zeros((trips, rows, 3), F32)]
        for trips, rows in ((5, 4), (2, 4), (2, 4), (3, 2), (5, 4), (2, 4))
    ]
    agree(text, sets, engines, tmp_path)
