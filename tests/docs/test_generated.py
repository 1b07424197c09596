"""Generated pages: complete, and consistent with the models in their pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import irloop
from docs.generate import refusals, site
from docs.generate.commands import the_command
from docs.generate.examples import EXAMPLES
from docs.generate.pictures import picture
from irloop.errors import MEANINGS
from irloop.passes.common import LIBRARY
from irloop.validation.rule import SECTIONS

PAGES = Path(__file__).resolve().parents[2] / "docs" / "pages"


def asked_for(kind: str) -> set[str]:
    """The generated blocks, or the pictures, that the pages contain."""
    texts = (path.read_text("utf-8") for path in PAGES.rglob("*.md"))
    return {name for text in texts for name in re.findall(rf"^<!-- {kind}: (.+) -->$", text, re.M)}


def test_every_rule_has_a_page() -> None:
    pages = site.pages()
    for rule in irloop.rules():
        page = pages[f"rules/{rule.code.lower()}.md"]
        assert page.startswith(f"# {rule.code}: ")
        headings = re.findall(r"^## (.*)$", page, re.M)
        assert headings[: len(SECTIONS)] == list(SECTIONS)
        # The output for a model that breaks the rule contains the code of the rule.
        assert f"{rule.severity.value} {rule.code}: " in page, rule.code
        assert rule.code in site.BLOCKS["rules"]()


def test_every_other_code_is_listed() -> None:
    text = site.BLOCKS["other codes"]()
    assert not [code for code in MEANINGS if f"| `{code}` |" not in text]


def test_every_command_has_a_page_with_its_options() -> None:
    pages = site.pages()
    for name, command in the_command().commands.items():
        page = pages[f"reference/cli/{name}.md"]
        options = [flag for item in command.params for flag in item.opts if flag.startswith("--")]
        assert not [flag for flag in options if f"`{flag}`" not in page]
    assert "irloop validate model.xml" in pages["reference/cli/validate.md"]
    assert "`--compare` `OLD`" in pages["reference/cli/sweep-report.md"]


def test_every_pass_is_described() -> None:
    text = site.BLOCKS["passes"]()
    assert not [name for name in LIBRARY if f"## `{name}` {{ #{name} }}" not in text]


@pytest.mark.parametrize("dialect", ["openvino", "onnx"])
def test_every_operation_is_listed(dialect: str) -> None:
    text = site.BLOCKS[f"operations {dialect}"]()
    rows = [row for row in irloop.operations() if row.dialect == dialect]
    assert text.count("\n| `") == len(rows)
    assert not [row.label for row in rows if f"| `{row.label}` | {row.opsets} |" not in text]


def test_reasons_of_refusals_are_found_in_what_a_rule_calls() -> None:
    assert "its slope needs the rank of the data, which is not known" in refusals.reasons(
        "onnx", "PRelu", 9
    )
    assert refusals.reasons("openvino", "Abs", 1) == ()


def test_pages_include_exactly_the_generated_parts() -> None:
    assert asked_for("generated") == set(site.BLOCKS)
    assert {request.split(" ")[0] for request in asked_for("picture")} == set(EXAMPLES)


@pytest.mark.parametrize("request_", sorted(asked_for("picture")))
def test_pictures_are_drawn(request_: str) -> None:
    drawn = picture(request_)
    assert drawn.count("<svg ") == (2 if " " in request_ else 1)
    # The page gives the colours, and each picture is one block of it.
    assert "<style>" not in drawn
    assert "\n" not in drawn


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_conversions_in_pictures_are_right(name: str) -> None:
    model = EXAMPLES[name]()
    converted, _ = irloop.convert(EXAMPLES[name]())
    compared = irloop.compare(model, converted, converted=True)
    assert compared.equal, str(compared)
