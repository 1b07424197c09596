"""Randomly generated programs in both formats and in the real engines."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.cases import differences
from benchmarks.engines import Engines, check_onnx
from tests.drawn.programs import draw

ENGINES = ("onnxruntime", "openvino")
missing = [name for name in ENGINES if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("seed", range(30))
def test_a_program_stays_the_same(seed: int, engines: Engines, tmp_path: Path) -> None:
    source, there, back = (tmp_path / name for name in ("source.onnx", "there.xml", "back.onnx"))
    onnx.save(draw(seed), source)
    random = np.random.default_rng(seed)
    given = [random.normal(size=(2, 3)).astype(np.float32) for _ in range(2)]
    wanted = engines.run("onnxruntime", source, given, tmp_path)
    irloop.save_model(irloop.convert(source)[0], there)
    irloop.save_model(irloop.convert(there)[0], back)
    check_onnx(back)
    found = {
        "the source in irloop": list(irloop.run(source, given).values()),
        "the IR in irloop": list(irloop.run(there, given).values()),
        "the IR in OpenVINO": engines.run("openvino", there, given, tmp_path),
        "the way back in ONNX Runtime": engines.run("onnxruntime", back, given, tmp_path),
    }
    reasons = {name: differences(wanted, values) for name, values in found.items()}
    assert reasons == dict.fromkeys(found, "")
