"""IRL629: execution condition never changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InvariantCondition(
    Rule,
    code="IRL629",
    severity=Severity.WARNING,
    title="execution condition never changes",
):
    """The execution condition is a body Parameter that no back edge updates.

    What it does:
        Looks for condition Results that are fed directly by a Parameter without a back edge.
    Why is this bad:
        The condition keeps its initial value, so it cannot end the loop. OpenVINO 2021.4 runs such
        a loop, 2026.4 cannot compile it.
    Bad example:
        the condition Result fed by Parameter cond, and no back edge to cond
    Good example:
        the same with a back edge from the condition Result to cond
    Fix:
        Add the back edge from the condition Result to the Parameter, or feed the Result with a
        constant true.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each Loop whose condition is a body Parameter without a back edge.

        A Parameter that is missing from the port map is left to IRL512.
        """
        for wiring in context.loops:
            entry, body = wiring.condition, wiring.body
            if not wiring.is_loop or entry is None or body is None or entry.inner is None:
                continue
            source = body.source(entry.inner)
            if source is None or source[0].type != "Parameter":
                continue
            parameter = source[0]
            # IRL512 reports a condition Parameter without an entry.
            known = wiring.entry_of.get(parameter.id or "")
            if known is None or (parameter.id or "") in wiring.back_edge_of:
                continue
            assert wiring.section is not None
            yield self.found(
                at_entry(wiring.owner, wiring.section, entry.entry),
                f"the condition of {describe(wiring.owner)} is always {describe(parameter)}",
                expected="a value that the body computes, or a back edge to that Parameter",
                found="a Parameter without a back edge",
                cause="a back edge was lost",
                fix="add the back edge, or feed the Result with a constant true",
            )
