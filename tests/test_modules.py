"""A rule, a fault or a pass that cannot be imported is reported by name; the others work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import irloop.passes.common

FIXTURES = Path(__file__).parent / "fixtures"

#: Runs a script in which the modules that the first argument names, by commas, cannot be imported.
BROKEN = """
import sys
import irloop
from irloop import modules

class Broken(modules.Modules):
    def _imported(self, name):
        if name in sys.argv[1].split(","):
            raise ImportError("no module of this name")
        return super()._imported(name)

modules.Modules = Broken
"""


def told(script: str, *broken: str) -> list[str]:
    """What a script prints, in which some modules are broken."""
    command = [sys.executable, "-c", BROKEN + script, ",".join(broken)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=FIXTURES)
    return done.stdout.splitlines()


def test_a_rule_that_cannot_be_imported_is_reported() -> None:
    script = """
for item in irloop.validate("rules/irl201/bad_unknown.xml"):
    print(item.code, item.message)
print([rule.title for rule in irloop.rules() if rule.code == "IRL203"])
"""
    *findings, listed = told(script, "irl203_unknown_port")
    assert "BUG001 rule IRL203 cannot be imported: ImportError: no module of this name" in findings
    assert any(line.startswith("IRL201") for line in findings)
    assert listed == "['a rule that cannot be imported']"


def test_a_fault_that_cannot_be_imported_is_reported() -> None:
    script = """
from irloop.faults.catalogue import faults
print(len(faults()) > 90, "OVN133" in faults())
model = "models/recurrent/model.xml"
for item in irloop.validate(model, engines=["openvino"]):
    print(item.code, item.message)
onnx, _ = irloop.convert(model)
_, notes = irloop.convert(onnx)
print([item.message for item in notes if item.code == "BUG001"])
try:
    irloop.explain("OVN133")
except irloop.UsageError as error:
    print(error.message)
"""
    reason = "cannot be imported: ImportError: no module of this name"
    fault, repair = f"fault OVN133 {reason}", f"repair body_copies {reason}"
    counts, *findings, notes, explained = told(script, "ovn133_abs_of_a_concat", "body_copies")
    assert counts == "True False"
    assert f"BUG001 {fault}" in findings
    assert notes == str([fault, repair])
    assert explained == fault


def test_a_pass_that_cannot_be_imported_is_reported() -> None:
    script = """
print([item.summary for item in irloop.transformations() if item.name == "unroll"])
print(len(irloop.transformations()) > 40)
print(irloop.transform("models/recurrent/model.xml", ["dead_code"])[1].modified)
try:
    irloop.transform("models/recurrent/model.xml", ["unroll"])
except irloop.PassError as error:
    print(error.message)
"""
    listed, many, changed, failed = told(script, "unroll")
    reason = "cannot be imported: ImportError: no module of this name"
    assert listed == str([f"This pass {reason}"])
    assert (many, changed) == ("True", "False")
    assert failed == f"pass unroll {reason}"


def test_type_checkers_see_every_pass() -> None:
    text = Path(irloop.passes.common.__file__).read_text()
    names = re.findall(r"^ +(?:from .* import )?(\w+) as \1,?$", text, re.MULTILINE)
    assert sorted(["LIBRARY", *names]) == sorted(dir(irloop.passes.common))
