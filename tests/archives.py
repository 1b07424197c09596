"""Archives of the fixtures, all made for this project.

- `opconf`: cases of single operations, with outputs recorded from OpenVINO.
- `legacy_ir`: cases of single layers of IR 2 to 7, with outputs of the engine of that time.
- `loops`: whole models with loops. `authored` has an IR for each feature of TensorIterator, Loop
  and If, `onnx` the smallest forms of repaired faults and random programs, `ir` random programs as
  text. Outputs are those of loops in NumPy, written beside each graph; for `onnx`, of ONNX Runtime
  without optimisation, on a copy whose bodies do not return their own inputs.
- `harmful`: models and arrays that once did harm: crashes, exceptions that were not irloop's own,
  exponential work, wrong answers.
"""

from __future__ import annotations

import atexit
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["opconf_cases", "unpacked"]


@cache
def unpacked(name: str) -> Path:
    """The folder of the unpacked archive, which is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix=f"irloop-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(Path(__file__).parent / "fixtures" / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def opconf_cases() -> Path:
    """The folder with a folder for each operation, and in it one for each case."""
    return unpacked("opconf") / "cases"
