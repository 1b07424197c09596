"""Conversion of normalisations and dropout in both directions; the expected values are OpenVINO's
and ONNX's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.formats.onnx import reader
from tests.conversion.both_engines import F32, agree, needs_engines

OPCONF_TYPES = """
    BatchNormInference GroupNormalization LRN MVN NormalizeL2
"""

BACKEND_OPS = """
    BatchNormalization Dropout GroupNormalization InstanceNormalization LRN LayerNormalization
    LpNormalization MeanVarianceNormalization RMSNormalization
"""

#: Node tests that OpenVINO operations cannot express.
REFUSED = r"training_dropout"


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str, opset: int, check_import_or_refusal: Callable[[str, int, str], None]
) -> None:
    check_import_or_refusal(backend_case, opset, REFUSED)


@needs_engines
@pytest.mark.parametrize("bias", [0.5, 1.0, 1.25, 2.0, 2.75])
def test_the_bias_of_a_local_response_normalisation(
    bias: float, engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO truncates a bias that is not a whole number."""
    text = f"""g (float[n,3,a,b] x) => (float[n,3,a,b] y) {{
  y = LRN <size = 3, alpha = 0.4, beta = 0.6, bias = {bias}> (x)
}}"""
    random = np.random.default_rng(0)
    sets = [[random.standard_normal((2, 3, size, 2)).astype(F32)] for size in (4, 1)]
    agree(text, sets, engines, tmp_path)


@pytest.mark.parametrize("bias", [1e-38, 0.5, float("inf")])
@pytest.mark.parametrize("beta", [1e30, -1e30, float("inf"), float("nan")])
def test_a_bias_without_a_factor_is_left(beta: float, bias: float) -> None:
    node = onnx.helper.make_node("LRN", ["x"], ["y"], size=3, bias=bias, beta=beta)
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [1, 3, 2, 2]) for name in "xy")
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    converted, _ = irloop.convert(reader.from_proto(proto))
    types = [node.op.type for node in converted.graph.nodes]
    assert types == ["Const", "LRN"]
