"""How a rule can repair a finding: edits of the file, and whether they change results.

A `Repair` is what ``irloop validate --fix`` applies for one finding.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.diagnostics import Location
from irloop.graph.record import Record

if TYPE_CHECKING:
    from irloop.formats.onnx.opset_imports import ImportOpset
    from irloop.formats.openvino.edits import Edit

__all__ = ["Repair"]


class Repair(Record):
    """Edits that remove one finding of a rule.

    A `safe` repair does not change the results in any runtime that accepts the file; `effect`
    describes what an unsafe repair changes or assumes. `weights` are bytes that the repair appends
    to the .bin.
    """

    code: str
    place: Location
    message: str
    edits: tuple[Edit | ImportOpset, ...]
    effect: str = ""
    weights: bytes = b""

    @property
    def safe(self) -> bool:
        """Return whether the repair changes no result."""
        return not self.effect

    def in_file(self, file: str) -> str:
        """The repair in one line, with its location in `file`."""
        return str(replace(self, place=replace(self.place, file=file)))

    def __str__(self) -> str:
        kind = "fixed" if self.safe else "fixed, and changed"
        return f"{self.place}: {kind} {self.code}: {self.message}" + (
            f" ({self.effect})" if self.effect else ""
        )
