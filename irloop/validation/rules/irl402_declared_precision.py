"""IRL402: declared precision differs from the inferred one."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class DeclaredPrecision(
    Rule,
    code="IRL402",
    severity=Severity.WARNING,
    title="declared precision differs from the inferred one",
    requires=("IRL1", "IRL2", "IRL3", "IRL5", "IRL6", "IRL7"),
    needs_graph=True,
):
    """An output port declares a precision that differs from the inferred one.

    What it does:
        Infers the element types of all operations, bodies included, and compares them with the
        `precision` of output ports.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 infer element types again and ignore the declaration, so the file
        still works; but it misleads tools that trust it.
    Bad example:
        a ReLU of f32 whose output port declares I64
    Good example:
        a ReLU of f32 whose output port declares FP32
    Fix:
        Write the model again, or correct the precision.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output port whose declared precision differs from the inferred one."""
        for layer, port, inferred, is_dims in context.misdeclared:
            if not is_dims:
                yield self.found(
                    at_port(layer, port),
                    f"output port {port.id} of {describe(layer)} declares a wrong precision",
                    expected=f"{inferred.element}, as inferred",
                    found=f"{port.precision}",
                    cause="the file was edited or converted by a tool",
                    fix="write the model again, or correct the precision",
                )
