"""Authentic models: good models have no errors, damaged models have a finding with a location."""

from __future__ import annotations

from pathlib import Path

import pytest

from irloop.validation.engine import validate

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
CORPUS = SHARED / "corpus"
OPCONF = SHARED / "opconf" / "cases"

#: Models of reader tests that no engine runs in this form, and the codes that give the reason.
FAULTS = {
    # The sequences have no activations, so the CPU plugin cannot compile them.
    "GRUSeqNetwork": {"IRL808"},
    "LSTMSeqNetwork": {"IRL808"},
    "RNNSeqNetwork": {"IRL808"},
}


def models(*families: str) -> list[Path]:
    found = [path for family in families for path in CORPUS.glob(f"{family}/*/model.xml")]
    return sorted(found)


FAMILIES = (
    "mo2021",
    "onnx-node",
    "ov-frontend",
    "ov-ir",
    "ov2026",
    "real",
    "torch-onnx",
)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="../shared/corpus is not here")
@pytest.mark.parametrize("family", FAMILIES)
def test_good_models_have_no_errors(family: str) -> None:
    paths = models(family)
    assert paths
    for path in paths:
        # Some models come without weights; then it is correct to report the weights as missing.
        ignore = () if path.with_suffix(".bin").is_file() else ("IRL301",)
        errors = {
            item.code for item in validate(path, ignore=ignore) if item.severity.value == "error"
        }
        assert errors == FAULTS.get(path.parent.name, set()), path


@pytest.mark.skipif(not CORPUS.is_dir(), reason="../shared/corpus is not here")
@pytest.mark.parametrize(
    "path", models("mo2021-unreadable", "ov-ir-negative"), ids=lambda path: path.parent.name
)
def test_models_that_no_engine_runs_have_findings(path: Path) -> None:
    found = [item for item in validate(path) if item.severity.value != "info"]
    assert found
    for item in found:
        assert item.location.line is not None
        assert item.location.path


@pytest.mark.skipif(not OPCONF.is_dir(), reason="../shared/opconf is not here")
def test_operations_have_no_errors() -> None:
    paths = sorted(OPCONF.glob("*/*/*.xml"))[::9]
    assert paths
    for path in paths:
        found = [item for item in validate(path) if item.severity.value != "info"]
        codes = {item.code for item in found if item.code not in ("IRL304", "IRL309", "IRL408")}
        assert not codes, (path, [str(item) for item in found])
