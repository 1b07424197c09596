"""The engines with which ONNX Runtime's operations are compared; one process runs all cases."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator

import pytest

from benchmarks.engines import Engines


@pytest.fixture(scope="session")
def engines() -> Iterator[Engines]:
    for name in ("onnxruntime", "openvino"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    with contextlib.closing(Engines()) as found:
        yield found
