"""Every rule is tested with its fixtures, and must have all its parts."""

from __future__ import annotations

import re
from inspect import cleandoc
from pathlib import Path

import pytest

from irloop.errors import UsageError
from irloop.validation import rules as rule_package
from irloop.validation.engine import explain, rule_classes, validate
from irloop.validation.rule import SECTIONS, Rule
from tests.rule_fixtures import RULES, Fixture, fixtures

CLASSES = rule_classes()
IR_FIXTURES = fixtures(".xml")


@pytest.mark.parametrize("fixture", IR_FIXTURES, ids=lambda fixture: fixture.name)
def test_a_fixture_has_exactly_the_expected_findings(fixture: Fixture, tmp_path: Path) -> None:
    # Findings about an old runtime are reported only on request.
    asked = any(code == "IRL901" for _, code in fixture.expected())
    engines = ["openvino-2021.4"] if asked else []
    report = validate(fixture.path, weights=fixture.weights(tmp_path), engines=engines)
    found = [(item.location.line, item.code) for item in report if item.code[:3] != "OVN"]
    if not fixture.is_bad:
        assert fixture.code not in [code for _, code in found], str(report.diagnostics)
        assert not report.has_errors, str(report.diagnostics)
        return
    expected = fixture.expected()
    assert fixture.code in [code for _, code in expected], "the fixture does not expect its rule"
    for line, code in expected:
        # The comment is on the offending line or on the line before.
        place = next((item for item in found if item in ((line, code), (line + 1, code))), None)
        assert place is not None, f"{code} expected near line {line}, found {found}"
        found.remove(place)
    assert not found, f"not expected: {[str(item) for item in report]}"


@pytest.mark.parametrize("code", CLASSES)
def test_rule_has_a_bad_and_a_good_fixture(code: str) -> None:
    names = [path.name for path in (RULES / code.lower()).iterdir()]
    assert any(name.startswith("bad_") for name in names)
    assert any(name.startswith("good_") for name in names)


@pytest.mark.parametrize("rule", CLASSES.values(), ids=CLASSES)
def test_rule_explains_itself(rule: type[Rule]) -> None:
    page = explain(rule.code)
    assert page.startswith(f"{rule.code}: {rule.title} ({rule.severity.value})")
    headings = re.findall(r"^(\w[\w ]+):$", cleandoc(rule.__doc__ or ""), flags=re.MULTILINE)
    assert tuple(headings) == SECTIONS
    for heading in SECTIONS:
        start = page.index(f"\n{heading}:\n")
        assert page[start:].splitlines()[2].startswith("    "), f"{heading} is empty"


@pytest.mark.parametrize("rule", CLASSES.values(), ids=CLASSES)
def test_file_is_named_by_the_code(rule: type[Rule]) -> None:
    module = rule.__module__.rpartition(".")[2]
    assert module.split("_")[0] == rule.code.lower()


def test_dependencies_are_existing_lower_codes() -> None:
    for code, rule in CLASSES.items():
        for group in rule.requires:
            codes = [other for other in CLASSES if other.startswith(group)]
            assert codes, f"{code} requires {group}, which no rule has"


def test_no_two_files_have_one_code() -> None:
    folder = Path(next(iter(rule_package.__path__)))
    codes = [path.name.split("_")[0] for path in folder.glob("*_*.py") if path.name[0] != "_"]
    assert sorted(codes) == sorted(code.lower() for code in CLASSES)


def test_every_fixture_folder_belongs_to_a_rule() -> None:
    assert {folder.name.upper() for folder in RULES.iterdir()} == set(CLASSES)


def test_unknown_code_is_refused() -> None:
    with pytest.raises(UsageError, match="IRL999"):
        explain("IRL999")
    with pytest.raises(UsageError, match="XYZ"):
        validate("any.xml", select=["XYZ"])


def test_edges_from_unknown_layers_are_reported_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (RULES / "irl201" / "bad_unknown.xml").read_text(encoding="utf-8")
    edge = '    <edge from-layer="{0}" from-port="0" to-layer="2" to-port="{0}"/>\n'
    edges = "".join(edge.format(number) for number in range(90, 98))
    path = tmp_path / "m.xml"
    path.write_text(text.replace("  </edges>", f"{edges}  </edges>"), encoding="utf-8")
    lines = [finding.location.line for finding in validate(path, select=["IRL201"])]
    assert lines == [28, *range(30, 38)]
