"""Only one module gives numbers to the ports of loops, and passes read them by wire."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

RECORDS = {
    *("Carried", "Invariant", "ScanInput", "Sliced"),
    *("Concatenated", "LastValue", "ScanOutput"),
}

#: `wires` numbers the ports of new loops; in `wire_ends` all numbers are 0. A format has numbers of
#: its own, and `wire_removal` renumbers the ports of a node that stays.
ALLOWED = (
    *("irloop/dialects/wires.py", "irloop/dialects/wire_ends.py"),
    *("irloop/formats/", "irloop/passes/wire_removal.py"),
)


def _makers(source: str) -> Iterator[str]:
    """The port records and port maps that a module makes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in RECORDS or (name == "PortMap" and (node.args or node.keywords)):
                yield name


def test_ports_are_numbered_in_one_module() -> None:
    files = {path.relative_to(ROOT).as_posix(): path for path in ROOT.glob("irloop/**/*.py")}
    makers = {
        file: sorted(_makers(path.read_text(encoding="utf-8")))
        for file, path in files.items()
        if not file.startswith(ALLOWED)
    }
    assert {file: names for file, names in makers.items() if names} == {}


def _numbers_read(source: str) -> list[int]:
    """The lines of a module that read the number of a port."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr in ("by_parameter", "external")
    ]


def test_passes_read_the_ports_of_bodies_by_wire() -> None:
    lines = {
        path.name: _numbers_read(path.read_text(encoding="utf-8"))
        for path in ROOT.glob("irloop/passes/**/*.py")
        if path.name != "wire_removal.py"
    }
    assert {name: found for name, found in lines.items() if found} == {}


def test_a_number_that_is_read_is_found() -> None:
    assert _numbers_read("outer = node.inputs[port.external]\n") == [1]


def test_a_numbered_port_is_found() -> None:
    source = "from irloop.graph import loops\nport = loops.Carried(2, 1, 0)\nPortMap()\n"
    assert list(_makers(source)) == ["Carried"]
