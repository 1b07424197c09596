"""IRL120: legacy section is ignored.

The section is `statistics` in the root of an IR, or `blobs` in a layer. Only readers of IR versions
before 10 used it; OpenVINO ignores it.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class LegacySection(Rule, code="IRL120", severity=Severity.INFO, title="legacy section is ignored"):
    """A section is present that only readers older than version 10 used.

    What it does:
        Reports `statistics` in the root and `blobs` in a layer.
    Why is this bad:
        It is harmless: OpenVINO 2026.4 and 2021.4 skip it. But quantisation statistics or weights
        in it have no effect.
    Bad example:
        <statistics><layer><name>conv</name><min>0</min><max>1</max></layer></statistics>
    Good example:
        a net of layers, edges and meta_data
    Fix:
        Remove the section if no other tool needs it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per `statistics` section of the root, and per `blobs` section of a layer."""
        for section in context.document.net.sections:
            if section.tag == "statistics":
                place = Location(line=section.line, element="net/statistics")
                yield self._ignored(place, section.tag)
        if b"<blobs" not in context.document.data:
            return
        for element in context.document.root.iter("blobs"):
            yield self._ignored(context.element_places.at(element), "blobs")

    def _ignored(self, place: Location, tag: str) -> Diagnostic:
        return self.found(
            place,
            f"{tag} is ignored since version 10",
            fix="remove it if no other program reads it",
        )
