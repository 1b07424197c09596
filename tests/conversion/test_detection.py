"""Operations on boxes that ONNX has no form for: refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    ROIAlignRotated DeformablePSROIPooling
"""


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_refused(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    name = opconf_case.parent.name.split("_", 1)[1]
    assert name in refused(lambda: check_export(opconf_case, opset))
