"""A rule that cannot be imported is reported by name; the others run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from irloop.validation import engine

class Loader(engine.SourceFileLoader):
    def exec_module(self, module):
        if "irl203" in module.__name__:
            raise ImportError("no module of this name")
        super().exec_module(module)

engine.SourceFileLoader = Loader
for item in engine.validate(sys.argv[1]):
    print(item.code, item.message)
print(len(engine.rule_classes("IRL2")))
"""


def test_a_rule_that_cannot_be_imported_is_reported() -> None:
    model = ROOT / "tests/fixtures/rules/irl201/bad_unknown.xml"
    model = model if model.exists() else next(model.parent.glob("bad_*.xml"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(model)], capture_output=True, text=True, check=True
    )
    *findings, count = done.stdout.splitlines()
    assert "BUG001 rule IRL203 cannot be imported: ImportError: no module of this name" in findings
    assert any(line.startswith("IRL201") for line in findings)
    assert int(count) > 5
