"""What irloop can do with each operation, read from the registries: the coverage table."""

from __future__ import annotations

from typing import NamedTuple

from irloop.conversion import pipelines  # noqa: F401  registers every conversion rule
from irloop.conversion.framework import EXPORTS, IMPORTS, NO_COUNTERPART
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.op import Constant, Op, Parameter, Result

__all__ = ["Coverage", "operations"]

#: Control flow has no kernel: the executor runs its bodies.
_CONTROL_FLOW = {
    ("openvino", "If"),
    ("openvino", "Loop"),
    ("openvino", "TensorIterator"),
    ("onnx", "If"),
    ("onnx", "Loop"),
    ("onnx", "Scan"),
}

_BASICS: tuple[type[Op], ...] = (Constant, Parameter, Result)


class Coverage(NamedTuple):
    """One operation of one dialect. `convert` means into the other dialect."""

    dialect: str
    domain: str
    type: str
    since: int
    infer: bool
    run: bool
    convert: bool

    @property
    def label(self) -> str:
        """Type and version as people write them, with the domain when there is one."""
        return (
            f"{self.domain}.{self.type}-{self.since}"
            if self.domain
            else f"{self.type}-{self.since}"
        )


def operations() -> tuple[Coverage, ...]:
    """Every operation class of both dialects, by dialect, domain, type and version."""
    rows = []
    for dialect, registry, rules in (("onnx", ONNX, IMPORTS), ("openvino", OPENVINO, EXPORTS)):
        for cls in registry.all():
            basic = issubclass(cls, _BASICS)
            rows.append(
                Coverage(
                    dialect,
                    cls.domain,
                    cls.type,
                    cls.since,
                    infer=basic or cls.infer is not Op.infer,
                    run=basic or cls.can_run() or (dialect, cls.type) in _CONTROL_FLOW,
                    convert=basic or (cls in rules and cls not in NO_COUNTERPART),
                )
            )
    return tuple(sorted(rows))
