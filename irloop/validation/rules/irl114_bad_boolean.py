"""IRL114: invalid boolean keeps the default."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BadBoolean(
    Rule, code="IRL114", severity=Severity.WARNING, title="invalid boolean keeps the default"
):
    """A boolean attribute is neither true, false, 1 nor 0.

    What it does:
        Checks every boolean attribute of a `data` element. The allowed texts are true, false, 1 and
        0, in any letter case.
    Why is this bad:
        OpenVINO 2026.4 silently ignores the attribute, and the operation uses the default, which
        may be the opposite of the value that was meant.
    Bad example:
        <data keep_dims="yes"/>
    Good example:
        <data keep_dims="true"/>
    Fix:
        Write true or false.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each boolean attribute of a `data` element that is not true, false, 1 or 0."""
        for problem in context.attribute_problems:
            if problem.code == self.code:
                yield self.from_problem(problem)
