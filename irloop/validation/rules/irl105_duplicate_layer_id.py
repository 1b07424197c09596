"""IRL105: two layers of one net have the same id."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class DuplicateLayerId(
    Rule,
    code="IRL105",
    severity=Severity.ERROR,
    title="two layers of one net have the same id",
    legacy=True,
):
    """Two layers of the same net have the same id.

    What it does:
        Compares the ids inside the root and inside each body. Each body is checked separately: an
        id may appear in the root and in every body.
    Why is this bad:
        Edges name layers by id. OpenVINO 2026.4 lets the later layer replace the earlier one and
        then fails with "Cannot create  layer  id:0 from unsupported opset" or similar.
    Bad example:
        <layer id="0" name="a" .../> <layer id="0" name="b" .../>
    Good example:
        <layer id="0" name="a" .../> <layer id="1" name="b" .../>
    Fix:
        Give one of them a free id and correct the edges that refer to it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per layer with an id that an earlier layer has."""
        for index in context.nets:
            for layer in index.duplicates:
                first = index.layers[layer.id or ""]
                yield self.from_problem(problems.duplicate_layer(layer, first))
