"""Findings about a model: what they are, where they are, and how severe they are.

This module imports only the standard library, so that reporting a broken file never depends on the
code that the file may break.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Any

__all__ = [
    "DETAILS",
    "DRAWERS",
    "ENOUGH",
    "EXAMPLES",
    "LONGEST",
    "MAKERS",
    "NOWHERE",
    "SHOWN_ROWS",
    "Cap",
    "Diagnostic",
    "Location",
    "Report",
    "Severity",
    "first_few",
    "html_picture",
    "html_table",
    "html_text",
    "one_line",
]

#: What CI services interpret as a command: GitHub `::error ::` after white space at the start of a
#: line, GitHub and Azure `##[error]` and `##vso[` anywhere, TeamCity `##teamcity[`. Not compiled
#: here, because a run that prints nothing does not use it.
_COMMAND = r"^\s*::|##(?=[a-z]*\[)"


#: The longest text that is printed; names in a file may have millions of characters.
LONGEST = 1 << 16


def one_line(text: str) -> str:
    r"""Escape `text` so that terminals and CI services show it as one line and never execute it.

    Line breaks, tabs, control characters, direction marks and every other invisible character
    become escapes such as ``\n`` or ``\u202e``; so does the start of a CI command. All names, paths
    and attributes of a model pass through this function before they are printed. Texts longer than
    `LONGEST` characters are cut.
    """
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}... ({len(text):,} characters)"
    if not text.isprintable():
        text = "".join(
            char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
            for char in text
        )
    if ":" in text or "#" in text:
        text = re.sub(_COMMAND, _harmless, text, flags=re.IGNORECASE)
    return text


def _harmless(match: re.Match[str]) -> str:
    found = match.group()
    return found.replace("::", r"\x3a\x3a").replace("##", r"\x23\x23")


def html_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """An HTML table for notebooks: texts are escaped, and None becomes an empty cell.

    It has no colours of its own, so that it fits light and dark notebooks.
    """
    head = "".join(f"<th{_LEFT}>{html_text(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td{_LEFT}>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_text(value: object) -> str:
    """The text of an item as escaped HTML, with invisible characters shown as escapes."""
    # `html` is imported here, because only notebooks need it, and its table of entities would be
    # loaded at every start.
    from html import escape

    return "" if value is None else escape(one_line(str(value)))


def html_picture(svg: str) -> str:
    """HTML that shows an SVG as an image, so that its styles do not affect the notebook."""
    from base64 import b64encode

    data = b64encode(svg.encode("utf-8", "backslashreplace")).decode()
    return f'<p><img style="max-width:100%" src="data:image/svg+xml;base64,{data}"/></p>'


#: Functions that draw a graph with a title as SVG; they return "" if it is too large for a
#: notebook. The package irloop registers its own, because graphs cannot import the code that draws
#: them.
DRAWERS: list[Callable[[Any, str], str]] = []

#: For each dialect, a function that makes the object of the format's own package from a model. The
#: package irloop registers its own, because models cannot import the writers.
MAKERS: dict[str, Callable[[Any], Any]] = {}

_LEFT = ' style="text-align:left"'

#: How many lines of a long list are shown in text.
EXAMPLES = 3

#: The most rows of a table in a notebook.
SHOWN_ROWS = 200


def first_few(lines: Sequence[str], where: str) -> list[str]:
    """The first lines of a long list, and how many more there are; `where` tells where all are."""
    if len(lines) <= EXAMPLES + 1:
        return list(lines)
    return [*lines[:EXAMPLES], f"  and {len(lines) - EXAMPLES} more: {where}"]


class Severity(Enum):
    """The severity of a finding; `ERROR` makes a command exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """The sort key of a report: 0 for errors, 1 for warnings, 2 for information."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class Location:
    """A location in a model.

    `path` leads through bodies by layer name, as in ``Loop_7/body/Mul_4``; `element` is the path of
    the XML element, as in ``net/layers/layer[@id=4]/port_map/output[2]``.
    """

    file: str | None = None
    line: int | None = None
    path: str = ""
    layer_id: str | None = None
    element: str = ""

    def __str__(self) -> str:
        place = self.file or "<model>"
        if self.line is not None:
            place = f"{place}:{self.line}"
        return one_line(f"{place}: {self.path}" if self.path else place)


NOWHERE = Location()


#: The texts that complete the message of a finding.
DETAILS = ("expected", "found", "cause", "fix")

#: A number, or several with signs between them such as 2x3; but not the version in Squeeze-13.
_NUMBER = r"(?<![\w-])-?\d(?:[\w.,+-]*\w)?"


def _hidden(match: re.Match[str], *, everything: bool) -> str:
    found = match.group()
    digits = max(map(len, re.findall(r"\d+", found)))
    return "(a value)" if everything or digits >= 10 else found


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what was expected, what was found, the probable cause, and a fix.

    `suppressed_by` tells who suppressed it, for example "the model"; it is empty if nobody did.
    With `shows_weights`, the texts may contain values from another file than the model, which is
    perhaps a file that its readers should not see.
    """

    code: str
    severity: Severity
    message: str
    location: Location = NOWHERE
    expected: str = ""
    found: str = ""
    cause: str = ""
    fix: str = ""
    suppressed_by: str = ""
    shows_weights: bool = False

    def __str__(self) -> str:
        head = f"{self.location}: {self.severity.value} {self.code}: {self.message}"
        parts = [one_line(head)]
        for label in DETAILS:
            text = getattr(self, label)
            if text:
                parts.append(one_line(f"  {label}: {text}"))
        return "\n".join(parts)

    def in_file(self, file: str) -> Diagnostic:
        """Return the finding, located in `file` unless its location already names a file."""
        if self.location.file is not None:
            return self
        return replace(self, location=replace(self.location, file=file))

    def for_public_logs(self) -> Diagnostic:
        """Return the finding without values that might be bytes of a file.

        Numbers of ten digits or more are left out; with `shows_weights`, so are all numbers that
        are not part of a word.
        """
        hide = partial(re.sub, _NUMBER, partial(_hidden, everything=self.shows_weights))
        texts: dict[str, Any] = {
            label: hide(getattr(self, label)) for label in ("message", *DETAILS)
        }
        return replace(self, **texts)


#: If only the first findings are listed, a rule stops after this many errors in a file.
ENOUGH = 10_000


class Cap:
    """Limits how many findings are listed per file, code and severity, and counts the others.

    With a limit of 5, for example, the first 5 errors IRL203 of each file are listed.
    """

    def __init__(self, most: int | None) -> None:
        """`most` is the number of findings to list; None lists all."""
        self._most = most
        self._counts: dict[tuple[str | None, str, Severity], int] = {}
        #: The location of the first finding that is not listed.
        self._places: dict[tuple[str | None, str, Severity], Location] = {}

    def wants(self, finding: Diagnostic) -> bool:
        """Return whether a finding should be listed; False if it is only counted."""
        if self._most is None:
            return True
        key = (finding.location.file, finding.code, finding.severity)
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count <= self._most:
            return True
        self._places.setdefault(key, finding.location)
        return False

    def rest(self) -> Iterator[Diagnostic]:
        """For each file, code and severity, yield one finding that counts the unlisted ones."""
        most = self._most or 0
        for key, place in self._places.items():
            _, code, severity = key
            count = self._counts[key]
            least = "at least " if count >= max(ENOUGH, most + 1) else ""
            yield Diagnostic(
                code,
                severity,
                f"{least}{count - most:,} more of {code} in this file; the first of them is here",
                place,
                found=f"{least}{count:,} findings, of which {most:,} are listed",
                fix="list all with --max-same-findings 0",
            )


@dataclass(slots=True)
class Report:
    """All findings of one validation of one or more models, in the order they were found.

    `suppressed` are the findings that a model itself tells irloop to suppress; they are not in
    `diagnostics`.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    suppressed: list[Diagnostic] = field(default_factory=list)

    def add(self, diagnostic: Diagnostic) -> None:
        """Append one finding."""
        self.diagnostics.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Append several findings."""
        self.diagnostics.extend(diagnostics)

    def count(self, severity: Severity) -> int:
        """The number of findings with exactly this severity."""
        return sum(1 for item in self.diagnostics if item.severity is severity)

    @property
    def has_errors(self) -> bool:
        """Return whether at least one finding is an error."""
        return any(item.severity is Severity.ERROR for item in self.diagnostics)

    def sorted(self) -> list[Diagnostic]:
        """Findings by file, line and severity, the order in which to fix them."""
        return sorted(
            self.diagnostics,
            key=lambda item: (
                item.location.file or "",
                item.location.line or 0,
                item.severity.rank,
                item.code,
            ),
        )

    def _repr_html_(self) -> str:
        """The findings as a table, for notebooks."""
        counts = [(self.count(item), item.value) for item in Severity]
        head = ", ".join(f"{count} {word}" for count, word in counts if count) or "no findings"
        findings = self.sorted()
        if not findings:
            return f"<p><b>{head}</b></p>"
        columns = ("severity", "code", "place", "finding", "expected", "found", "fix")
        rows = (
            (i.severity.value, i.code, i.location, i.message, i.expected, i.found, i.fix)
            for i in findings[:SHOWN_ROWS]
        )
        more = len(findings) - SHOWN_ROWS
        tail = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<p><b>{head}</b></p>{html_table(columns, rows)}{tail}"

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

    def __len__(self) -> int:
        return len(self.diagnostics)
