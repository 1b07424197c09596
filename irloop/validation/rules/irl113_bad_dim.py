"""IRL113: malformed dim."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BadDim(Rule, code="IRL113", severity=Severity.ERROR, title="malformed dim"):
    """A `dim` of a port is no dimension.

    What it does:
        Checks that each `dim` is a number from 0 on, or -1 for a dynamic one.
    Why is this bad:
        OpenVINO 2026.4 refuses the file; `?`, ranges and the empty text are not allowed here
        although the shape of a Parameter may hold them. OpenVINO 2021.4 refuses -1 as well.
    Bad example:
        <dim>?</dim>
    Good example:
        <dim>-1</dim>
    Fix:
        Write the number, or -1 when it is dynamic.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding a port."""
        for layer, port, text, problem in context.dim_problems:
            if problem == "sloppy":
                continue
            yield self.found(
                at_port(layer, port),
                f"{describe(layer)} has a dim that is {problem}",
                expected="a number from 0 on, or -1",
                found=repr(text),
                fix="write -1 for a dynamic dimension" if text.startswith("?") else "correct it",
            )
