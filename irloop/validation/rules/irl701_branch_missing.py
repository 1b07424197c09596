"""IRL701: If without one of its bodies."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BranchMissing(
    Rule, code="IRL701", severity=Severity.ERROR, title="If without one of its bodies"
):
    """An If has no `then_body` or no `else_body`.

    What it does:
        Looks for both bodies of each If.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("TensorIterator has no body"). 2021.4 has no If.
    Bad example:
        an If with then_body only
    Good example:
        an If with then_body and else_body
    Fix:
        Add the body; a branch that does nothing returns its inputs.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each missing body of an If: then_body, else_body or both."""
        for _, layer, both in context.branches:
            for wiring in both:
                if wiring.body is None:
                    yield self.found(
                        at_layer(layer),
                        f"{describe(layer)} has no {wiring.label}_body",
                        expected=f"an element {wiring.label}_body",
                        found="none",
                        fix="add the body; a body that computes nothing returns its inputs",
                    )
