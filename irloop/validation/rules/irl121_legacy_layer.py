"""IRL121: a layer of an old IR that cannot be converted."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class LegacyLayer(
    Rule,
    code="IRL121",
    severity=Severity.ERROR,
    title="a layer of IR versions 2 to 7 that cannot be converted",
):
    """A layer of an IR of versions 2 to 7 is custom, unknown, or had no definite result.

    What it does:
        Reports the first layer of such a file that irloop does not read.
    Why is this bad:
        Nothing that was written since can compute the layer.
    Bad example:
        <net name="m" version="5"><layers><layer id="1" name="y" type="PNORM"/></layers></net>
    Good example:
        <net name="m" version="5"><layers><layer id="1" name="y" type="Norm"/></layers></net>
    Fix:
        Split the model before and after the layer, or convert the original model without it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield nothing: the reader of these versions reports the layer."""
        return iter(())
