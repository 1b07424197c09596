"""What irloop has to say about a model: findings, where they are, and how bad they are.

Nothing here imports anything but the standard library, so that reporting a broken
file never depends on the machinery that the broken file would break.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

__all__ = ["NOWHERE", "Diagnostic", "Location", "Report", "Severity"]


class Severity(Enum):
    """How bad a finding is; `ERROR` makes a command exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for errors, 1 for warnings, 2 for information: the order of a report."""
        return _RANKS[self]


_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a model.

    `path` walks through bodies by layer name, as in ``Loop_7/body/Mul_4``; `element` is the
    path of the XML element, as in ``net/layers/layer[@id=4]/port_map/output[2]``.
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
        return f"{place}: {self.path}" if self.path else place


NOWHERE = Location()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: what was expected, what was found, why that probably is so, what to do."""

    code: str
    severity: Severity
    message: str
    location: Location = NOWHERE
    expected: str = ""
    found: str = ""
    cause: str = ""
    fix: str = ""

    def __str__(self) -> str:
        parts = [f"{self.location}: {self.severity.value} {self.code}: {self.message}"]
        for label in ("expected", "found", "cause", "fix"):
            text = getattr(self, label)
            if text:
                parts.append(f"  {label}: {text}")
        return "\n".join(parts)

    def in_file(self, file: str) -> Diagnostic:
        """The same finding, placed in `file` when it names no file yet."""
        if self.location.file is not None:
            return self
        return replace(self, location=replace(self.location, file=file))


@dataclass(slots=True)
class Report:
    """All findings of one look at one or more models, in the order they were found.

    `suppressed` are those that the model itself says to leave out.
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
        """How many findings have exactly this severity."""
        return sum(1 for item in self.diagnostics if item.severity is severity)

    @property
    def has_errors(self) -> bool:
        """True when at least one finding is an error."""
        return any(item.severity is Severity.ERROR for item in self.diagnostics)

    def sorted(self) -> list[Diagnostic]:
        """Findings by file, line and severity: the order a reader works through them."""
        return sorted(
            self.diagnostics,
            key=lambda item: (
                item.location.file or "",
                item.location.line or 0,
                item.severity.rank,
                item.code,
            ),
        )

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

    def __len__(self) -> int:
        return len(self.diagnostics)
