"""Tables of operations, from the data of `irloop ops`."""

from __future__ import annotations

from collections import Counter

import irloop
from docs.generate.markdown import table
from docs.generate.refusals import reasons
from irloop import Coverage
from irloop.dialects.contrib.refused import REASONS

__all__ = ["counts", "described", "operations", "refused", "refused_contrib"]

_MARKS = {True: "yes", False: "**no**", None: "-"}


def counts() -> str:
    """The number of operations, and for how many each feature is available."""
    rows = []
    for dialect, title in (("openvino", "OpenVINO"), ("onnx", "ONNX")):
        found = _rows(dialect)
        number = Counter[str]()
        for row in found:
            number.update(infer=row.infer, run=row.run, convert=row.convert)
        types = len({(row.domain, row.type) for row in found})
        facets = (str(number[facet]) for facet in ("infer", "run", "convert"))
        rows.append((title, str(types), str(len(found)), *facets))
    return table(("dialect", "types", "meanings", "inferred", "run", "converted"), rows)


def refused(dialect: str) -> str:
    """The operations of a dialect that are never converted, and why."""
    rows = [(f"`{row.label}`", row.opsets, row.notes) for row in _rows(dialect) if not row.convert]
    return table(("operation", "opsets", "why"), rows)


def refused_contrib() -> str:
    """The operations of ONNX Runtime that are neither run nor converted, and why."""
    types: dict[str, list[str]] = {}
    for name, reason in sorted(REASONS.items()):
        types.setdefault(reason, []).append(f"`{name}`")
    rows = [(", ".join(names), reason) for reason, names in types.items()]
    return table(("operations", "why"), rows)


def operations(dialect: str) -> str:
    """All operations of a dialect."""
    way = "export" if dialect == "openvino" else "import"
    rows = map(_row, _rows(dialect))
    return table(("operation", "opsets", "infer", "run", way, "notes"), rows)


def described(dialect: str) -> str:
    """Inputs, outputs and attributes of all operations of a dialect."""
    rows = [
        (
            f"`{row.label}`",
            "<br>".join(f"{item.label}: {item.types}" for item in row.inputs),
            "<br>".join(f"{item.label}: {item.types}" for item in row.outputs),
            "<br>".join(f"`{item.name}`: {item.description}" for item in row.attributes),
        )
        for row in _rows(dialect)
    ]
    return table(("operation", "inputs", "outputs", "attributes"), rows)


def _rows(dialect: str) -> list[Coverage]:
    return [row for row in irloop.operations() if row.dialect == dialect]


def _row(row: Coverage) -> tuple[str, ...]:
    way = row.exported if row.dialect == "openvino" else row.imported
    marks = (_MARKS[mark] for mark in (row.infer, row.run, way))
    return (f"`{row.label}`", row.opsets, *marks, _notes(row))


def _notes(row: Coverage) -> str:
    found = reasons(row.dialect, row.type, row.since, row.domain) if row.convert else ()
    conditions = "<br>".join(f"refused: {reason}" for reason in found)
    return "<br>".join(filter(None, (row.notes, conditions)))
