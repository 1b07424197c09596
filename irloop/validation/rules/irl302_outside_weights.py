"""IRL302: constant lies outside the weights file."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import FILE, Rule


class OutsideWeights(
    Rule,
    code="IRL302",
    severity=Severity.ERROR,
    title="constant lies outside the weights file",
    requires=("IRL301",),
    scope=FILE,
    legacy=True,
):
    """The bytes of a constant are not all inside the .bin.

    What it does:
        Compares `offset` + `size` with the size of the file; nothing is read.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file ("Incorrect weights in bin file!") and name
        neither the layer nor the numbers.
    Bad example:
        <data element_type="f32" shape="4" offset="8" size="16"/> with a .bin of 16 bytes
    Good example:
        <data element_type="f32" shape="4" offset="0" size="16"/> with a .bin of 16 bytes
    Fix:
        Restore the .bin that was written together with the .xml.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per constant whose bytes are not all inside the weights file."""
        size = context.weights.size
        if size is None:
            return
        for const in context.constants:
            if const.offset is None or const.size is None or const.offset + const.size <= size:
                continue
            problem = problems.outside_weights(
                const.layer, const.offset, const.size, size, const.blob
            )
            yield self.from_problem(problem)
