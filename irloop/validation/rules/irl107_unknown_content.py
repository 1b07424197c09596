"""IRL107: unknown element or attribute."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnknownContent(
    Rule,
    code="IRL107",
    severity=Severity.WARNING,
    title="unknown element or attribute",
    legacy=True,
):
    """An element or attribute that no reader knows.

    What it does:
        Compares the file with the schema of IR 10 and 11, and the attributes in `data` with the
        attributes of the operation.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 ignore it without a word. A misspelt attribute therefore keeps
        its default, which changes results.
    Bad example:
        <data axes="1"/> <!-- of a Concat, whose attribute is axis -->
    Good example:
        <data axis="1"/>
    Fix:
        Correct the spelling, or remove the element or attribute.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per element or attribute that no reader knows."""
        for finding in context.schema_findings:
            if finding.code != self.code:
                continue
            tag, name = finding.element.tag, finding.attribute
            what = f"attribute {name} of {tag}" if name else f"element {tag}"
            message = finding.message
            known = "" if name or "Expected" not in message else message.rpartition("(")[2]
            yield self.found(
                context.element_places.at(finding.element),
                f"unknown {what}, ignored by every reader",
                expected=known.rstrip(" ).") if known else "",
                found=name or str(tag),
                cause="a misspelling, or an element that occurs twice or under the wrong parent",
                fix="correct or remove it",
            )
        for problem in context.attribute_problems:
            if problem.code == self.code:
                yield self.from_problem(problem)
