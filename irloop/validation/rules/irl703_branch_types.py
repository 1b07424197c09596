"""IRL703: branches return different element types."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BranchTypes(
    Rule,
    code="IRL703",
    severity=Severity.ERROR,
    title="branches return different element types",
):
    """The two branches of an If return different element types for one output.

    What it does:
        Compares the declared types of the Results that are mapped to the same output.
    Why is this bad:
        OpenVINO 2026.4 refuses the file, unless the condition is constant.
    Bad example:
        then returns f32, else returns i64
    Good example:
        both return f32
    Fix:
        Insert a Convert in one of the branches.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output of an If whose branches return different element types.

        The finding is at the output entry of the else branch.
        """
        for pair in context.branch_outputs:
            then, other = pair.then.element, pair.other.element
            if then is None or other in (None, then):
                continue
            yield self.found(
                pair.place,
                f"the branches of {describe(pair.layer)} return different element types",
                expected=f"{then}, as in the then branch",
                found=f"{other} in the else branch",
                fix="insert a Convert in one of the branches",
            )
