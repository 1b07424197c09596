"""Conversion of Fourier transforms in both directions; the expected values are OpenVINO's and
ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from irloop.errors import UnsupportedError

OPCONF_TYPES = "DFT IDFT RDFT IRDFT STFT ISTFT"

BACKEND_OPS = "DFT STFT"

#: The axis of these node tests is an input of the model; as a constant it can be converted.
NEEDS_CONSTANTS = ("test_dft_rfft", "test_dft_irfft")


@pytest.mark.parametrize("opset", [17, 20])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


#: Before opset 17, a transform is a product with a matrix, whose size must be known.
NEEDS_17 = ("opset15_STFT", "1d_dyn")


def test_exports_before_opset_17(
    opconf_case: Path, check_export: Callable[[Path, int], None]
) -> None:
    if not any(word in str(opconf_case) for word in NEEDS_17):
        check_export(opconf_case, 13)
        return
    with pytest.raises(UnsupportedError, match="opset 17"):
        check_export(opconf_case, 16)


@pytest.mark.parametrize("opset", [7, 8, 9, 15])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    if backend_case in NEEDS_CONSTANTS:
        with pytest.raises(UnsupportedError, match="constant"):
            check_import(backend_case, opset)
        return
    check_import(backend_case, opset)


@pytest.mark.parametrize("opset", [7, 9, 15])
def test_imports_of_constants(
    backend_case: str, opset: int, check_import_of_constants: Callable[[str, int], None]
) -> None:
    check_import_of_constants(backend_case, opset)


def test_imports_need_opset7(backend_case: str, check_import: Callable[[str, int], None]) -> None:
    with pytest.raises(UnsupportedError, match=r"opset7|constant"):
        check_import(backend_case, 6)
