"""Strings, n-grams and images are refused by name on the way to OpenVINO."""

from __future__ import annotations

from collections.abc import Callable

BACKEND_OPS = """
    ImageDecoder RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer
"""


def test_refusals(
    backend_case: str,
    check_import: Callable[[str, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    text = refused(lambda: check_import(backend_case, 8))
    assert any(f"{type}-" in text for type in BACKEND_OPS.split())
    assert "OpenVINO" in text
