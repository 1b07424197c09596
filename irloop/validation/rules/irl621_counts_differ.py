"""IRL621: entries ask for different numbers of iterations."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry
from irloop.validation import loop_ranges
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class CountsDiffer(
    Rule,
    code="IRL621",
    severity=Severity.ERROR,
    title="entries ask for different numbers of iterations",
    requires=("IRL104", "IRL614", "IRL615", "IRL616", "IRL617", "IRL618", "IRL620"),
):
    """Two entries of a TensorIterator ask for different numbers of iterations.

    What it does:
        Counts the iterations of each sliced input whose size is known and of each concatenated
        output.
    Why is this bad:
        OpenVINO 2026.4 fails when it compiles the model ("There are at least two different
        iterations numbers"); its shape inference silently uses the last
        of the numbers.
    Bad example:
        one input sliced into 3 parts, another into 2
    Good example:
        both sliced into 3 parts
    Fix:
        Correct the ranges, or slice one of the inputs before the loop.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each TensorIterator entry that contradicts the iteration count.

        The iteration count is that of the first entry with a known count.
        """
        for wiring in context.loops:
            if not wiring.is_iterator:
                continue
            counts = loop_ranges.iterations(context, wiring)
            for entry, count in counts[1:]:
                first, wanted = counts[0]
                if count == wanted:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"this entry asks for {count} iterations, an earlier one for {wanted}",
                    expected=f"{wanted} iterations, as in line {first.entry.line}",
                    found=f"{count} iterations",
                    fix="correct the range, or slice the tensor before the loop",
                )
