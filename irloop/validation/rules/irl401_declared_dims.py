"""IRL401: declared dimensions differ from the inferred ones."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class DeclaredDims(
    Rule,
    code="IRL401",
    severity=Severity.WARNING,
    title="declared dimensions differ from the inferred ones",
    requires=("IRL1", "IRL2", "IRL3", "IRL5", "IRL6", "IRL7"),
    needs_graph=True,
):
    """An output port declares dimensions that differ from the inferred ones.

    What it does:
        Infers the shapes of all operations, bodies included, and compares them with the `dim`
        elements of output ports. Dynamic dimensions match everything.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 infer shapes again and ignore the declaration, so the file still
        works; but it misleads tools that trust it, and people who read the file. The .xml
        may have been edited, or reshaped by a tool that did not finish.
    Bad example:
        a ReLU of [1,2] whose output port declares [1,7]
    Good example:
        a ReLU of [1,2] whose output port declares [1,2]
    Fix:
        Write the model again, or correct the dims.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output port whose declared dimensions differ from the inferred ones."""
        for layer, port, inferred, is_dims in context.misdeclared:
            if is_dims:
                yield self.found(
                    at_port(layer, port),
                    f"output port {port.id} of {describe(layer)} declares wrong dimensions",
                    expected=f"{inferred.shape}, as inferred",
                    found=texts.show_dims(context.declared(port).dims),
                    cause="the file was edited or reshaped",
                    fix="write the model again, or correct the dims",
                )
