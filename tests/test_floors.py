"""Layering: a module imports only from lower rows of `ROWS`.

Heavy packages are imported only where `HOMES` allows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: The rows from the bottom up; packages of the same row do not import each other.
ROWS = (
    ("diagnostics",),
    ("errors",),
    ("aside", "modules", "opening"),
    ("files",),
    ("budget", "children", "progress"),
    ("allowance", "boundary", "lifeline"),
    ("graph", "kernels"),
    ("dialects",),
    ("analysis",),
    ("building", "drawing", "formats", "passes", "execution"),
    ("faults",),
    ("validation",),
    ("engines", "messages"),
    ("conversion", "comparison", "conformance"),
    ("pages",),
    ("irloop",),
    ("fleet",),
    ("cli",),
)
FLOOR = {name: height for height, row in enumerate(ROWS) for name in row}

#: The modules that may import an outside package; a folder includes everything in it.
HOMES = {
    "lxml": ("irloop/formats/openvino/", "irloop/validation/schema.py"),
    "onnx": ("irloop/formats/onnx/",),
    "google": ("irloop/formats/onnx/",),
    "click": ("cli/",),
    "dask": ("irloop/fleet/",),
    "distributed": ("irloop/fleet/",),
    "fsspec": ("irloop/fleet/",),
    "pyarrow": ("irloop/fleet/",),
    "onnxruntime": ("irloop/engines/onnxruntime_runner.py",),
    "openvino": ("irloop/engines/openvino_runner.py",),
}

#: Reading and validating an IR must not load NumPy, so these packages do not import it at module
#: level.
WITHOUT_NUMPY = (
    "irloop/__init__.py",
    "irloop/allowance.py",
    "irloop/children.py",
    "irloop/lifeline.py",
    "irloop/diagnostics.py",
    "irloop/errors.py",
    "irloop/files.py",
    "irloop/aside.py",
    "irloop/opening.py",
    "irloop/budget.py",
    "irloop/progress.py",
    "irloop/backend.py",
    "irloop/boundary.py",
    "irloop/testing.py",
    "irloop/graph/",
    "irloop/dialects/",
    "irloop/analysis/",
    "irloop/faults/ort",
    "irloop/faults/ovn",
    "irloop/faults/case.py",
    "irloop/faults/catalogue.py",
    "irloop/faults/fault.py",
    "irloop/faults/measured.py",
    "irloop/validation/",
    "irloop/building/",
    "irloop/formats/__init__.py",
    "irloop/formats/detect.py",
    "irloop/formats/model_files.py",
    "irloop/formats/openvino/__init__.py",
    "irloop/formats/openvino/xml.py",
    "irloop/formats/openvino/xml_refusals.py",
    "irloop/formats/openvino/reader.py",
    "irloop/kernels/__init__.py",
    "irloop/messages/",
    "cli/",
)


@dataclass(frozen=True)
class Import:
    """One import: its location, and whether it is executed when the module is loaded."""

    file: str
    line: int
    name: str
    at_load: bool
    typing_only: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.name}"


def _sources() -> list[Path]:
    return sorted([*ROOT.glob("irloop/**/*.py"), *ROOT.glob("cli/**/*.py")])


def _imports(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = path.relative_to(ROOT).as_posix()
    yield from _walk(tree, file, at_load=True, typing_only=False)


def _walk(node: ast.AST, file: str, *, at_load: bool, typing_only: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(file, node.lineno, alias.name, at_load, typing_only)
    elif isinstance(node, ast.ImportFrom):
        module = _absolute(node, file)
        for alias in node.names:
            yield Import(file, node.lineno, f"{module}.{alias.name}", at_load, typing_only)
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        for statement in node.body:
            yield from _walk(statement, file, at_load=False, typing_only=True)
        for statement in node.orelse:
            yield from _walk(statement, file, at_load=at_load, typing_only=typing_only)
        return
    inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, file, at_load=at_load and not inside, typing_only=typing_only)


def _absolute(node: ast.ImportFrom, file: str) -> str:
    if not node.level:
        return node.module or ""
    package = file.removesuffix(".py").split("/")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def _package(module: str) -> str | None:
    """The name in `ROWS` to which a module belongs, or None for an outside module."""
    parts = module.split(".")
    if parts[0] in ("cli", "irloop_cli"):
        return "cli"
    if parts[0] != "irloop":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in FLOOR else "irloop"


def _package_of_file(file: str) -> str:
    parts = file.removesuffix(".py").split("/")
    if parts[0] == "cli" or parts == ["irloop", "__main__"]:
        return "cli"
    return parts[1] if parts[1] in FLOOR else "irloop"


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(item for path in _sources() for item in _imports(path))


def test_every_package_has_a_row() -> None:
    packages = {
        path.name
        for path in (ROOT / "irloop").iterdir()
        if path.is_dir() and (path / "__init__.py").exists()
    }
    assert packages <= set(FLOOR), "give the new package a row in ROWS"
    modules = {path.stem for path in (ROOT / "irloop").glob("*.py")}
    named = {
        "allowance",
        "aside",
        "boundary",
        "backend",
        "budget",
        "diagnostics",
        "errors",
        "files",
        *("children", "lifeline", "opening"),
        "modules",
        "progress",
        "testing",
    }
    assert modules == {"__init__", "__main__", *named}


def test_the_guide_for_contributors_lists_the_rows() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Layers\n")[2]
    lines = re.findall(r"^\d+\. (.*)", guide.partition("\nlxml ")[0], re.MULTILINE)
    rows = [
        re.findall(r"`(?:irloop\.)?(\w+)`", part)
        for line in lines
        for part in line.split(", then ")
    ]
    assert list(map(sorted, rows)) == list(map(sorted, ROWS))


def test_modules_import_only_lower_rows() -> None:
    wrong = []
    for item in all_imports():
        own, other = _package_of_file(item.file), _package(item.name)
        if other is None or other == own:
            continue
        if FLOOR[other] >= FLOOR[own]:
            wrong.append(f"{item} ({own} is not above {other})")
    assert not wrong, "\n".join(wrong)


def test_module_imports_have_no_cycles() -> None:
    circles = _circles(_module_imports())
    assert not circles, "\n".join(" -> ".join(circle) for circle in circles)


def test_an_import_cycle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": set(), "f": {"a"}}
    assert [sorted(circle) for circle in _circles(imports)] == [["a", "b", "c"]]


def _module_imports() -> dict[str, set[str]]:
    """The modules that each module imports anywhere, including in functions and for type
    checking.
    """
    modules = {_module_of(path.relative_to(ROOT).as_posix()) for path in _sources()}
    imports: dict[str, set[str]] = {module: set() for module in modules}
    for item in all_imports():
        name = item.name
        while name and name not in modules:
            name = name.rpartition(".")[0]
        own = _module_of(item.file)
        if name and name != own:
            imports[own].add(name)
    return imports


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that import each other directly or indirectly (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in sorted(imports[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] != number[module]:
            return
        at = stack.index(module)
        circle = stack[at:]
        del stack[at:]
        if len(circle) > 1:
            circles.append(circle)

    for module in sorted(imports):
        if module not in number:
            visit(module)
    return circles


def test_the_command_line_imports_only_the_api_and_its_data_types() -> None:
    below = {
        *("errors", "diagnostics", "opening", "files", "budget", "progress"),
        *("allowance", "children", "lifeline"),
        "graph",
    }
    allowed = {"irloop", "fleet", "cli", *below}
    wrong = [
        str(item)
        for item in all_imports()
        if item.file.startswith("cli/")
        and (package := _package(item.name)) is not None
        and package not in allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted(HOMES))
def test_outside_packages_are_imported_only_where_permitted(package: str) -> None:
    wrong = [
        str(item)
        for item in all_imports()
        if item.name.split(".")[0] == package
        and not item.typing_only
        and not item.file.startswith(HOMES[package])
    ]
    assert not wrong, "\n".join(wrong)


def test_validation_does_not_load_numpy() -> None:
    wrong = [
        str(item)
        for item in all_imports()
        if item.at_load
        and item.name.split(".")[0] in ("numpy", "ml_dtypes")
        and item.file.startswith(WITHOUT_NUMPY)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_imported_outside_packages_are_the_declared_ones() -> None:
    import sys
    import tomllib

    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *extras["engines"], *extras["fleet"]]
    declared = {text.split(">")[0].split("=")[0].strip() for text in texts}
    # protobuf is imported under another name than that of its package.
    found = {
        item.name.split(".")[0].replace("google", "protobuf")
        for item in all_imports()
        if not item.typing_only and _package(item.name) is None
    }
    assert found - set(sys.stdlib_module_names) - {"__future__"} <= declared
