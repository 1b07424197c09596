"""The table of results: Parquet files by day and step, each written whole or not at all.

``RESULTS/table/day=2026-11-22/step=validate/part-*.parquet``; the day (UTC) and the step are in the
path only, as in Hive. Rows are only added: for a model that was swept again, the latest row counts
(`latest`).
"""

from __future__ import annotations

import io
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from irloop.errors import UsageError
from irloop.fleet.places import fetching_from, place_of, put, without_secrets
from irloop.fleet.verdicts import VERDICTS, done_key

__all__ = ["append", "exists", "latest", "parts", "rows_of", "scan", "schema_of_parts"]

Row = dict[str, Any]

_PART = re.compile(r"/day=([0-9-]+)/step=([a-z]+)/part-[0-9a-f-]+\.parquet$")

#: The number of rows that are read at a time.
BATCH = 10_000

#: The columns that have a value in every row.
_ALWAYS = ("path", "digest", "mark", "size", "settings", "versions", "time", "verdict")

#: The lists, with the texts that each of their items has.
_LISTS = {"codes": ("code", "severity", "message"), "refusals": ("operation", "reason", "place")}

#: The first microsecond after the last year that Python's dates have.
_END_OF_9999 = 253_402_300_800 * 10**6

_CODE = re.compile(r"[A-Z]{3,4}[0-9]{1,4}")


def schema_of_parts() -> Any:
    """The columns of the files of a table, with their types."""
    import pyarrow as pa

    finding = [("code", pa.string()), ("severity", pa.string()), ("message", pa.string())]
    finding += [("line", pa.int64()), ("place", pa.string())]
    refusal = [(name, pa.string()) for name in ("operation", "reason", "place")]
    return pa.schema(
        [
            ("path", pa.string()),
            ("digest", pa.string()),
            ("mark", pa.string()),
            ("format", pa.string()),
            ("size", pa.int64()),
            ("settings", pa.string()),
            ("versions", pa.string()),
            ("time", pa.timestamp("us", tz="UTC")),
            ("verdict", pa.string()),
            ("detail", pa.string()),
            ("codes", pa.list_(pa.struct(finding))),
            ("refusals", pa.list_(pa.struct(refusal))),
            ("seconds", pa.float64()),
            ("memory", pa.int64()),
            ("max_abs", pa.float64()),
            ("max_rel", pa.float64()),
            ("output", pa.string()),
        ]
    )


def append(target: str, rows: Sequence[Row]) -> None:
    """Write `rows` to the table in the results `target`: one new file for each day and step.

    Raises:
        UsageError: when a file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups: dict[tuple[date, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["time"].date(), row["step"]), []).append(row)
    schema = schema_of_parts()
    for (day, step), group in groups.items():
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(group, schema=schema), buffer, compression="zstd")
        # Names contain the time, so that sorted names are in the order of writing.
        name = f"part-{int(group[0]['time'].timestamp() * 1e6):016x}-{secrets.token_hex(4)}.parquet"
        put(f"{target.rstrip('/')}/table/day={day}/step={step}/{name}", buffer.getvalue())


def parts(target: str) -> list[tuple[str, str, str]]:
    """List the files of a result table, ordered by file name: the path, day and step of each.

    Raises:
        UsageError: when the results cannot be listed.
    """
    place = place_of(f"{target.rstrip('/')}/table")
    files: list[tuple[str, str, str]] = []
    with fetching_from(target):
        place.fs.invalidate_cache()
        if not place.fs.exists(place.path):
            return []
        for path in place.fs.find(place.path):
            match = _PART.search(str(path))
            if match is not None:
                files.append((str(path), match[1], match[2]))
    return sorted(files, key=lambda item: item[0].rpartition("/")[2])


def exists(target: str) -> None:
    """Check that `target` holds results of a sweep.

    Raises:
        UsageError: when it holds none.
    """
    if not parts(target):
        shown = without_secrets(target)
        raise UsageError(f"{shown}: no results of a sweep", expected=f"files in {shown}/table")


def scan(target: str, columns: Sequence[str]) -> Iterator[tuple[str, str, dict[str, list[Any]]]]:
    """Yield the rows of the table in pieces, as tuples (day, step, values of each column).

    Only the given columns are read. The third item of a tuple maps each column to a list with one
    value for each row.

    Raises:
        UsageError: when a file cannot be read, or holds something else than `append` writes.
    """
    import pyarrow.parquet as pq

    place = place_of(f"{target.rstrip('/')}/table")
    for path, day, step in parts(target):
        with fetching_from(path), place.fs.open(path, "rb") as file:
            parquet = pq.ParquetFile(file)
            _require_columns(path, parquet.schema_arrow, columns)
            left = parquet.metadata.num_rows
            for batch in parquet.iter_batches(BATCH, columns=list(columns)):
                _require_values(path, batch)
                left -= batch.num_rows
                if left < 0:
                    break
                yield day, step, batch.to_pydict()
            if left:
                count = parquet.metadata.num_rows
                raise _damaged(path, f"{count} values in each column", f"{count - left}")


def _require_columns(path: str, schema: Any, columns: Sequence[str]) -> None:
    for field in map(schema_of_parts().field, columns):
        found = schema.field(field.name).type if field.name in schema.names else None
        if found is None or not found.equals(field.type):
            raise _damaged(path, f"a column {field.name} of {field.type}", str(found or "none"))


def _require_values(path: str, batch: Any) -> None:
    """Check the values of a batch of rows, which somebody may have written by hand.

    Raises:
        UsageError: when a value is missing that `append` always writes, or is not one of its words.
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    missing = [name for name in _ALWAYS if name in columns and columns[name].null_count]
    for name in columns.keys() & _LISTS.keys():
        items = columns[name].flatten()
        texts = [items.field(key) for key in _LISTS[name]]
        if items.null_count or any(text.null_count for text in texts):
            missing.append(name)
        elif name == "codes":
            _require_words(path, "a code", texts[0], _CODE.fullmatch)
    if "time" in columns and not _are_times(columns["time"]):
        raise _damaged(path, "a time from 1970 to 9999", "another time")
    if missing:
        raise _damaged(path, f"a value of {missing[0]} in every row", "a row without one")
    if "verdict" in columns:
        _require_words(path, "a verdict", columns["verdict"], VERDICTS.__contains__)


def _are_times(column: Any) -> bool:
    """Return whether Python has a date for each value of a column of microseconds."""
    values = column.cast("int64").drop_null().to_numpy()
    return not len(values) or (values.min() >= 0 and values.max() < _END_OF_9999)


def _require_words(path: str, what: str, column: Any, is_known: Callable[[str], Any]) -> None:
    for word in column.unique().to_pylist():
        if not is_known(word):
            raise _damaged(path, what, repr(word))


def _damaged(path: str, expected: str, found: str) -> UsageError:
    return UsageError(
        f"{without_secrets(path)} is no file of a table of results",
        expected=expected,
        found=found,
        cause="it was damaged, or not written by irloop sweep",
        fix="remove this file; the next sweep does its models again",
    )


def latest(target: str) -> Any:
    """Return a boolean array that marks the latest row for each model path and step in a table.

    Of several rows with the same path and step, only the one with the latest time is True. `target`
    is the folder that holds the table. The array has one element for each row, in the order in
    which the function `scan` yields the rows.
    """
    keys: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
    times: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    for _, step, columns in scan(target, ("path", "time")):
        found = (done_key(path, step) for path in columns["path"])
        keys.append(np.fromiter(found, np.uint64, len(columns["path"])))
        times.append(np.array([time.timestamp() for time in columns["time"]]))
    if not keys:
        return np.zeros(0, bool)
    key, time = np.concatenate(keys), np.concatenate(times)
    order = np.lexsort((time, key))
    is_last = np.ones(len(order), bool)
    is_last[:-1] = key[order][1:] != key[order][:-1]
    counts = np.zeros(len(order), bool)
    counts[order[is_last]] = True
    return counts


def rows_of(
    target: str, digests: Iterable[str], fits: Callable[[Mapping[str, Any]], bool]
) -> tuple[dict[tuple[str, str], Row], set[tuple[str, str, str]]]:
    """Look up the rows of models in the tables of a sweep: one row per digest and step.

    Only rows whose digest is in `digests`, and for which `fits` returns true, are used. If several
    rows have the same digest and step, the last one read is returned. `target` is the folder that
    contains the tables.

    Returns:
        The rows, keyed by (digest, step), and the set of (path, digest, step) of all rows that
        fit.

    Raises:
        UsageError: when a file cannot be read.
    """
    import pyarrow.parquet as pq

    wanted = sorted(set(digests))
    place = place_of(f"{target.rstrip('/')}/table")
    by_key: dict[tuple[str, str], Row] = {}
    named: set[tuple[str, str, str]] = set()
    for path, _, step in parts(target):
        with fetching_from(path), place.fs.open(path, "rb") as file:
            _require_columns(path, pq.read_schema(file), schema_of_parts().names)
            file.seek(0)
            table = pq.read_table(
                file, filters=[("digest", "in", wanted)], schema=schema_of_parts()
            )
            for batch in table.to_batches():
                _require_values(path, batch)
            rows = table.to_pylist()
        for row in rows:
            row["step"] = step
            if fits(row):
                by_key[row["digest"], step] = row
                named.add((row["path"], row["digest"], step))
    return by_key, named
