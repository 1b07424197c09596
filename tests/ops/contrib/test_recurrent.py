"""DynamicQuantizeLSTM of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn

Array = np.ndarray[Any, np.dtype[Any]]

NAME = "DynamicQuantizeLSTM"


def codes(seed: int, *shape: int, signed: bool = False) -> Array:
    """Random 7-bit weights, because ONNX Runtime may add pairs of products of u8 and i8 in 16
    bits.
    """
    found = np.random.default_rng(seed).integers(0, 128, shape)
    return (found - 64).astype(np.int8) if signed else found.astype(np.uint8)


def weights(directions: int, *, signed: bool = False, by_column: bool = False) -> list[Array]:
    """Scales and zero points of W and R."""
    shape = (directions, 16) if by_column else (directions,)
    scale = np.abs(drawn(7, *shape)) * np.float32(0.002) + np.float32(0.002)
    zero = np.zeros(shape, np.int8) if signed else np.full(shape, 60, np.uint8)
    return [scale, zero, scale * np.float32(0.5), zero]


def lstm(
    directions: int,
    *,
    batch: int = 2,
    signed: bool = False,
    by_column: bool = False,
    options: tuple[Array | None, ...] = (None,) * 5,
    **words: Any,
) -> Case:
    """A case with five steps, three inputs and four state elements."""
    inputs = [
        drawn(1, 5, batch, 3),
        codes(2, directions, 3, 16, signed=signed),
        codes(3, directions, 4, 16, signed=signed),
        *options,
        *weights(directions, signed=signed, by_column=by_column),
    ]
    # If one element of the state is rounded to another code, results change by 1 / 255.
    return Case(
        NAME,
        inputs,
        outputs=words.pop("outputs", 3),
        constants=words.pop("constants", [1, 2, 8, 9, 10, 11]),
        tolerance=2e-3,
        hidden_size=4,
        **words,
    )


BIAS, H, C = drawn(4, 1, 32), drawn(5, 1, 2, 4, scale=0.5), drawn(6, 1, 2, 4, scale=0.5)
PEEP = drawn(8, 1, 12)
LENGTHS = np.array([3, 4], np.int32)

CASES = [
    lstm(1, batch=1),
    lstm(1, options=(BIAS, None, H, C, None), constants=[]),
    lstm(1, signed=True, by_column=True, options=(BIAS, None, H, C, PEEP), opset=11),
    lstm(1, direction="reverse", options=(BIAS, None, None, None, None), opset=21),
    lstm(1, options=(BIAS, LENGTHS, H, C, None)),
    lstm(1, direction="reverse", options=(BIAS, LENGTHS, H, C, None)),
    lstm(2, direction="bidirectional", by_column=True, outputs=["y"]),
    lstm(2, direction="bidirectional", signed=True, outputs=["", "h", "c"]),
    lstm(1, activations=["HardSigmoid", "Relu", "Softsign"], clip=0.75),
    lstm(1, input_forget=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
