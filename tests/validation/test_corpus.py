"""Whole models that are right, and models of single operations, have no errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from irloop.validation.engine import validate
from tests.archives import opconf_cases, unpacked


@pytest.mark.parametrize("family", ["authored", "ir", "onnx"])
def test_good_models_have_no_errors(family: str) -> None:
    paths = sorted((unpacked("loops") / family).glob("*/model.[xo]*"))
    assert len(paths) > 50
    for path in paths:
        errors = [item for item in validate(path) if item.severity.value == "error"]
        assert not errors, path


def findings(path: Path) -> set[str]:
    return {item.code for item in validate(path) if item.severity.value != "info"}


def test_operations_have_no_findings() -> None:
    paths = sorted(opconf_cases().glob("*/*/*.xml"))[::9]
    assert len(paths) > 100
    for path in paths:
        assert findings(path) <= {"IRL304", "IRL309", "IRL408"}, path
