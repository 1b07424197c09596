"""Every code that irloop can report is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import irloop

ROOT = Path(__file__).resolve().parents[1]
CODE = re.compile(r'"((?:IRL|ONX|CNV|RUN|USE|WRT|GRF|HAZ|LIM|BUG|SWP)\d{3})"')
CODES = sorted(
    {
        code
        for path in (ROOT / "irloop").rglob("*.py")
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }
)


def test_there_are_codes_of_all_kinds() -> None:
    assert {code[:3] for code in CODES} == {
        *("IRL", "ONX", "CNV", "RUN", "USE", "WRT", "GRF", "HAZ", "LIM", "BUG", "SWP")
    }


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_explained(code: str) -> None:
    text = irloop.explain(code)
    assert text.startswith(code)
    assert len(text) > len(code) + 30
