"""IRL601: Loop without an execution condition."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry, at_section
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class ConditionMissing(
    Rule,
    code="IRL601",
    severity=Severity.ERROR,
    title="Loop without an execution condition",
    requires=("IRL501", "IRL502"),
):
    """The port map of a Loop has no execution condition.

    What it does:
        Looks for an output entry with purpose="execution_condition" in each Loop.
    Why is this bad:
        The specification demands it. OpenVINO 2026.4 and 2021.4 abandon shape inference and stop
        with "node index is out of range" or "dynamic rank".
    Bad example:
        a Loop whose port map has outputs with external ids only
    Good example:
        <output external_port_id="-1" internal_layer_id="9" purpose="execution_condition"/>
    Fix:
        Add the entry; for a loop that ends only by its trip count, name a Result of a constant
        true.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per Loop whose port map has no execution condition."""
        for wiring in context.loops:
            section = wiring.section
            if not wiring.is_loop or wiring.body is None or section is None:
                continue
            if any(entry.purpose == "execution_condition" for entry in wiring.outputs):
                continue
            yield self.from_problem(problems.no_condition(wiring))

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Add purpose="execution_condition" to the only entry that can be the condition.

        That entry is the only one without an outer port, and its Result is boolean or of unknown
        type. Nothing is added if there is no such entry.
        """
        for wiring in context.loops:
            if not wiring.is_loop or wiring.body is None or wiring.section is None:
                continue
            inside = [entry for entry in wiring.outputs if (entry.external or 0) < 0]
            boolean = [
                entry
                for entry in inside
                if entry.inner is not None
                and context.result(wiring, entry.inner).element in (ElementType.BOOLEAN, None)
            ]
            if len(inside) != 1 or len(boolean) != 1:
                continue
            place = at_section(wiring.owner, wiring.section)
            entry_place = at_entry(wiring.owner, wiring.section, boolean[0].entry)
            edit = SetAttribute(entry_place.element, "purpose", "execution_condition")
            # This repair is safe: no runtime accepts the file without a condition, and only this
            # entry can be meant.
            yield self.repair(place, 'purpose="execution_condition" added', edit)
