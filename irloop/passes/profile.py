"""Records which passes ran and how long they took, and prints the records as a table or as CSV."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from irloop.diagnostics import one_line
from irloop.graph.record import Record

__all__ = ["PassRecord", "Profile"]


class PassRecord(Record):
    """The record of one pass.

    `matches` counts the matches of each matcher. `nodes` counts the nodes of the model, bodies
    included, before and after the pass. `seconds` excludes inference, verification and observers;
    but for a pass manager it is the time of everything that the manager runs.
    """

    name: str
    manager: str
    seconds: float
    modified: bool
    matches: Mapping[str, int] = field(default_factory=dict)
    nodes: tuple[int, int] = (0, 0)
    depth: int = 0


class Profile:
    """The records of passes in the order in which they ran; as text it is a table."""

    def __init__(self, records: Sequence[PassRecord]) -> None:
        self.records = tuple(records)

    def __iter__(self) -> Iterator[PassRecord]:
        return iter(self.records)

    @property
    def modified(self) -> bool:
        """Return whether one of the passes changed the model."""
        return any(record.modified for record in self)

    def __str__(self) -> str:
        """The records as a table, with a row for each matcher below the row of its rewrite."""
        rows = [("pass", "ms", "matches", "nodes", "changed")]
        for record in self:
            rows.append(_row(record))
            indent = "  " * (record.depth + 1)
            rows += [(indent + name, "", str(n), "", "") for name, n in _matchers(record)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(_line(row, widths) for row in rows)

    def csv(self) -> str:
        """The records as CSV.

        The columns are pass, manager, milliseconds, matches, nodes before and after, modified. A
        row without a time shows how often one matcher of a rewrite matched; its column manager
        names the rewrite.
        """
        import csv  # needed for no other report

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            (
                "pass",
                "manager",
                "milliseconds",
                "matches",
                "nodes_before",
                "nodes_after",
                "modified",
            )
        )
        for record in self:
            time, count = f"{record.seconds * 1e3:.3f}", sum(record.matches.values())
            changed = str(record.modified).lower()
            writer.writerow((record.name, record.manager, time, count, *record.nodes, changed))
            for name, matches in _matchers(record):
                writer.writerow((name, record.name, "", matches, "", "", ""))
        return text.getvalue()


def _matchers(record: PassRecord) -> Iterator[tuple[str, int]]:
    """Yield the name of each matcher of a rewrite, and how often it matched.

    Nothing is yielded for a pass that is itself the only matcher, because the row of the pass shows
    the number.
    """
    if tuple(record.matches) != (record.name,):
        yield from record.matches.items()


def _row(record: PassRecord) -> tuple[str, str, str, str, str]:
    before, after = record.nodes
    return (
        "  " * record.depth + record.name,
        f"{record.seconds * 1e3:.2f}",
        str(sum(record.matches.values())) if record.matches else "",
        str(before) if before == after else f"{before} -> {after}",
        "yes" if record.modified else "no",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = row
    middle = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=False)]
    return one_line("  ".join([first.ljust(widths[0]), *middle, last]).rstrip())
