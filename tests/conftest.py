"""Test cases that all operation families share: stored OpenVINO outputs and ONNX's node tests.

A test module that names its operations in OPCONF_TYPES (types of an IR) or BACKEND_OPS (types
of ONNX, where BACKEND_DOMAIN may name a domain) gets the cases of exactly those through the
parameters `opconf_case` and `backend_case`. The expected values come from OpenVINO and from the
ONNX project, not from here.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import reader as ir_reader
from irloop.graph.model import Model
from irloop.graph.op import Constant
from tests.archives import opconf_cases

Arrays = Sequence[Any]

# The same examples on every machine, and no time limit, because a busy processor is not an error.
hypothesis.settings.register_profile(
    "irloop",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("irloop")


#: The option -m of plain pytest, from pyproject.toml.
QUICK = "not slow"
#: How many cases of one test it runs, spread over all of them.
CASES = 4


def pytest_configure(config: pytest.Config) -> None:
    """Run everything that the user names, slow tests too."""
    is_named = config.args != config.getini("testpaths") or config.option.keyword
    if is_named and config.option.markexpr == QUICK:
        config.option.markexpr = ""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark most cases of large tests as slow."""
    if config.option.markexpr != QUICK:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for listed in cases.values():
        kept = set(listed[:: max(1, -(-len(listed) // CASES))])
        for item in listed:
            if item not in kept:
                item.add_marker("slow")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "opconf_case" in metafunc.fixturenames:
        metafunc.parametrize("opconf_case", _opconf_cases(metafunc.module.OPCONF_TYPES))
    if "backend_case" in metafunc.fixturenames:
        domain = getattr(metafunc.module, "BACKEND_DOMAIN", "")
        metafunc.parametrize("backend_case", _backend_names(metafunc.module.BACKEND_OPS, domain))


@cache
def _opconf_folders() -> list[Path]:
    return sorted(case.parent for case in opconf_cases().glob("*/*/meta.json"))


def _opconf_cases(types: str) -> list[Any]:
    wanted = set(types.lower().split())
    return [
        pytest.param(folder, id=f"{folder.parent.name}-{folder.name}")
        for folder in _opconf_folders()
        if _type_of(folder) in wanted
    ]


def _type_of(case: Path) -> str:
    return case.parent.name.split("_", 1)[1].lower()


@cache
def _backend_tests() -> dict[str, Any]:
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        # The generators of the cases overflow on purpose.
        warnings.simplefilter("ignore")
        return {test.name: test for test in loader.load_model_tests(kind="node")}


def _backend_names(listed: str, domain: str) -> list[str]:
    names, ops = [], set(listed.split())
    for name, test in _backend_tests().items():
        types = {node.op_type for node in test.model.graph.node}
        domains = {node.domain for node in test.model.graph.node}
        if types & ops and types <= ops | {"Constant"} and domains <= {"", domain}:
            names.append(name)
    return sorted(names)


def assert_close(found: Any, expected: Any, rtol: float, atol: float) -> None:
    """Assert equal types and shapes, and values within the tolerance; NaN equals NaN."""
    array, wanted = np.asarray(found), np.asarray(expected)
    assert array.shape == wanted.shape
    if wanted.dtype.kind in "SUO":
        assert array.tolist() == wanted.tolist()
        return
    assert array.dtype == wanted.dtype
    wide, reference = array.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(wide, reference, rtol=rtol, atol=atol)


def _opconf_data(case: Path) -> tuple[dict[str, Any], list[Any], list[Any]]:
    meta = json.loads((case / "meta.json").read_text(encoding="utf-8"))
    with np.load(case / "data.npz") as data:
        inputs = [data[f"in{index}"] for index in range(len(meta["inputs"]))]
        outputs = [data[f"out{index}"] for index in range(len(meta["outputs"]))]
    return meta, inputs, outputs


def _compare(found: Arrays, expected: Arrays, tolerance: dict[str, float]) -> None:
    for array, wanted in zip(found, expected, strict=True):
        assert_close(array, wanted, tolerance["rtol"], tolerance["atol"])


def run_model(model: Model, inputs: Arrays) -> list[Any]:
    return list(Session(model).run(inputs).values())


@pytest.fixture
def check_opconf() -> Callable[[Path], None]:
    """Run a conformance case and compare with the stored outputs of OpenVINO."""

    def check(case: Path) -> None:
        meta, inputs, outputs = _opconf_data(case)
        found = run_model(ir_reader.read(case / "model.xml"), inputs)
        _compare(found, outputs, meta["tolerance"])

    return check


@pytest.fixture
def check_export() -> Callable[[Path, int], None]:
    """Convert a conformance case to ONNX; ONNX Runtime must return the outputs of OpenVINO."""

    def check(case: Path, opset: int) -> None:
        onnx = pytest.importorskip("onnx")
        meta, inputs, outputs = _opconf_data(case)
        model, _ = pipelines.to_onnx(ir_reader.read(case / "model.xml"), opset=opset)
        _compare(run_model(model, inputs), outputs, meta["tolerance"])
        proto = onnx_writer.to_proto_model(model)
        onnx.checker.check_model(proto, full_check=True)
        _compare(_run_onnxruntime(proto, inputs), outputs, meta["tolerance"])

    return check


def _run_onnxruntime(proto: Any, inputs: Arrays) -> list[Any]:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    providers = ["CPUExecutionProvider"]
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=providers)
    names = [item.name for item in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


def _plain(item: Any) -> Any:
    """A value of a node test in irloop's representation."""
    from onnx import TensorProto, numpy_helper

    if isinstance(item, list):
        return [_plain(entry) for entry in item]
    array = numpy_helper.to_array(item) if isinstance(item, TensorProto) else np.asarray(item)
    if array.dtype.kind not in "SUO":
        return array
    texts = [text.decode() if isinstance(text, bytes) else str(text) for text in array.flat]
    return np.array(texts, dtype=object).reshape(array.shape)


def _backend_data(name: str) -> tuple[Any, list[Any], list[Any]]:
    test = _backend_tests()[name]
    inputs, outputs = test.data_sets[0]
    return test, [_plain(item) for item in inputs], [_plain(item) for item in outputs]


@pytest.fixture
def check_backend() -> Callable[..., None]:
    """Run a node test of ONNX and compare with its stored outputs, with the tolerance `rtol` if it
    is given.
    """

    def check(name: str, rtol: float = 0.0) -> None:
        test, inputs, outputs = _backend_data(name)
        found = run_model(onnx_reader.from_proto(test.model), inputs)
        _compare(found, outputs, {"rtol": max(test.rtol, rtol), "atol": test.atol})

    return check


@pytest.fixture
def check_import() -> Callable[..., None]:
    """Convert a node test to OpenVINO operations of at most `opset`, and assert that it returns the
    same.

    Raises:
        UnsupportedError: where the conversion refuses.
    """

    def check(name: str, opset: int, rtol: float = 1e-4) -> None:
        test, inputs, outputs = _backend_data(name)
        model, _ = pipelines.to_openvino(onnx_reader.from_proto(test.model), opset=opset)
        newer = [
            node.op.label
            for node in model.graph.nodes
            if node.op.since > opset and not isinstance(node.op, Constant)
        ]
        assert not newer
        # A composition of several operations rounds more often than the single operation it
        # replaces.
        tolerance = {"rtol": max(test.rtol, rtol), "atol": max(test.atol, 1e-6)}
        _compare(run_model(model, inputs), outputs, tolerance)

    return check


@pytest.fixture
def check_import_or_refusal(
    check_import: Callable[[str, int], None], refused: Callable[[Callable[[], None]], str]
) -> Callable[[str, int, str], None]:
    """Like `check_import`, but tests whose names match the pattern must be refused with a
    reason.
    """

    def check(name: str, opset: int, pattern: str) -> None:
        if re.search(pattern, name):
            assert refused(lambda: check_import(name, opset))
            return
        check_import(name, opset)

    return check


@pytest.fixture
def check_import_of_constants() -> Callable[[str, int], None]:
    """Like `check_import`, but all inputs except the first become constants of the model.

    Raises:
        UnsupportedError: where the conversion refuses.
    """

    def check(name: str, opset: int) -> None:
        from onnx import ModelProto, numpy_helper

        test, inputs, outputs = _backend_data(name)
        proto = ModelProto()
        proto.CopyFrom(test.model)
        for item, value in zip(list(proto.graph.input)[1:], inputs[1:], strict=True):
            proto.graph.initializer.append(numpy_helper.from_array(value, item.name))
            proto.graph.input.remove(item)
        model, _ = pipelines.to_openvino(onnx_reader.from_proto(proto), opset=opset)
        tolerance = {"rtol": max(test.rtol, 1e-4), "atol": max(test.atol, 1e-5)}
        _compare(run_model(model, inputs[:1]), outputs, tolerance)

    return check


@pytest.fixture
def refused() -> Callable[[Callable[[], None]], str]:
    """The message of the refusal that the call must raise."""

    def text(call: Callable[[], None]) -> str:
        with pytest.raises(UnsupportedError) as caught:
            call()
        return str(caught.value)

    return text
