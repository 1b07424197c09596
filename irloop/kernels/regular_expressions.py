r"""Regular expressions in the syntax of RE2, translated for Python's `re`.

RE2 differs where a pattern looks the same: `\d`, `\w`, `\s` and `\b` know ASCII only, `$` is the
end of the text and not the place before a last line break, `(?i)` in the middle holds for the
rest of its group. It has `\Q...\E`, `\z` and `[[:alpha:]]`, and no look-around and no references.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = ["compiled", "translated"]

_CLASSES = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}

#: The named classes of brackets, as ranges of ASCII.
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

_TOKEN = re.compile(
    r"""
    \\Q(?P<literal>.*?)(?:\\E|\Z)
  | \\x\{(?P<code>[0-9A-Fa-f]{1,6})\}
  | \\(?P<escape>0[0-7]{0,2}|[1-7][0-7]{1,2}|x[0-9A-Fa-f]{2}|.)
  | \(\?(?P<flags>[A-Za-z-]*)(?P<kind>[:)])
  | \(\?P?<(?P<name>[A-Za-z_]\w*)>
  | \(\?(?P<odd>.?)
  | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
  | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SET_ITEM = re.compile(
    r"\[:(?P<not>\^?)(?P<posix>\w+):\]|\\x\{(?P<code>[0-9A-Fa-f]{1,6})\}"
    r"|\\(?P<escape>0[0-7]{0,2}|[1-7][0-7]{1,2}|x[0-9A-Fa-f]{2}|.)|(?P<plain>.)",
    re.DOTALL,
)


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """The expression, ready to match.

    Raises:
        ValueError: for an expression that RE2 does not have, or a Unicode class.
    """
    try:
        return re.compile(translated(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None


@dataclass(slots=True)
class _Group:
    """An open group: what `(?i)` in it opened, and whether lines have ends of their own."""

    lines: bool
    opened: list[str] = field(default_factory=list)


def translated(pattern: str) -> str:
    """The same expression in the syntax of Python's `re`.

    Raises:
        ValueError: for an expression that RE2 does not have, or a Unicode class.
    """
    return _Translation(pattern).text()


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._groups = [_Group(lines=False)]
        self._out: list[str] = []

    def _refused(self, what: str) -> ValueError:
        return ValueError(f"{self._pattern!r}: {what}")

    def text(self) -> str:
        at, repeated = 0, False
        while at < len(self._pattern):
            if self._pattern[at] == "[":
                at = self._set(at + 1)
                repeated = False
                continue
            found = _TOKEN.match(self._pattern, at)
            assert found is not None
            at = found.end()
            if found["repeat"] is not None and repeated:
                raise self._refused("a repetition is repeated")
            repeated = found["repeat"] is not None
            self._token(found)
        if len(self._groups) > 1:
            raise self._refused("a group is not closed")
        return "".join(self._out) + ")" * len(self._groups[-1].opened)

    def _token(self, found: re.Match[str]) -> None:
        if found["literal"] is not None:
            self._out.append(re.escape(found["literal"]))
        elif found["code"] is not None:
            self._out.append(re.escape(self._character(found["code"])))
        elif found["escape"] is not None:
            self._out.append(self._escape(found["escape"]))
        elif found["flags"] is not None:
            self._flags(found["flags"], group=found["kind"] == ":")
        elif found["name"] is not None:
            self._open(f"(?P<{found['name']}>")
        elif found["odd"] is not None:
            raise self._refused(f"RE2 has no group that starts with '(?{found['odd']}'")
        elif found["repeat"] is not None:
            self._out.append(found["repeat"])
        else:
            self._plain(found["plain"])

    def _character(self, digits: str) -> str:
        number = int(digits, 16)
        if number > 0x10FFFF:
            raise self._refused(f"there is no character {digits}")
        return chr(number)

    def _plain(self, character: str) -> None:
        group = self._groups[-1]
        if character == "(":
            self._open("(")
        elif character == ")":
            if len(self._groups) == 1:
                raise self._refused("a group is closed that was not opened")
            self._out.append(")" * len(self._groups.pop().opened) + ")")
        elif character == "|":
            # What `(?i)` opened reaches over the bar.
            self._out.append(")" * len(group.opened) + "|" + "".join(group.opened))
        elif character == "$":
            self._out.append("(?m:$)" if group.lines else r"\Z")
        elif character == "^":
            self._out.append("(?m:^)" if group.lines else r"\A")
        else:
            # Python takes {,5} for a repetition, RE2 for five characters.
            self._out.append("\\{" if character == "{" else character)

    def _open(self, text: str) -> None:
        self._out.append(text)
        self._groups.append(_Group(self._groups[-1].lines))

    def _flags(self, flags: str, *, group: bool) -> None:
        on, _, off = flags.partition("-")
        if set(on + off) - set("ims"):
            raise self._refused(f"flags {flags!r} are not known here: i, m and s are")
        if group:
            self._open("")
        if "m" in on + off:
            self._groups[-1].lines = "m" in on
        # Anchors are written out, so that Python needs no flag for lines.
        kept = "-".join("".join(c for c in part if c != "m") for part in (on, off))
        text = f"(?{kept.removesuffix('-')}:" if kept.strip("-") else "(?:"
        self._out.append(text)
        if not group:
            self._groups[-1].opened.append(text)

    def _escape(self, escape: str) -> str:
        simple = {"z": r"\Z", "A": r"\A", "b": r"(?a:\b)", "B": r"(?a:\B)"}
        if escape in simple:
            return simple[escape]
        if escape.lower() in _CLASSES:
            negated = "^" if escape.isupper() else ""
            return f"[{negated}{_CLASSES[escape.lower()]}]"
        return self._literal(escape)

    def _literal(self, escape: str) -> str:
        """An escaped character, inside or outside of brackets."""
        if escape.isdecimal() and (len(escape) > 1 or escape == "0"):
            return re.escape(chr(int(escape, 8)))
        if escape[0] == "x" and len(escape) == 3:
            return re.escape(chr(int(escape[1:], 16)))
        if escape in string.digits:
            raise self._refused("RE2 has no references")
        if escape in "pP":
            raise self._refused("classes of Unicode characters are not supported")
        if escape in string.ascii_letters and escape not in "afnrtv":
            raise self._refused(f"RE2 has no '\\{escape}' here")
        return f"\\{escape}" if escape.isascii() else escape

    def _set(self, at: int) -> int:
        """Translate brackets whose inside starts at `at`; gives the place behind them."""
        start = at
        out = "["
        if self._pattern[at : at + 1] == "^":
            out, at = "[^", at + 1
            start = at
        while at < len(self._pattern):
            found = _SET_ITEM.match(self._pattern, at)
            assert found is not None
            if found["plain"] == "]" and at > start:
                self._out.append(out + "]")
                return at + 1
            out += self._set_item(found)
            at = found.end()
        raise self._refused("brackets are not closed")

    def _set_item(self, found: re.Match[str]) -> str:
        posix, escape = found["posix"], found["escape"]
        if posix is not None:
            if posix not in _POSIX:
                raise self._refused(f"there is no class {posix!r}")
            return _complement(_POSIX[posix]) if found["not"] else _POSIX[posix]
        if found["code"] is not None:
            return re.escape(self._character(found["code"]))
        if escape is not None:
            if escape.lower() in _CLASSES:
                ranges = _CLASSES[escape.lower()]
                return _complement(ranges) if escape.isupper() else ranges
            return self._literal(escape)
        # Python warns of what sets of sets may once mean.
        return f"\\{found['plain']}" if found["plain"] in "[&~|" else found["plain"]


def _complement(ranges: str) -> str:
    """The ranges of the characters that `ranges`, all ASCII, leave out."""
    inside = re.compile(f"[{ranges}]")
    outside = [code for code in range(128) if not inside.match(chr(code))]
    return "".join(f"\\x{code:02x}" for code in outside) + "\x80-\U0010ffff"
