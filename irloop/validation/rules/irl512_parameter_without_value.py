"""IRL512: body Parameter is used but gets no value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry, at_layer, describe
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import OWNER, Rule


class ParameterWithoutValue(
    Rule,
    code="IRL512",
    severity=Severity.ERROR,
    title="body Parameter is used but gets no value",
    requires=("IRL502", "IRL509", "IRL510", "IRL511", "IRL516", "IRL519"),
    scope=OWNER,
):
    """A Parameter of a loop body is used, but nothing is mapped to it.

    What it does:
        Looks for an input entry for each Parameter of a TensorIterator or Loop body that a Result
        depends on. (For an If: IRL708.)
    Why is this bad:
        OpenVINO 2026.4 silently accepts it; the Parameter reads uninitialised memory.
    Bad example:
        a body Parameter 3 that an Add reads, and no entry with internal_layer_id="3"
    Good example:
        <input external_port_id="2" internal_layer_id="3"/>
    Fix:
        Map an input of the layer to the Parameter, or the iteration number
        (purpose="current_iteration") when that is what it should receive.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per Parameter of a loop body that is used but gets no value.

        A Parameter is used if a Result depends on it. It gets a value if an input entry or a back
        edge names it.
        """
        for wiring in context.wirings_with_body:
            body = wiring.body
            if not wiring.is_loop_op or body is None or wiring.section is None:
                continue
            taken = {item.entry.attributes.get("internal_layer_id") for item in wiring.inputs}
            # If an entry names a wrong layer, that entry is reported instead of its Parameter.
            if any(item.inner is None or item.inner.type != "Parameter" for item in wiring.inputs):
                continue
            for layer in body.parameters:
                if layer.id in taken or not body.is_used(layer) or self._has_edge(wiring, layer):
                    continue
                yield self.found(
                    at_layer(layer),
                    f"{describe(layer)} is used but gets no value",
                    expected=f'an input entry with internal_layer_id="{layer.id}"',
                    found="none",
                    cause="the entry was lost; the Parameter would read uninitialised memory",
                    fix=f"map an input of {wiring.owner.name} to it",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Offer to turn an integer Parameter that gets no value into the iteration number.

        An input entry of a Loop qualifies if it has neither an outer port nor a purpose. The repair
        gives it the purpose current_iteration. A Loop that already has an iteration number gets no
        repair.
        """
        for wiring in context.loops:
            body, section = wiring.body, wiring.section
            if body is None or section is None or not wiring.is_loop or wiring.iteration:
                continue
            for entry in wiring.inputs:
                inner = entry.inner
                if entry.external != -1 or entry.purpose or inner is None:
                    continue
                declared = context.parameter(inner)
                if declared.element not in (ElementType.I64, ElementType.I32):
                    continue
                place = at_entry(wiring.owner, section, entry.entry)
                edit = SetAttribute(place.element, "purpose", "current_iteration")
                yield self.repair(place, 'purpose="current_iteration" added', edit)

    @staticmethod
    def _has_edge(wiring: Wiring, layer: Layer) -> bool:
        """Return whether a back edge ends in the Parameter; IRL519 reports such a Parameter."""
        return any(target is layer for _, _, target in wiring.back_edges)
