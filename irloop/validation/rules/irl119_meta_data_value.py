"""IRL119: entry of meta_data has no value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.places import at_element
from irloop.validation.rule import Rule


class MetaDataValue(
    Rule, code="IRL119", severity=Severity.ERROR, title="entry of meta_data has no value"
):
    """A child of `meta_data`, other than `cli_parameters`, has no `value`.

    What it does:
        Checks `meta_data` as OpenVINO reads it: only where the model has no `rt_info`.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("Unsupported legacy argument") although nothing in it
        matters for the model.
    Bad example:
        <meta_data><MO_version text="2021.4"/></meta_data>
    Good example:
        <meta_data><MO_version value="2021.4"/></meta_data>
    Fix:
        Give the entry a value, or remove it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding an entry."""
        root = context.document.root
        meta = root.find("meta_data")
        if meta is None or root.find("rt_info") is not None:
            return
        for entry in meta.iterchildren("*"):
            if entry.tag == "cli_parameters" or entry.get("value") is not None:
                continue
            yield self.found(
                at_element(entry, context.document.line_of(entry)),
                f"{entry.tag} in meta_data has no value",
                expected="an attribute value",
                found=", ".join(str(name) for name in entry.attrib) or "no attribute",
                fix="add value, or remove the entry",
            )
