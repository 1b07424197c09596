"""IRL605: iteration number is not one integer.

The body Parameter that receives the iteration number of a Loop must be declared as i32 or i64, with
one element.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class IterationType(
    Rule,
    code="IRL605",
    severity=Severity.ERROR,
    title="iteration number is not one integer",
):
    """The body Parameter that receives the iteration number is not an i32 or i64 with one element.

    What it does:
        Checks the type and shape of the body Parameter of the port map entry with
        purpose="current_iteration".
    Why is this bad:
        OpenVINO 2026.4 refuses a Parameter with type f32 or two elements when it compiles the
        model, and one with rank 2 already when it reads the file.
    Bad example:
        <data shape="" element_type="f32"/>
    Good example:
        <data shape="" element_type="i64"/>
    Fix:
        Declare an i64 scalar, and convert it where a float is needed.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each Loop whose iteration number enters an unsuitable Parameter.

        The Parameter must be an i32 or i64 with one element, of rank 0 or 1. A type or shape that
        it does not declare is not reported.
        """
        for wiring in context.loops:
            entry = wiring.iteration
            if not wiring.is_loop or entry is None or entry.inner is None:
                continue
            if entry.inner.type != "Parameter":
                continue
            declared = context.parameter(entry.inner)
            integer = declared.element in (None, ElementType.I32, ElementType.I64)
            if integer and declared.elements in (None, 1) and (declared.rank or 0) < 2:
                continue
            yield self.found(
                at_layer(entry.inner),
                f"{describe(entry.inner)} cannot receive the iteration number",
                expected="i64 or i32, with one element of rank 0 or 1",
                found=str(declared),
                fix="declare an i64 scalar and convert it in the body",
            )
