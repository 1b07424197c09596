"""IRL615: part_size is not positive."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class PartSize(
    Rule,
    code="IRL615",
    severity=Severity.ERROR,
    title="part_size is not positive",
    requires=("IRL104",),
):
    """`part_size` is 0 or negative.

    What it does:
        Checks `part_size` of each sliced input and concatenated output.
    Why is this bad:
        With 0 in a TensorIterator OpenVINO 2026.4 crashes while it reads the file (SIGFPE); with a
        negative number it fails to compile the model. A Loop ignores it.
    Bad example:
        axis="0" stride="1" part_size="0"
    Good example:
        axis="0" stride="1" part_size="1"
    Fix:
        Write the size of one part, which is the absolute value of stride.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced or concatenated entry whose part_size is 0 or negative."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if entry.part_size > 0:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    "part_size is not positive",
                    expected="1 or more",
                    found=str(entry.part_size),
                    fix=f"write part_size={abs(entry.stride) or 1}",
                )
