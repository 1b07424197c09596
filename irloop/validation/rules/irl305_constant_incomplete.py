"""IRL305: constant without its four attributes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_data
from irloop.validation.context import Context
from irloop.validation.declared import data_of_port
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class ConstantIncomplete(
    Rule, code="IRL305", severity=Severity.ERROR, title="constant without its four attributes"
):
    """A constant lacks `element_type`, `shape`, `offset` or `size`, or its shape is dynamic.

    What it does:
        Checks the `data` of each Const.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file: without all four, the value is unknown.
    Bad example:
        <data element_type="f32" shape="?" offset="0" size="16"/>
    Good example:
        <data element_type="f32" shape="4" offset="0" size="16"/>
    Fix:
        Add the attribute; write the shape in numbers.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each mandatory attribute that a constant lacks.

        A constant with a dynamic shape gives one further finding.
        """
        for _, layer in context.layers("const"):
            if layer.type == "Const":
                yield from map(self.from_problem, problems.incomplete_constant(layer))

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Write the type and shape of a constant's port into its data."""
        for _, layer in context.layers("const"):
            told = data_of_port(layer)
            if layer.type != "Const" or layer.data_line is None or "?" in told.get("shape", "?"):
                continue
            place = at_data(layer)
            lacks = {name: text for name, text in told.items() if name not in layer.data}
            edits = [SetAttribute(place.element, *item) for item in lacks.items()]
            words = " ".join(f'{name}="{text}"' for name, text in lacks.items())
            if edits:
                yield self.repair(place, f"{words} of its port added", *edits)
