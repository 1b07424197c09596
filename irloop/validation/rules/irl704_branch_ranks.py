"""IRL704: branches return different ranks."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BranchRanks(
    Rule,
    code="IRL704",
    severity=Severity.WARNING,
    title="branches return different ranks",
):
    """The two branches of an If return values of different rank for one output.

    What it does:
        Compares the declared ranks of the Results that are mapped to the same output. Ranks 0 and 1
        are compatible.
    Why is this bad:
        The output has no known rank. OpenVINO 2026.4 reads the file and fails when it compiles it
        for the CPU.
    Bad example:
        then returns [2], else returns [1,2]
    Good example:
        then returns [1,2], else returns [3,2]
    Fix:
        Insert a Reshape in one of the branches.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output of an If whose branches return different ranks.

        The finding is at the output entry of the else branch. Ranks 0 and 1 count as equal.
        """
        for pair in context.branch_outputs:
            then, other = pair.then.rank, pair.other.rank
            if then is None or other is None or then == other or max(then, other) < 2:
                continue
            yield self.found(
                pair.place,
                f"the branches of {describe(pair.layer)} return different ranks",
                expected=f"{texts.show_dims(pair.then.dims)}, as in the then branch",
                found=f"{texts.show_dims(pair.other.dims)} in the else branch",
                fix="reshape in one of the branches",
            )
