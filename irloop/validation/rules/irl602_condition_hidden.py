"""IRL602: execution condition is hidden by an earlier entry.

OpenVINO keeps only the first of several port map outputs with the same external id. If that is not
the entry that declares the execution condition, the Loop has no condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ConditionHidden(
    Rule,
    code="IRL602",
    severity=Severity.ERROR,
    title="execution condition is hidden by an earlier entry",
):
    """An earlier output entry has the same external id as the execution condition.

    What it does:
        Compares the `external_port_id` of the port map entry that declares the execution condition
        (usually -1) with those of the output entries before it.
    Why is this bad:
        If several output entries have the same `external_port_id`, OpenVINO 2026.4 and 2021.4 keep
        only the first, and treat -1 like any other number. The condition is lost, the outputs
        become undefined and the model does not compile.
    Bad example:
        <output external_port_id="-1" internal_layer_id="6"/>
        <output external_port_id="-1" internal_layer_id="9" purpose="execution_condition"/>
    Good example:
        <output external_port_id="-1" internal_layer_id="9" purpose="execution_condition"/>
    Fix:
        Remove the entry without a purpose; an output that is not connected needs none.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each output entry of a Loop that hides the execution condition of that Loop.

        Such an entry precedes the entry of the condition and has the same external id.
        """
        for wiring in context.loops:
            hidden = next(
                (item for item in wiring.outputs if item.purpose == "execution_condition"), None
            )
            if not wiring.is_loop or hidden is None or wiring.condition is not None:
                continue
            first = next(item for item in wiring.outputs if item.external == hidden.external)
            assert wiring.section is not None
            yield self.found(
                at_entry(wiring.owner, wiring.section, first.entry),
                f"this entry hides the execution condition of {describe(wiring.owner)}",
                expected=f"no other entry with external_port_id {hidden.external}",
                found=f"an entry before the condition in line {hidden.entry.line}",
                fix="remove this entry",
            )
