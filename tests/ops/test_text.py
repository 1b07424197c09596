"""Strings: kernels and inference against ONNX's own values and the syntax of RE2."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop import kernels
from irloop.dialects.onnx.text import (
    RegexFullMatch,
    StringConcat,
    StringNormalizer,
    StringSplit,
    TfIdfVectorizer,
)
from irloop.dialects.openvino.text import StringTensorPack, StringTensorUnpack
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import UNKNOWN_SHAPE, ElementType, Shape, TensorType

OPCONF_TYPES = "StringTensorPack StringTensorUnpack"

BACKEND_OPS = "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer"


needs_re2 = pytest.mark.skipif(not kernels.text.can_match(), reason="google-re2 is not installed")


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    if "regex" in backend_case and not kernels.text.can_match():
        pytest.skip("google-re2 is not installed")
    check_backend(backend_case)


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_bytes_of_strings() -> None:
    # A character of two bytes, an empty string, and a byte that starts no character.
    symbols = np.array([0x61, 0xC3, 0xA9, 0xFF], np.uint8)
    begins, ends = np.array([[0, 1], [3, 3]], np.int64), np.array([[1, 3], [3, 4]], np.int64)
    packed = StringTensorPack().kernel()(begins, ends, symbols)
    assert packed.shape == (2, 2)
    assert packed.reshape(-1)[:3].tolist() == ["a", "é", ""]
    found = StringTensorUnpack().kernel(3)(packed)
    wanted: list[Any] = [begins, ends, symbols]
    for array, expected in zip(found, wanted, strict=True):
        assert array.tolist() == expected.tolist()


def strings(*items: str) -> Any:
    return np.array(items, dtype=object)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        # github.com/google/re2/wiki/Syntax
        (r"[[:alpha:]]+\d", "abc7", True),
        (r"\d", "٣", False),  # character classes contain only ASCII
        (r"\w+", "é", False),
        (r"[^\W]+", "ab_1", True),
        (r"a$", "a\n", False),  # $ matches the end of the text, not of a line
        (r"(?m)a$\nb", "a\nb", True),
        (r"a.b", "a\nb", False),
        (r"(?s)a.b", "a\nb", True),
        (r"a(?i)b|c", "aB", True),
        (r"a(?i)b|c", "C", True),
        (r"a(?i)b|c", "Ab", False),
        (r"(a(?i)b)c", "aBC", False),
        (r"(?i:A(?-i)B)", "aB", True),
        (r"\Qa.b\E+", "a.bb", True),
        (r"\Qa.b\E", "axb", False),
        (r"\x{41}\x42\103", "ABC", True),
        (r"(?P<year>\d{4})-(?P<month>\d\d)", "2026-11", True),
        (r"\p{Greek}+", "αβγ", True),
        # A backtracking engine takes 2^28 steps.
        ("(a*)*b", "a" * 28, False),
        (r"a{,2}", "a{,2}", True),
        (r"[]a[&&b]+", "]a[&b", True),
        (r"[[:^digit:]x]", "é", True),
        (r"a\z", "a", True),
    ],
)
@needs_re2
def test_syntax_of_re2(pattern: str, text: str, expected: bool) -> None:
    assert RegexFullMatch(pattern).kernel()(strings(text)).tolist() == [expected]


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",
        "(?=a)",
        "(?<!a)b",
        "(?P=n)",
        "a**",
        "a++",
        "[a",
        "(a",
        "a)",
        r"\Z",
    ],
)
@needs_re2
def test_syntax_that_re2_lacks_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="'"):
        RegexFullMatch(pattern).kernel()(strings("a"))


def test_regular_expressions_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels.text, "can_match", lambda: False)
    with pytest.raises(
        NotImplementedError, match=r"RegexFullMatch-20: google-re2 .*pip install google-re2"
    ):
        RegexFullMatch("a").kernel()


@needs_re2
def test_a_scalar_string_is_matched() -> None:
    one = np.array("ab", dtype=object)
    assert RegexFullMatch("ab").kernel()(one).tolist() is True


def test_a_scalar_is_not_an_array_of_strings() -> None:
    one = np.array("ab", dtype=object)
    assert StringConcat().kernel()(one, one).shape == ()
    parts, count = StringSplit("b").kernel(2)(one)
    assert (parts.tolist(), count.tolist()) == (["a", ""], 2)


def test_no_splits_leave_the_string() -> None:
    parts, counts = StringSplit("-", 0).kernel(2)(strings("a-b", ""))
    assert (parts.tolist(), counts.tolist()) == ([["a-b"], [""]], [1, 1])


def test_stop_words_in_any_case() -> None:
    op = StringNormalizer(stopwords=("Monday",))
    assert op.kernel()(strings("MONDAY", "Tuesday")).tolist() == ["Tuesday"]
    exact = StringNormalizer(is_case_sensitive=1, stopwords=("Monday",))
    assert exact.kernel()(strings("MONDAY", "Monday")).tolist() == ["MONDAY"]
    assert op.kernel()(strings("monday").reshape(1, 1)).tolist() == [[""]]


def weighted(mode: str) -> TfIdfVectorizer:
    """Counts the 1-grams a and b and the 2-grams (a, b) and (b, a); the weight of the third is
    0.
    """
    return TfIdfVectorizer(
        max_gram_length=2,
        max_skip_count=1,
        min_gram_length=1,
        mode=mode,
        ngram_counts=(0, 2),
        ngram_indexes=(3, 0, 1, 2),
        pool_strings=("a", "b", "a", "b", "b", "a"),
        weights=(0.5, 2.0, 3.0, 10.0),
    )


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("TF", [1, 2, 0, 2]), ("IDF", [2, 3, 0, 0.5]), ("TFIDF", [2, 6, 0, 1])],
)
def test_weights_of_ngrams(mode: str, expected: list[float]) -> None:
    # a a b contains a twice, b once, and (a, b) as neighbours and with one item between them.
    found = weighted(mode).kernel()(strings("a", "a", "b"))
    assert found.dtype == np.float32
    assert found.tolist() == expected


def test_inference() -> None:
    builder = Builder(Graph("g"))
    text = builder.parameter("x", TensorType(ElementType.STRING, Shape.of(None, 3)))
    parts, counts = builder.emit(StringSplit(), text).outputs
    assert parts.type == TensorType(ElementType.STRING, Shape.of(None, 3, None))
    assert counts.type == TensorType(ElementType.I64, Shape.of(None, 3))
    assert builder(weighted("TF"), text).type == TensorType(ElementType.F32, Shape.of(None, 4))
    unknown = builder.parameter("u", TensorType(ElementType.STRING, UNKNOWN_SHAPE))
    assert builder(StringNormalizer(), unknown).type == unknown.type
    number = builder.parameter("n", TensorType(ElementType.F32, Shape.of(3)))
    for op, inputs in (
        (StringConcat(), [text, number]),
        (StringNormalizer(case_change_action="lower"), [text]),
        (weighted("tf"), [text]),
    ):
        with pytest.raises(InferenceError):
            builder(op, *inputs)
