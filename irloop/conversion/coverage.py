"""The coverage table: which operations irloop infers, runs and converts.

The table is computed from the classes of the operations and the rules of the conversions, so that
it is never out of date.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from irloop.conversion.framework.rules import EXPORTS, IMPORTS
from irloop.dialects.attributes import Attribute, Operand, attributes_of, operands_of
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.onnx import ONNX
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import OPENVINO, state
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.op import Constant, Op, Parameter, Registry, Result

__all__ = ["Coverage", "operands", "operations"]

#: Operations without a kernel that the executor runs itself: control flow and session variables.
_BY_EXECUTOR: tuple[type[Op], ...] = (
    *(state.Assign, state.Assign6, state.ReadValue, state.ReadValue6),
    *(ov.If, ov.Loop, ov.TensorIterator),
    *(onnx.If, onnx.Loop, onnx.Scan, onnx.Scan8),
)

_BASICS: tuple[type[Op], ...] = (Constant, Parameter, Result)

_BY_FUNCTION = "imported as the function that defines it in the standard"

#: Operations that a pass replaces before the import rules run.
_REPLACED: dict[type[Op], str] = {onnx.Scan8: "imported as a Scan over the batch around a Scan-9"}


class Coverage(NamedTuple):
    """One version of one operation and what irloop can do with it.

    `since` is the opset that introduced this version and `until` the last opset that has it (None:
    the newest). `infer`: irloop infers element types and shapes. `run`: the executor runs it.
    `exported`: it converts to ONNX (None for an ONNX operation). `imported`: it converts to
    OpenVINO (None for an OpenVINO operation). `notes` gives the reasons and conditions. `summary`
    is the first paragraph of the docstring of the operation class; `attributes`, `inputs` and
    `outputs` describe the attributes, inputs and outputs of that class.
    """

    dialect: str
    domain: str
    type: str
    since: int
    until: int | None
    infer: bool
    run: bool
    exported: bool | None
    imported: bool | None
    notes: str
    summary: str = ""
    attributes: tuple[Attribute, ...] = ()
    inputs: tuple[Operand, ...] = ()
    outputs: tuple[Operand, ...] = ()
    #: The opsets in which a later version of an ONNX operation allows more types: the opset, the
    #: type variable, and the new types.
    later_types: tuple[tuple[int, str, str], ...] = ()

    @property
    def label(self) -> str:
        """The type and version in the usual notation, with the domain if there is one."""
        return (
            f"{self.domain}.{self.type}-{self.since}"
            if self.domain
            else f"{self.type}-{self.since}"
        )

    @property
    def opsets(self) -> str:
        """The opsets that have this version of the operation, for example "1-6", "7" or "8+"."""
        if self.until is None:
            return f"{self.since}+"
        return str(self.since) if self.until == self.since else f"{self.since}-{self.until}"

    @property
    def convert(self) -> bool:
        """Return whether the operation converts to the other format."""
        return bool(self.exported or self.imported)

    @property
    def complete(self) -> bool:
        """Return whether irloop infers, runs and converts the operation."""
        return self.infer and self.run and self.convert


def operations() -> tuple[Coverage, ...]:
    """Every operation class of both dialects, sorted by dialect, domain, type and version."""
    return (*_rows("onnx", ONNX), *_rows("openvino", OPENVINO))


def _rows(dialect: str, registry: Registry) -> list[Coverage]:
    return [
        _row(dialect, cls, newer)
        for _, group in groupby(registry.all(), key=lambda cls: (cls.domain, cls.type))
        for versions in [list(group)]
        for cls, newer in zip(versions, [*versions[1:], None], strict=True)
    ]


def _row(dialect: str, cls: type[Op], newer: type[Op] | None) -> Coverage:
    basic = issubclass(cls, _BASICS)
    last = None if newer is None else newer.since - 1
    converted, notes = _conversion(dialect, cls)
    inputs, outputs = operands(dialect, cls)
    until = last if cls.until is None else cls.until
    attributes = tuple(attributes_of(cls).values())
    later: tuple[tuple[int, str, str], ...] = ()
    if dialect == "onnx" and not cls.operands:
        from irloop.formats.onnx import schemas

        later = schemas.changes(cls.type, cls.since, until, cls.domain)
        if cls.body_labels:
            # The attributes of a loop are in its bodies and port maps.
            attributes = schemas.attributes(cls.type, cls.since, cls.domain)
    return Coverage(
        dialect,
        cls.domain,
        cls.type,
        cls.since,
        until,
        infer=basic or cls.infer is not Op.infer,
        run=basic or cls.can_run() or issubclass(cls, _BY_EXECUTOR),
        exported=converted if dialect == "openvino" else None,
        imported=converted if dialect == "onnx" else None,
        notes=notes,
        summary=" ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        attributes=attributes,
        inputs=inputs,
        outputs=outputs,
        later_types=later,
    )


def operands(dialect: str, cls: type[Op]) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return the inputs and the outputs of an operation class.

    For an ONNX operation they come from the schema of the onnx package, if the class does not list
    them.
    """
    if dialect == "openvino" or cls.operands:
        return operands_of(cls)
    from irloop.formats.onnx import schemas

    found = schemas.operands(cls.type, cls.since, cls.domain)
    return operands_of(cls) if found is None else found


def _conversion(dialect: str, cls: type[Op]) -> tuple[bool, str]:
    """Return whether an operation converts to the other dialect, and a note.

    The note is the reason why the operation does not convert, or how it converts; it may be empty.
    """
    rules = EXPORTS if dialect == "openvino" else IMPORTS
    if reason := rules.reason_of(cls):
        return False, reason
    if issubclass(cls, _BASICS) or cls in rules:
        return True, ""
    if issubclass(cls, ContribOp):
        return True, "decomposed into operations of the standard"
    if cls in _REPLACED:
        return True, _REPLACED[cls]
    return (True, _BY_FUNCTION) if dialect == "onnx" and _is_function(cls) else (False, "")


def _is_function(cls: type[Op]) -> bool:
    from irloop.formats.onnx import functions

    return functions.is_function(cls.type, cls.since, cls.domain)
