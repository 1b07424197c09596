"""IRL101: not well-formed XML."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class NotXml(Rule, code="IRL101", severity=Severity.ERROR, title="not well-formed XML"):
    """The file is not a well-formed XML document.

    What it does:
        Reports the first XML error and, if the file is not XML at all, what it probably is: a Git
        LFS pointer, a web page, the .bin, an ONNX model.
    Why is this bad:
        Nothing can be read. OpenVINO 2026.4 and 2021.4 refuse the file and name a byte offset,
        not a line.
    Bad example:
        <net version="10"><layers>
    Good example:
        <net version="10"><layers/><edges/></net>
    Fix:
        Copy or download the file again; for a Git LFS pointer run `git lfs pull`.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield nothing: a document exists, so the XML is well-formed."""
        return iter(())
