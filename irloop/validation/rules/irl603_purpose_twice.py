"""IRL603: several execution conditions or iteration numbers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry, describe
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class PurposeTwice(
    Rule,
    code="IRL603",
    severity=Severity.ERROR,
    title="several execution conditions or iteration numbers",
):
    """Two entries of a Loop have the same purpose.

    What it does:
        Counts the entries with `execution_condition` and with `current_iteration`.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 use the first and silently ignore the second; a body Parameter
        that should receive the iteration number then reads uninitialised memory.
    Bad example:
        two input entries with purpose="current_iteration"
    Good example:
        one, whose Parameter feeds all layers that need the number
    Fix:
        Keep one entry; let one Parameter feed several layers.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per port map entry of a Loop that repeats the purpose of an earlier entry.

        The purposes are current_iteration for inputs and execution_condition for outputs.
        """
        for wiring in context.loops:
            if not wiring.is_loop:
                continue
            yield from self._entries(wiring, wiring.inputs, "current_iteration")
            yield from self._entries(wiring, wiring.outputs, "execution_condition")

    def _entries(self, wiring: Wiring, entries: list[Entry], purpose: str) -> Iterator[Diagnostic]:
        same = [entry for entry in entries if entry.purpose == purpose]
        for entry in same[1:]:
            assert wiring.section is not None
            yield self.found(
                at_entry(wiring.owner, wiring.section, entry.entry),
                f"{describe(wiring.owner)} already has an entry of purpose {purpose}",
                expected=f"one entry with purpose {purpose}",
                found=f"a second one (first in line {same[0].entry.line})",
                fix="remove one of them",
            )
