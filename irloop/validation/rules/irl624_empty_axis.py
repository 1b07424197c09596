"""IRL624: sliced axis has no elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry
from irloop.validation import loop_ranges
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class EmptyAxis(
    Rule,
    code="IRL624",
    severity=Severity.ERROR,
    title="sliced axis has no elements",
    requires=("IRL104",),
):
    """The sliced axis of an input has size 0.

    What it does:
        Checks the declared size of the axis of each sliced input.
    Why is this bad:
        There is not a single slice. OpenVINO fails when it compiles or runs the
        model, and so does a Scan in ONNX Runtime.
    Bad example:
        axis="0" for an input of shape [0,2]
    Good example:
        axis="0" for an input of shape [6,2]
    Fix:
        Correct the shape; handle an empty sequence outside the loop.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced input entry whose axis has size 0."""
        for wiring in context.loops:
            for entry in wiring.sliced:
                if loop_ranges.axis_size(context, wiring, entry) != 0:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    "the sliced axis has no elements",
                    expected="at least one part",
                    found=str(context.external(wiring, entry.position)),
                    fix="correct the shape, or handle the empty sequence outside",
                )
