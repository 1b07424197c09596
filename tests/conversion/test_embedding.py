"""Conversion of bags of embeddings and segments in both directions; the expected values are
OpenVINO's and ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum
    EmbeddingSegmentsSum SegmentMax SparseFillEmptyRows
"""


@pytest.mark.parametrize("opset", [11, 17, 18])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)
