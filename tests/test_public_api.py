"""The public names, and what importing them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import irloop

FIXTURES = Path(__file__).parent / "fixtures" / "models"

FUNCTIONS = {
    "compare",
    "conform",
    "convert",
    "diff",
    "draw",
    "editor_schema",
    "environment",
    "explain",
    "extract",
    "fix",
    "infer",
    "iterations",
    "operations",
    "random_inputs",
    "read_arrays",
    "read_model",
    "reduce",
    "rules",
    "run",
    "save_model",
    "save_report",
    "transform",
    "transformations",
    "validate",
    "view",
    "write_arrays",
}
ERRORS = {
    "ExecutionError",
    "InferenceError",
    "InternalError",
    "IrloopError",
    "LimitError",
    "PassError",
    "ReadError",
    "UnsupportedError",
    "UsageError",
    "VerifyError",
    "WriteError",
}
CLASSES = {
    "Attribute",
    "BranchBuilder",
    "Builder",
    "Comparison",
    "Conformance",
    "Coverage",
    "Diagnostic",
    "Environment",
    "Fixed",
    "Graph",
    "GraphBuilder",
    "Iteration",
    "Limits",
    "Location",
    "LoopBuilder",
    "Model",
    "ModelDiff",
    "Node",
    "Operand",
    "PassInfo",
    "PassRecord",
    "Profile",
    "Reduced",
    "Repair",
    "Report",
    "RunProfile",
    "Session",
    "Severity",
    "Shape",
    "TextTracer",
    "Value",
}


def test_the_public_names_are_exactly_these() -> None:
    assert set(irloop.__all__) == FUNCTIONS | ERRORS | CLASSES | {"__version__"}
    assert irloop.__all__ == sorted(irloop.__all__)


@pytest.mark.parametrize("name", sorted(FUNCTIONS | ERRORS | CLASSES))
def test_every_public_name_exists_and_is_described(name: str) -> None:
    item = getattr(irloop, name)
    assert (inspect.getdoc(item) or "").strip(), f"{name} has no docstring"
    assert name in dir(irloop)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_the_exceptions_have_one_root(name: str) -> None:
    assert issubclass(getattr(irloop, name), irloop.IrloopError)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(irloop, "nonsense".lower())


def test_the_package_is_typed() -> None:
    assert (Path(irloop.__file__).parent / "py.typed").exists()


def _loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


HEAVY = {"numpy", "onnx", "ml_dtypes", "onnxruntime", "openvino"}


def test_importing_irloop_loads_almost_nothing() -> None:
    assert not _loaded_by("import irloop") & (HEAVY | {"lxml", "click"})


def test_validating_an_ir_loads_neither_numpy_nor_onnx() -> None:
    path = str(FIXTURES / "recurrent" / "model.xml")
    code = f"import irloop; assert not irloop.validate({path!r}).has_errors"
    assert not _loaded_by(code) & (HEAVY | {"click"})


@pytest.mark.parametrize("arguments", [["--help"], ["validate", "--help"], ["--version"]])
def test_help_loads_neither_numpy_nor_onnx(arguments: list[str]) -> None:
    code = (
        "from irloop_cli.main import main\n"
        f"try: main({arguments!r}, prog_name='irloop')\n"
        "except SystemExit as stop: assert stop.code == 0, stop.code"
    )
    assert not _loaded_by(code) & (HEAVY | {"lxml"})
