"""Temporal classification in ONNX, run by ONNX Runtime against OpenVINO's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    if opconf_case.parent.name.endswith("_CTCLoss"):
        assert "alignments" in refused(lambda: check_export(opconf_case, opset))
    else:
        check_export(opconf_case, opset)
