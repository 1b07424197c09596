"""Operation classes are found whether or not their family was imported before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from irloop.dialects import openvino
from irloop.dialects.openvino import FAMILIES, OPENVINO


def test_table_of_families_is_complete() -> None:
    described = {name: family for family, names in FAMILIES.items() for name in names.split()}
    found = {cls.type: cls.__module__.rpartition(".")[2] for cls in OPENVINO.all()}
    assert described == found


def test_every_module_is_a_family() -> None:
    folder = Path(openvino.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "base", "opsets"}
    assert modules == set(FAMILIES)


def test_only_the_family_that_is_asked_for_is_imported() -> None:
    code = (
        "import sys; from irloop.dialects.openvino import OPENVINO;"
        "assert OPENVINO.find('aDD', 1) is not None;"
        "print(*sorted(n for n in sys.modules if n.startswith('irloop.dialects.openvino.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in run.stdout.split()}
    assert loaded == {"base", "elementwise"}


def test_unknown_type_is_unknown_after_all_families() -> None:
    assert OPENVINO.find("NoSuchOperation", 8) is None
