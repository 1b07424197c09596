"""IRL102: not an IR of version 10 or 11."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class RootOrVersion(
    Rule, code="IRL102", severity=Severity.ERROR, title="not an IR of version 10 or 11"
):
    """The root is not `net`, or its version is neither 10 nor 11.

    What it does:
        Checks the root element and its `version`.
    Why is this bad:
        OpenVINO 2026.4 reads versions 10 and 11, OpenVINO 2021.4 only 10. Everything else ends
        in "Unable to read the model" without a reason. Versions below 10 (before 2020) have
        an entirely different structure.
    Bad example:
        <net name="m" version="7">
    Good example:
        <net name="m" version="10">
    Fix:
        Convert the original model again with Model Optimizer 2020.1 or later. Do not edit the
        number of an older file: its layers are described differently.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """At most one finding, at the root element: the IR version is neither 10 nor 11.

        A root element other than net is reported by the parser.
        """
        if context.version not in (10, 11):
            yield self.from_problem(problems.bad_version(context.document))
