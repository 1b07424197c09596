"""Operations on strings: an array of Python strings in, strings or numbers out."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.errors import LimitError
from irloop.kernels.work import spend_each

__all__ = ["can_match", "concat", "full_match", "normalizer", "packed", "split", "unpacked"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

_CASES: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper}


#: Maximum length of a string, in characters: a string that is doubled thirty times would take a
#: gigabyte.
_LONGEST = 1 << 24


def _strings(items: Sequence[str], shape: Sequence[int]) -> Array:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def concat(left: Array, right: Array) -> Array:
    """Concatenate strings elementwise, with NumPy broadcasting.

    Raises:
        LimitError: when one string, or all of them together, would be too long.
    """
    longest = sum(max(map(len, item.reshape(-1)), default=0) for item in (left, right))
    if longest > _LONGEST:
        raise LimitError(
            "a string would become too long",
            code="LIM001",
            expected=f"at most {_LONGEST} characters",
            found=str(longest),
        )
    count = np.broadcast(left, right).size
    budget.reserve(count * (longest + 64), "joining strings")
    return np.asarray(np.add(left, right), dtype=object)


def can_match() -> bool:
    """Return whether google-re2 is installed."""
    return importlib.util.find_spec("re2") is not None


def full_match(pattern: str) -> Function:
    """Make a kernel that tests whether each whole string matches an RE2 expression.

    The test takes linear time.

    The kernel raises ValueError for an expression that RE2 does not support.
    """

    def apply(x: Array) -> Array:
        engine = importlib.import_module("re2")
        options = engine.Options()
        options.log_errors = False
        try:
            expression = engine.compile(pattern, options)
        except engine.error as error:
            raise ValueError(f"{pattern!r} is not a regular expression of RE2: {error}") from error
        length = sum(map(len, x.flat))
        spend_each(length + 50 * x.size, 10 + len(pattern) // 10, "matching an expression")
        matches = np.frompyfunc(lambda text: expression.fullmatch(text) is not None, 1, 1)
        return np.asarray(matches(x), dtype=np.bool_)

    return apply


def split(delimiter: str, limit: int | None) -> Function:
    """Make a kernel that splits each string along a new last axis, and counts the parts of each.

    Strings with fewer parts are padded with "". Without a delimiter, strings are split at white
    space; `limit` bounds the number of splits.
    """
    most = -1 if limit is None else limit

    def apply(x: Array) -> tuple[Array, Array]:
        parts = [text.split(delimiter or None, most) for text in x.flat]
        counts = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        width = int(counts.max(initial=0))
        budget.reserve(24 * len(parts) * width, "the parts of strings")
        spend_each(len(parts) * width, 50, "splitting strings")
        padded = [item for found in parts for item in found + [""] * (width - len(found))]
        return _strings(padded, (*x.shape, width)), counts.reshape(x.shape)

    return apply


def normalizer(stopwords: Sequence[str], *, case: str, sensitive: bool) -> Function:
    """Make a kernel that removes stop words from [C] or [1, C] and changes the case of the rest.

    With `sensitive`, stop words match only in their own case. `case` "NONE" keeps the case. If no
    string remains, the result is one empty string.
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
    """Decode the UTF-8 bytes of `symbols` between each begin and its end to a string.

    Bytes that are not valid UTF-8 are kept, as surrogates.
    """
    raw = symbols.tobytes()
    places = zip(begins.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=True)
    texts = [raw[begin:end].decode("utf-8", "surrogateescape") for begin, end in places]
    return _strings(texts, begins.shape)


def unpacked(x: Array) -> tuple[Array, Array, Array]:
    """Encode strings as one array of UTF-8 bytes.

    Returns three arrays: the positions at which the strings begin, the positions at which they end,
    and the bytes. The positions are i32 and have the shape of `x`.
    """
    raw = [text.encode("utf-8", "surrogateescape") for text in x.flat]
    lengths = np.fromiter(map(len, raw), dtype=np.int32, count=len(raw))
    ends = lengths.cumsum(dtype=np.int32).reshape(x.shape)
    begins = ends - lengths.reshape(x.shape)
    return begins, ends, np.frombuffer(b"".join(raw), np.uint8)
