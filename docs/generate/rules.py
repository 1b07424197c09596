"""A page for each code: the output of `irloop explain`, and of validation for a bad model."""

from __future__ import annotations

import re
import textwrap
from functools import partial
from inspect import cleandoc
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import irloop
from docs.generate.commands import run
from docs.generate.markdown import fenced, table, ticked
from irloop.errors import MEANINGS
from irloop.validation.rule import SECTIONS, Rule
from tests.rule_fixtures import Fixture, fixtures

__all__ = ["index", "other_codes", "pages", "title_of"]

#: The topics of groups of codes, keyed by prefix.
GROUPS = {
    "IRL1": "Structure of an IR",
    "IRL2": "Edges and references",
    "IRL3": "Weights",
    "IRL4": "Types and shapes",
    "IRL5": "Port maps, back edges and bodies",
    "IRL6": "Meaning of loops",
    "IRL7": "If",
    "IRL8": "Recurrent operations",
    "IRL9": "Portability",
    "ONX1": "Reading ONNX",
    "ONX2": "Graphs of ONNX",
    "ONX3": "Loops of ONNX",
    "ONX4": "If of ONNX",
}

#: Codes that are not rules: other commands than `irloop validate` report them.
OTHER_GROUPS = {
    "CNV": "Converting",
    "RUN": "Running",
    "IRL": "Reading and inferring",
    "GRF": "Graphs in memory",
    "PAS": "Passes",
    "LIM": "Limits",
    "SWP": "Sweeps over many models",
    "BUG": "Errors of irloop itself",
    "HAZ": "Faults of engines",
    "USE": "Usage",
    "WRT": "Writing",
}

_XML = re.compile(r"^\s*<")
_LIST = "`{}`".format


def pages() -> dict[str, str]:
    """A page for each rule, keyed by path."""
    examples: dict[str, Fixture] = {}
    for fixture in (*fixtures(".xml"), *fixtures(".txt")):
        if fixture.is_bad:
            examples.setdefault(fixture.code, fixture)
    return {
        f"rules/{rule.code.lower()}.md": _page(rule, examples.get(rule.code))
        for rule in irloop.rules()
    }


def title_of(code: str) -> str:
    """The topic of the group of `code`."""
    return GROUPS.get(code[:4], f"{code[:4]}xx")


def index() -> str:
    """Tables of all rules, one per group."""
    parts = []
    for group, members in groupby(irloop.rules(), key=lambda rule: rule.code[:4]):
        rows = [
            (f"[{rule.code}]({rule.code.lower()}.md)", _severity(rule), ticked(rule.title))
            for rule in members
        ]
        title = f"## {group}xx: {title_of(group)}"
        parts += [title, table(("code", "severity", "what is wrong"), rows)]
    return "\n\n".join(parts)


def _severity(rule: type[Rule]) -> str:
    word = rule.severity.value
    return f'<span class="severity {word}">{word}</span>'


def _page(rule: type[Rule], example: Fixture | None) -> str:
    summary, sections = _parsed(cleandoc(rule.__doc__ or ""))
    silent = ", ".join(map(_LIST, rule.requires))
    parts = [
        f"# {rule.code}: {ticked(rule.title)}",
        f"{_severity(rule)} · {title_of(rule.code)}",
        ticked(summary),
    ]
    for heading in SECTIONS:
        text = sections[heading]
        is_example = heading.endswith("example") and _XML.match(text)
        parts += [f"## {heading}", fenced(text, "xml") if is_example else ticked(text)]
    if example is not None:
        parts += ["## What irloop prints", fenced(_printed(example))]
    if silent:
        scope = {
            "layer": "in the same layer",
            "owner": "in the layer that owns the body",
            "net": "in the same graph",
            "file": "anywhere in the file",
        }[rule.scope]
        parts += ["## Silenced by", f"Errors {silent} {scope}: they make this finding meaningless."]
    return "\n\n".join(parts) + "\n"


def _parsed(doc: str) -> tuple[str, dict[str, str]]:
    """The first paragraphs of a rule's docstring, and its sections by heading."""
    headings = "|".join(map(re.escape, SECTIONS))
    summary, *rest = re.split(rf"^({headings}):$", doc, flags=re.MULTILINE)
    texts = map(textwrap.dedent, (item.strip("\n") for item in rest[1::2]))
    return summary.strip(), dict(zip(rest[::2], texts, strict=True))


def _printed(example: Fixture) -> str:
    """The output of validation for a model that breaks the rule."""
    with TemporaryDirectory() as name:
        model = example.model(Path(name))
        return run(["validate", model.name, "--select", example.code], cwd=Path(name))


def other_codes() -> str:
    """Tables of the codes that are not rules, one per command."""
    parts = []
    for group, title in OTHER_GROUPS.items():
        codes = filter(partial(_begins, group), MEANINGS)
        rows = [(f"`{code}`", MEANINGS[code]) for code in codes]
        parts += [f"## {title}", table(("code", "meaning"), rows)]
    return "\n\n".join(parts)


def _begins(group: str, code: str) -> bool:
    return code.startswith(group)
