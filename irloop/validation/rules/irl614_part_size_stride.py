"""IRL614: part_size and stride disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class PartSizeStride(
    Rule,
    code="IRL614",
    severity=Severity.ERROR,
    title="part_size and stride disagree",
    requires=("IRL104",),
):
    """`part_size` is not the absolute value of `stride`.

    What it does:
        Compares the two attributes of each sliced input and concatenated output.
    Why is this bad:
        OpenVINO's shape inference uses `part_size` and ignores `stride`, its CPU plugin does the
        opposite. The model fails to compile ("at least two different iterations numbers") or
        reads different elements than intended. An input with a stride and no part_size is only
        a warning: the specification of TensorIterator has no part_size, and stride is its step.
    Bad example:
        axis="0" start="0" end="-1" stride="2" part_size="1"
    Good example:
        axis="0" start="0" end="-1" stride="2" part_size="2"
    Fix:
        Write the same number in both; use a StridedSlice outside to skip elements.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per slice or concatenated output whose part_size and stride disagree.

        They disagree if part_size is not the absolute value of stride.
        """
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if entry.stride == 0 or entry.part_size <= 0:
                    continue
                if abs(entry.stride) == entry.part_size:
                    continue
                assert wiring.section is not None
                finding = self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    "part_size and stride disagree",
                    expected=f"part_size {abs(entry.stride)}, as stride",
                    found=f"part_size {entry.part_size}, stride {entry.stride}",
                    fix="write the same number in both",
                )
                if entry.entry.kind == "input" and "part_size" not in entry.entry.attributes:
                    cause = "slices have one element, and stride skips others; OpenVINO refuses it"
                    finding = replace(
                        finding,
                        severity=Severity.WARNING,
                        cause=cause,
                        fix="slice the tensor before the loop, or write part_size",
                    )
                yield finding
