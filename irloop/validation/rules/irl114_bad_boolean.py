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
        Checks every boolean attribute in `data`.
    Why is this bad:
        OpenVINO 2026.4 ignores the attribute without a word and the operation keeps its default,
        which may be the opposite of what was meant.
    Bad example:
        <data keep_dims="yes"/>
    Good example:
        <data keep_dims="true"/>
    Fix:
        Write true or false.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per boolean attribute in data that is neither true, false, 1 nor 0."""
        for problem in context.attribute_problems:
            if problem.code == self.code:
                yield self.from_problem(problem)
