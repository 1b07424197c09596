"""IRL523: body of a TensorIterator has no Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BodyWithoutParameters(
    Rule,
    code="IRL523",
    severity=Severity.ERROR,
    title="body of a TensorIterator has no Parameter",
    requires=("IRL501",),
):
    """The body of a TensorIterator has no Parameter.

    What it does:
        Counts the Parameters of each TensorIterator body.
    Why is this bad:
        OpenVINO 2026.4 crashes (SIGSEGV) when it runs the model; 2021.4 runs it. A Loop without
        Parameters works in both.
    Bad example:
        a body of one Const and one Result
    Good example:
        a body with at least one Parameter
    Fix:
        Move the computations that do not depend on an input out of the body.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per TensorIterator whose body has no Parameter."""
        for wiring in context.loops:
            if wiring.is_iterator and wiring.body is not None and not wiring.body.parameters:
                yield self.found(
                    at_layer(wiring.owner),
                    f"the body of {describe(wiring.owner)} has no Parameter",
                    expected="at least one Parameter",
                    found="none",
                    cause="OpenVINO 2026.4 crashes when it runs such a model",
                    fix="move operations without inputs out of the body",
                )
