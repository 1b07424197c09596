"""Operations on strings: an array of Python strings in, strings or numbers out."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.errors import LimitError

__all__ = ["can_match", "concat", "full_match", "normalizer", "packed", "split", "unpacked"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

_CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper}


#: Doubling a string thirty times makes a gigabyte of it.
_LONGEST = 1 << 24


def _strings(items: Sequence[str], shape: Sequence[int]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def concat(left: Array, right: Array) -> Array:
    """Strings joined one by one, broadcast as in NumPy.

    Raises:
        LimitError: where one of them would be longer than any text, or all together too long.
    """
    longest = sum(max(map(len, item.reshape(-1)), default=0) for item in (left, right))
    if longest > _LONGEST:
        raise LimitError(
            "a string would be longer than any text",
            code="LIM001",
            expected=f"at most {_LONGEST} characters",
            found=str(longest),
        )
    count = np.broadcast(left, right).size
    budget.reserve(count * (longest + 64), "joining strings")
    return np.asarray(np.add(left, right), dtype=object)


def can_match() -> bool:
    """True when google-re2 is installed."""
    return importlib.util.find_spec("re2") is not None


def full_match(pattern: str) -> Function:
    """Whether the whole of each string matches an expression of RE2, found in linear time.

    The function raises ValueError for an expression that RE2 does not have.
    """

    def apply(x: Array) -> Array:
        engine = importlib.import_module("re2")
        options = engine.Options()
        options.log_errors = False
        try:
            expression = engine.compile(pattern, options)
        except engine.error as error:
            raise ValueError(f"{pattern!r} is no expression of RE2: {error}") from error
        matches = np.frompyfunc(lambda text: expression.fullmatch(text) is not None, 1, 1)
        return np.asarray(matches(x), dtype=np.bool_)

    return apply


def split(delimiter: str, limit: int | None) -> Function:
    """The parts of each string along a new last axis, padded with "", and how many they are.

    Without a delimiter strings are split at white space; `limit` bounds the number of splits.
    """
    most = -1 if limit is None else limit

    def apply(x: Array) -> tuple[Array, Array]:
        parts = [text.split(delimiter or None, most) for text in x.flat]
        counts = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        width = int(counts.max(initial=0))
        padded = [item for found in parts for item in found + [""] * (width - len(found))]
        return _strings(padded, (*x.shape, width)), counts.reshape(x.shape)

    return apply


def normalizer(stopwords: Sequence[str], *, case: str, sensitive: bool) -> Function:
    """Strings of [C] or [1, C] without the stop words, then in another case ("NONE": as is).

    A result without strings is one empty string.
    """
    change = _CASES.get(case)
    key = str if sensitive else (change or str.lower)
    stops = set(map(key, stopwords))

    def apply(x: Array) -> Array:
        kept = [text for text in x.flat if key(text) not in stops] or [""]
        changed = kept if change is None else list(map(change, kept))
        return _strings(changed, (1,) * (x.ndim - 1) + (len(changed),))

    return apply


def packed(begins: Array, ends: Array, symbols: Array) -> Array:
    """The strings whose UTF-8 bytes stand from begins to ends; other bytes are kept, too."""
    raw = symbols.tobytes()
    places = zip(begins.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=True)
    texts = [raw[begin:end].decode("utf-8", "surrogateescape") for begin, end in places]
    return _strings(texts, begins.shape)


def unpacked(x: Array) -> tuple[Array, Array, Array]:
    """Begins and ends (i32, in the shape of `x`) of the strings' UTF-8 bytes, and all of these."""
    raw = [text.encode("utf-8", "surrogateescape") for text in x.flat]
    lengths = np.fromiter(map(len, raw), dtype=np.int32, count=len(raw))
    ends = lengths.cumsum(dtype=np.int32).reshape(x.shape)
    begins = ends - lengths.reshape(x.shape)
    return begins, ends, np.frombuffer(b"".join(raw), np.uint8)
