"""What passes did and how long they took, as a table and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from irloop.passes.manager import PassRecord

__all__ = ["profile_csv", "profile_table"]


def profile_table(records: Sequence[PassRecord]) -> str:
    """The records as a table for people; the matchers of a rewrite stand below it."""
    rows = [("pass", "ms", "matches", "nodes", "changed")]
    for record in records:
        rows.append(_row(record))
        if tuple(record.matches) != (record.name,):
            indent = "  " * (record.depth + 1)
            rows += [(indent + name, "", str(n), "", "") for name, n in record.matches.items()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


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
    return "  ".join([first.ljust(widths[0]), *middle, last]).rstrip()


def profile_csv(records: Sequence[PassRecord]) -> str:
    """The records as CSV: pass, manager, milliseconds, matches, nodes before and after, modified.

    A row without a time counts the matches of one matcher of the pass in its column manager.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ("pass", "manager", "milliseconds", "matches", "nodes_before", "nodes_after", "modified")
    )
    for record in records:
        writer.writerow(
            (
                record.name,
                record.manager,
                f"{record.seconds * 1e3:.3f}",
                sum(record.matches.values()),
                *record.nodes,
                str(record.modified).lower(),
            )
        )
        if tuple(record.matches) != (record.name,):
            for name, count in record.matches.items():
                writer.writerow((name, record.name, "", count, "", "", ""))
    return text.getvalue()
