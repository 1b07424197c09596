"""IRL102: not an IR of a known version."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class RootOrVersion(
    Rule, code="IRL102", severity=Severity.ERROR, title="not an IR of a known version"
):
    """The root is not `net`, or its version is none of 2 to 7, 10 and 11.

    What it does:
        Checks the root element and its `version`.
    Why is this bad:
        OpenVINO 2026.4 reads versions 10 and 11, OpenVINO 2021.4 only 10. Everything else ends
        in "Unable to read the model" without a reason. irloop also reads versions 2 to 7, which
        were written before 2020.2 and have an entirely different structure.
    Bad example:
        <net name="m" version="9">
    Good example:
        <net name="m" version="10">
    Fix:
        Restore the number that the file had. Do not edit the number of an older file: its layers
        are described differently, and `irloop convert OLD.xml -o NEW.xml` converts them.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """At most one finding, at the root element: the IR version is unknown.

        A root element other than net is reported by the parser.
        """
        if context.version not in (10, 11):
            yield self.from_problem(problems.bad_version(context.document))
