"""IRL119: entry of meta_data has no value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class MetaDataValue(
    Rule, code="IRL119", severity=Severity.ERROR, title="entry of meta_data has no value"
):
    """A child of `meta_data`, other than `cli_parameters`, has no `value`.

    What it does:
        Checks `meta_data` only if the model has no `rt_info`, as OpenVINO does.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("Unsupported legacy argument") although the entry does not
        affect the model.
    Bad example:
        <meta_data><MO_version text="2021.4"/></meta_data>
    Good example:
        <meta_data><MO_version value="2021.4"/></meta_data>
    Fix:
        Give the entry a value, or remove it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each entry of meta_data that has no attribute `value`.

        There are no findings for the entry cli_parameters, or if the net has an rt_info.
        """
        sections = context.document.net.sections
        meta = next((item for item in sections if item.tag == "meta_data"), None)
        if meta is None or any(item.tag == "rt_info" for item in sections):
            return
        for entry in meta.children:
            if entry.tag == "cli_parameters" or "value" in entry.attributes:
                continue
            yield self.found(
                Location(line=entry.line, element=f"net/meta_data/{entry.tag}"),
                f"{entry.tag} in meta_data has no value",
                expected="an attribute value",
                found=", ".join(entry.attributes) or "no attribute",
                fix="add value, or remove the entry",
            )
