"""Tables of results that were damaged or written by somebody else: an error, never a fault."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from irloop.errors import UsageError
from irloop.fleet import table
from irloop.fleet.summary import summarized

ROOT = Path(__file__).resolve().parents[2]
FINDING = {"code": "IRL203", "severity": "error", "message": "m", "line": 7, "place": "p"}
REFUSAL = {"operation": "Roll-7", "reason": "r", "place": "p"}
ROW: dict[str, Any] = {
    "path": "a.xml", "digest": "d", "mark": "1-2", "format": "ir", "size": 3, "settings": "",
    "versions": "irloop 1", "time": datetime(2026, 11, 28, tzinfo=UTC), "verdict": "invalid",
    "detail": "", "codes": [FINDING], "refusals": [REFUSAL], "seconds": 0.5, "memory": 9,
    "max_abs": None, "max_rel": None, "output": None,
}  # fmt: skip


def written(folder: Path, change: Callable[[pa.Table], pa.Table] = lambda same: same) -> str:
    """A table of one row as a sweep writes it, changed afterwards."""
    table.append(str(folder), [ROW | {"step": "validate"}])
    ((path, _, _),) = table.parts(str(folder))
    pq.write_table(change(pq.read_table(path, partitioning=None)), path)
    return str(folder)


def with_value(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    def change(found: pa.Table) -> pa.Table:
        field = found.schema.field(name)
        at = found.schema.names.index(name)
        return found.set_column(at, field, pa.array([value], field.type))

    return change


def test_a_table_that_a_sweep_has_written(tmp_path: Path) -> None:
    found = summarized(written(tmp_path))
    assert found.verdicts == {("validate", "invalid"): 1}
    assert found.codes == {"IRL203": 1}
    assert found.operations == {"Roll-7": 1}
    rows, _ = table.rows_of(str(tmp_path), ["d"], lambda _: True)
    assert rows["d", "validate"]["verdict"] == "invalid"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda found: found.drop_columns(["time"]), "a column time"),
        (lambda found: found.select(["path", "verdict"]), "a column"),
        (lambda found: found.set_column(0, "path", pa.array([1])), "a column path of string"),
        (lambda found: found.set_column(10, "codes", pa.array(["IRL203"])), "a column codes"),
        (with_value("time", None), "a value of time"),
        (with_value("verdict", None), "a value of verdict"),
        (with_value("path", None), "a value of path"),
        (with_value("verdict", "\n::error::x"), "a verdict"),
        (with_value("codes", [None]), "a value of codes"),
        (with_value("codes", [FINDING | {"code": None}]), "a value of codes"),
        (with_value("codes", [FINDING | {"code": "\x1b[31m"}]), "a code"),
        (with_value("refusals", [None]), "a value of refusals"),
        (with_value("refusals", [REFUSAL | {"operation": None}]), "a value of refusals"),
    ],
)
@pytest.mark.parametrize(
    "read", [summarized, lambda target: table.rows_of(target, ["d"], lambda _: True)]
)
def test_a_table_with_something_else(
    change: Callable[[pa.Table], pa.Table],
    expected: str,
    read: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    target = written(tmp_path, change)
    with pytest.raises(UsageError, match="is no file of a table of results") as raised:
        read(target)
    assert raised.value.diagnostics[0].expected.startswith(expected)


@pytest.mark.parametrize(
    "read", [summarized, lambda target: table.rows_of(target, ["d"], lambda _: True)]
)
def test_texts_that_are_not_unicode(read: Callable[[str], Any], tmp_path: Path) -> None:
    def damaged(found: pa.Table) -> pa.Table:
        texts = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
        return found.set_column(found.schema.names.index("detail"), "detail", texts)

    target = written(tmp_path, damaged)
    with pytest.raises(UsageError, match="cannot be read"):
        read(target)


def test_columns_of_different_lengths(tmp_path: Path) -> None:
    found = ROOT / "fuzz" / "corpus" / "table" / "other_lengths.parquet"
    part = tmp_path / "table" / "day=2026-11-28" / "step=validate" / "part-00.parquet"
    part.parent.mkdir(parents=True)
    part.write_bytes(found.read_bytes())
    with pytest.raises(UsageError, match="is no file of a table of results") as raised:
        summarized(str(tmp_path), str(tmp_path))
    assert "values in each column" in raised.value.diagnostics[0].expected


def test_a_time_that_no_clock_shows(tmp_path: Path) -> None:
    def far(found: pa.Table) -> pa.Table:
        kind = found.schema.field("time").type
        at = found.schema.names.index("time")
        return found.set_column(at, "time", pa.array([1 << 62], pa.int64()).cast(kind))

    with pytest.raises(UsageError, match="is no file of a table of results") as raised:
        summarized(written(tmp_path, far))
    assert raised.value.diagnostics[0].expected == "a time from 1970 to 9999"
