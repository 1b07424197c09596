"""All that is known about a fault is in one file, so that deleting the file retires the fault."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import irloop
from irloop.conformance.suite import write_case
from irloop.faults.catalogue import avoided_faults, faults
from irloop.faults.fault import Fault
from irloop.faults.repairing import repairs, repairs_of_target
from irloop.graph.walk import all_nodes
from irloop.passes.manager import Manager

PACKAGE = Path(irloop.__file__).parent
FAULTS = PACKAGE / "faults"
FILES = sorted([*FAULTS.glob("ort*.py"), *FAULTS.glob("ovn*.py")])

#: What is derived from the faults: the arguments are a folder, the code of the retired fault, the
#: name of its case, and a model.
PROGRAM = """
import importlib, pkgutil, sys
import irloop
from docs.generate import faults as generated
from irloop.conformance.catalogue import CASES
from irloop.faults.catalogue import faults
from irloop.faults.repairing import repairs, repairs_of_target
folder, code, name, model = sys.argv[1:]
assert irloop.__file__.startswith(folder) and generated.__file__.startswith(folder)
for module in pkgutil.walk_packages(irloop.__path__, "irloop."):
    if not module.name.endswith(("__main__", "_runner")):
        importlib.import_module(module.name)
assert code not in faults()
assert name not in {case.name for case in CASES}
for dialect in ("openvino", "onnx"):
    passes = repairs(dialect)
    left = {fault.code for item in passes for fault in getattr(item, "faults", ())}
    print(dialect, *(item.name for item in passes), *sorted(left))
for other in faults():
    assert other in irloop.explain(other)
assert f"hazards/{code.lower()}.md" not in generated.pages()
texts = [generated.index()]
for engine in ("openvino", "onnxruntime"):
    texts += [generated.of_engine(engine), generated.of_releases(engine)]
assert not [text for text in texts if f"[{code}]" in text]
converted, _ = irloop.convert(irloop.read_model(model), "openvino")
irloop.validate(model, engines=["openvino", "onnxruntime"])
assert code not in str(irloop.environment())
"""

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[4] y, float[4] z) {
  y = Concat <axis = 0> (x, x)  z = Abs (y)
}"""


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        name
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [item.name for item in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }


def test_a_file_holds_one_fault_with_its_code() -> None:
    by_module = {fault.__module__: code for code, fault in faults().items()}
    assert len(by_module) == len(faults()) == len(FILES)
    for path in FILES:
        code = by_module[f"irloop.faults.{path.stem}"]
        assert path.stem.startswith(f"{code.lower()}_")


def test_no_other_module_imports_a_fault_or_its_repairs() -> None:
    names = {f"irloop.faults.{path.stem}" for path in FILES}
    wrong = [
        f"{path.relative_to(PACKAGE.parent)} imports {name}"
        for path in sorted([*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "cli").rglob("*.py")])
        for name in sorted(imports_of(path))
        if name in names
        or (name.startswith("irloop.faults.repairs.") and path.parent != FAULTS / "repairs")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_module_of_repairs_is_named_by_a_fault() -> None:
    named = {name for fault in faults().values() for name in fault.avoided_by}
    modules = {path.stem for path in (FAULTS / "repairs").glob("*.py")} - {"__init__"}
    assert named == modules


def test_a_fault_is_repaired_in_one_way() -> None:
    both = [
        code
        for code, fault in faults().items()
        if fault.avoided_by and fault.repair is not Fault.repair
    ]
    assert not both


@pytest.mark.parametrize(("before", "later"), [("OVN155", "OVN145"), ("OVN158", "OVN157")])
def test_repairs_run_in_the_order_that_they_state(before: str, later: str) -> None:
    order = [fault.code for item in repairs("openvino") for fault in getattr(item, "faults", ())]
    assert order.index(before) < order.index(later)


def test_whole_repairs_run_after_those_that_they_name() -> None:
    # A repair may be joined with the removal of what it leaves unread.
    items = [getattr(item, "inner", item) for item in repairs("openvino")]
    order = [type(item).__module__.rpartition(".")[2] for item in items]
    for item in items:
        for earlier in getattr(item, "after", ()):
            place = "repairing" if earlier == "operation_forms" else earlier
            own = type(item).__module__.rpartition(".")[2]
            assert order.index(place) < order.index(own)


@pytest.mark.slow
@pytest.mark.parametrize("code", ["ORT119", "OVN133", "OVN171", "OVN205"])
def test_deleting_the_file_retires_the_fault(code: str, tmp_path: Path) -> None:
    """Follow the recipe of CONTRIBUTING in a copy: everything that is derived stays as it was."""
    fault = faults()[code]
    others = [item for item in faults().values() if item.code != code]
    folder = tmp_path / "package"
    ignore = shutil.ignore_patterns("__pycache__")
    for name, new in (("cli", "irloop_cli"), ("docs", "docs"), ("irloop", "irloop")):
        shutil.copytree(PACKAGE.parent / name, folder / new, ignore=ignore)
    shutil.copytree(PACKAGE.parent / "schemas", folder / "irloop" / "schemas", ignore=ignore)
    (folder / "irloop" / "faults" / f"{fault.name}.py").unlink()
    for module in {*fault.avoided_by} - {name for item in others for name in item.avoided_by}:
        (folder / "irloop" / "faults" / "repairs" / f"{module}.py").unlink()
    source = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), source)
    arguments = [str(folder), code, fault.smallest.name, str(source)]
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n{PROGRAM}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        dialect, *names = line.split()
        avoided = avoided_faults({"openvino": "openvino", "onnx": "onnxruntime"}[dialect])
        assert code not in names
        assert {
            item.code for item in avoided if item.code != code and item.repair != Fault.repair
        } <= set(names)


@pytest.mark.parametrize(
    "fault",
    [item for item in faults().values() if item.repair != Fault.repair],
    ids=lambda item: item.code,
)
def test_repairs_of_nodes_do_not_match_their_own_results(
    fault: type[Fault], tmp_path: Path
) -> None:
    model, _ = write_case(fault.smallest, tmp_path)

    def is_repaired() -> bool:
        irloop.infer(model)
        nodes = [node for node in all_nodes(model.graph) if isinstance(node.op, fault.operations)]
        return any(fault().is_repaired(node) for node in nodes)

    assert is_repaired()
    target = f"{fault.engine}-{fault.measured[-1]}"
    passes = repairs_of_target(target) if fault.on_target else repairs(model.dialect)
    Manager(passes).run_passes(model)
    assert not is_repaired()
