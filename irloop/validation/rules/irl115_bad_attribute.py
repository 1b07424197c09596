"""IRL115: invalid number, word or list."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BadAttribute(
    Rule, code="IRL115", severity=Severity.ERROR, title="invalid number, word or list"
):
    """An attribute in `data` has a value that cannot be read or is not allowed.

    What it does:
        Checks that numbers can be read and are within their range, that lists have the right number
        of entries, that words and element types are among those that the operation knows, and that
        a ReadValue reads the variable that an Assign sets.
    Why is this bad:
        OpenVINO 2026.4 refuses the file. nan and inf must be written in lower case, lists without
        empty items, words as in the specification (in any letter case).
    Bad example:
        <data auto_broadcast="x"/>
    Good example:
        <data auto_broadcast="numpy"/>
    Fix:
        Write one of the values that the operation's specification lists.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each invalid attribute value in a `data` element."""
        for problem in context.attribute_problems:
            if problem.code == self.code:
                yield self.from_problem(problem)
