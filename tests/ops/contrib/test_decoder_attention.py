"""Attention for one new position, against ONNX Runtime; packed attention against padded
Attention.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.ops.contrib.against_runtime import Case, agree, drawn, model_of

NAME = "DecoderMaskedMultiHeadAttention"
STEP = [drawn(1, 2, 1, 8), drawn(2, 2, 1, 8), drawn(3, 2, 1, 8)]
PAST = [drawn(4, 2, 2, 3, 4), drawn(5, 2, 2, 3, 4)]
ROOM = [drawn(4, 2, 2, 6, 4), drawn(5, 2, 2, 6, 4)]
LENGTH = np.array([3], np.int32)
MASK = np.array([[1, 1, 0, 1], [0, 1, 1, 1]], np.int32)
BIAS = drawn(7, 24)

CASES = [
    Case(NAME, [STEP[0], *PAST], num_heads=2),
    Case(NAME, [STEP[0], *PAST, MASK[:, :3]], num_heads=2, scale=0.3),
    *(
        Case(
            NAME,
            [*STEP, mask, addend, *ROOM, LENGTH, None, None, bias],
            num_heads=2,
            outputs=3,
            declared=True,
            past_present_share_buffer=1,
        )
        for mask, addend, bias in (
            (None, None, None),
            (MASK, None, BIAS),
            (None, drawn(6, 1, 2, 1, 4), BIAS),
        )
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


def test_packed_attention_is_attention_without_padding(engines: Engines, tmp_path: Path) -> None:
    """ONNX Runtime's CPU provider lacks it, so the expected values come from Attention of the
    padded batch.
    """
    x, weights, bias = drawn(1, 3, 4, 6), drawn(2, 6, 24), drawn(3, 24)
    lengths = np.array([1, 2, 4], np.int32)
    padded = Case("Attention", [x, weights, bias, lengths], num_heads=2)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(padded).SerializeToString())
    (expected,) = engines.run("onnxruntime", path, padded.given, tmp_path)
    real = [b * 4 + at for b, length in enumerate(lengths) for at in range(length)]
    offsets = np.array(real + [at for at in range(12) if at not in real], np.int32).reshape(3, 4)
    tokens = x.reshape(12, 6)[real]
    before = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    packed = Case("PackedAttention", [tokens, weights, bias, offsets, before], num_heads=2)
    path.write_bytes(model_of(packed).SerializeToString())
    standard = tmp_path / "standard.onnx"
    irloop.save_model(irloop.convert(path, "onnx", standard=True)[0], standard)
    found = [
        *Session(irloop.read_model(path)).run(packed.given).values(),
        *engines.run("onnxruntime", standard, packed.given, tmp_path),
    ]
    for one in found:
        np.testing.assert_allclose(one, expected.reshape(12, 8)[real], 1e-4, 1e-5)
