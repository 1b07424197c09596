"""Bags of embeddings and segments in the other dialect, against OpenVINO and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum
    EmbeddingSegmentsSum SegmentMax SparseFillEmptyRows
"""


@pytest.mark.parametrize("opset", [11, 17, 18])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    if "SegmentMax" in opconf_case.parent.name and opset < 18:
        assert "needs opset 18" in refused(lambda: check_export(opconf_case, opset))
        return
    check_export(opconf_case, opset)
