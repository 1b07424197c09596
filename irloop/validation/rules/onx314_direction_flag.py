"""ONX314: direction is neither 0 nor 1."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule

_FLAGS = ("directions", "scan_input_directions", "scan_output_directions")


class DirectionFlag(
    OnnxRule, code="ONX314", severity=Severity.ERROR, title="direction is neither 0 nor 1"
):
    """A Scan has a direction that is not 0 (forwards) or 1 (backwards).

    What it does:
        Checks `directions` of Scan-8, `scan_input_directions` and `scan_output_directions`.
    Why is this bad:
        The specification allows only 0 and 1. ONNX Runtime refuses the model; other engines treat
        every number but 0 as backwards.
    Bad example:
        scan_input_directions = [-1]
    Good example:
        scan_input_directions = [1]
    Fix:
        Write 1 for backwards, 0 for forwards.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each direction attribute of a Scan that has an invalid number.

        Valid are 0 (forwards) and 1 (backwards).
        """
        for node in context.nodes("Scan"):
            for name in _FLAGS:
                flags = node.numbers.get(name, ())
                if not all(flag in (0, 1) for flag in flags):
                    yield self.found(
                        at_node(node),
                        f"{name} of Scan {node.label!r} has a direction that is neither 0 nor 1",
                        expected="0 (forwards) or 1 (backwards)",
                        found=str(list(flags[:16])),
                        fix="write 1 for backwards, 0 for forwards",
                    )
