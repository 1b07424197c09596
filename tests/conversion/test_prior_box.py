"""Prior boxes in ONNX, against OpenVINO's values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "PriorBox PriorBoxClustered"

#: Cases whose sizes are inputs of the model.
SIZES_ARE_INPUTS = {("opset1_PriorBox", "ssd")}


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    if (opconf_case.parent.name, opconf_case.name) in SIZES_ARE_INPUTS:
        assert "PriorBox" in refused(lambda: check_export(opconf_case, opset))
    else:
        check_export(opconf_case, opset)
