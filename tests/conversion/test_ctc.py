"""Conversion of connectionist temporal classification to ONNX, with stored OpenVINO results and
random labels and lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.openvino import ctc as ov
from tests.drawn.operations import Draw, check_operation, everything

OPCONF_TYPES = "CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("seed", range(24))
def test_losses_with_random_attributes_and_labels(seed: int) -> None:
    draw = Draw(seed)
    items, frames, classes, longest = draw.choice([1, 3]), 8, draw.choice([3, 5]), 4
    op = ov.CTCLoss(
        preprocess_collapse_repeated=draw.chance(0.4),
        ctc_merge_repeated=draw.chance(0.6),
        unique=draw.chance(0.3),
    )
    blank = draw.choice([None, 0, classes - 1])
    allowed = [
        label for label in range(classes) if label != (classes - 1 if blank is None else blank)
    ]
    element = draw.choice([np.int32, np.int64])
    lengths = draw.rng.integers(0, longest + 1, items).astype(element)
    arrays = [
        draw.rng.normal(size=(items, frames, classes)).astype(np.float32) * 2,
        draw.rng.integers(5, frames + 1, items).astype(element),
        np.array(allowed)[draw.rng.integers(len(allowed), size=(items, frames))].astype(element),
        lengths,
        None if blank is None else np.array(blank, element),
    ]
    dynamic = ((), (0, 1, 2, 3))[seed % 2]
    opset = (11, 13, 17, 21)[seed % 4]
    # The CPU plugin crashes if an item has no label.
    engine = everything if seed % 4 == 0 and lengths.all() else None
    check_operation(op, arrays, opset=opset, dynamic=dynamic, openvino=engine)
