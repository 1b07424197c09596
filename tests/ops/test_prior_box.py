"""Prior boxes: kernels and inference against OpenVINO's values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OPCONF_TYPES = "PriorBox PriorBoxClustered"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)
