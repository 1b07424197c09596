"""ONX216 agrees with the full check of onnx on the fixtures of the rule."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.rule_fixtures import RULES, Fixture

FIXTURES = [Fixture("ONX216", path) for path in sorted((RULES / "onx216").iterdir())]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_the_full_check_refuses_the_same_models(fixture: Fixture, tmp_path: Path) -> None:
    path = fixture.model(tmp_path)
    if not fixture.is_bad:
        onnx.checker.check_model(path, full_check=True)
        return
    onnx.checker.check_model(path)
    with pytest.raises(onnx.shape_inference.InferenceError, match="existing shape differ"):
        onnx.checker.check_model(path, full_check=True)
