"""IRL521: purpose is unknown or has no effect."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class UnknownPurpose(
    Rule,
    code="IRL521",
    severity=Severity.WARNING,
    title="purpose is unknown or has no effect",
):
    """An entry of a port map has a `purpose` that readers ignore.

    What it does:
        Allows `current_iteration` on inputs and `execution_condition` on outputs of a Loop.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 ignore every other word, and every purpose in a TensorIterator
        or If. With a misspelt execution_condition a Loop has no condition and is refused.
    Bad example:
        <output external_port_id="-1" internal_layer_id="5" purpose="exec_cond"/>
    Good example:
        <output external_port_id="-1" internal_layer_id="5" purpose="execution_condition"/>
    Fix:
        Correct the spelling, or remove the purpose.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per port map entry whose purpose has no effect."""
        for wiring, entry, purpose, allowed in _without_effect(context):
            assert wiring.section is not None
            yield self.found(
                at_entry(wiring.owner, wiring.section, entry.entry),
                f"purpose {purpose!r} has no effect here",
                expected=allowed if wiring.is_loop else "no purpose",
                found=repr(purpose),
                cause=""
                if wiring.is_loop
                else f"only entries of a Loop have a purpose, not those of {wiring.owner.type}",
                fix="correct or remove it",
            )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Correct a misspelt purpose in a Loop; remove the purpose from a TensorIterator or If."""
        for wiring, entry, purpose, allowed in _without_effect(context):
            assert wiring.section is not None
            place = at_entry(wiring.owner, wiring.section, entry.entry)
            if not wiring.is_loop:
                edit = SetAttribute(place.element, "purpose", None)
                yield self.repair(place, "the purpose, which has no effect, is removed", edit)
                continue
            taken = wiring.iteration if entry.entry.kind == "input" else wiring.condition
            if taken is None and _is_like(purpose, allowed):
                edit = SetAttribute(place.element, "purpose", allowed)
                yield self.repair(
                    place,
                    f'purpose="{allowed}" instead of "{purpose}"',
                    edit,
                    effect=f"assumes that {purpose!r} is a misspelling",
                )


def _without_effect(context: Context) -> Iterator[tuple[Wiring, Entry, str, str]]:
    """Yield each port map entry with a purpose that has no effect.

    A purpose has an effect only in a Loop, where an input may have `current_iteration` and an
    output `execution_condition`. Yields the port map, the entry, its purpose, and the purpose that
    it could have in a Loop.
    """
    branches = (w for _, _, both in context.branches for w in both)
    for wiring in (*context.loops, *branches):
        for entry in (*wiring.inputs, *wiring.outputs):
            is_input = entry.entry.kind == "input"
            allowed = "current_iteration" if is_input else "execution_condition"
            purpose = entry.purpose
            if purpose and not (wiring.is_loop and purpose == allowed):
                yield wiring, entry, purpose, allowed


def _is_like(purpose: str, allowed: str) -> bool:
    """Return whether `purpose` is probably a misspelling of `allowed`.

    Most letters must be equal and in the same order.
    """
    from difflib import SequenceMatcher

    return SequenceMatcher(None, purpose.lower(), allowed).ratio() > 0.6
