"""IRL103: mandatory attribute is missing."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.edits import InsertBefore, SetAttribute
from irloop.formats.openvino.places import at_data, at_layer, describe
from irloop.validation.context import Context
from irloop.validation.declared import data_of_port
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class AttributeMissing(
    Rule,
    code="IRL103",
    severity=Severity.ERROR,
    title="mandatory attribute is missing",
    legacy=True,
):
    """A mandatory attribute is missing.

    What it does:
        Checks `id`, `name`, `type`, `version` of layers, `id` of ports, `precision` of output
        ports, the four ends of edges, both layers of back edges, `external_port_id` and
        `internal_layer_id` of port map entries, `shape` and `element_type` of Parameters, and the
        required attributes in the `data` of an operation.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file, usually without naming the line. A Parameter
        without `shape` is accepted and silently becomes a scalar; one without `element_type` has no
        type at all. OpenVINO fills in some attributes of operations (`mode` of DepthToSpace becomes
        blocks_first); if one of these is missing, the finding is a warning, and irloop uses the
        value that OpenVINO uses.
    Bad example:
        <layer id="3" name="sum" type="Add">
    Good example:
        <layer id="3" name="sum" type="Add" version="opset1">
    Fix:
        Add the attribute; every writer writes it, so an editor or a tool must have removed it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per missing attribute of an element."""
        for finding in context.schema_findings:
            if finding.code != self.code or finding.element is context.document.root:
                continue
            place = context.element_places.at(finding.element)
            yield self.from_problem(
                problems.missing_attribute(place, str(finding.element.tag), finding.attribute)
            )
        for index in () if context.is_legacy else context.nets:
            for layer in index.parameters:
                yield from self._parameter(layer)
        for problem in context.attribute_problems:
            if problem.code == self.code:
                yield self.from_problem(problem)

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Write the type and shape of a Parameter's port into its data."""
        for index in () if context.is_legacy else context.nets:
            for layer in index.parameters:
                told = data_of_port(layer)
                lacks = {name: text for name, text in told.items() if name not in layer.data}
                if not lacks:
                    continue
                words = " ".join(f'{name}="{text}"' for name, text in lacks.items())
                if layer.data_line is not None:
                    place = at_data(layer)
                    edits = [SetAttribute(place.element, *item) for item in lacks.items()]
                    was_scalar = "shape" in lacks
                    yield self.repair(
                        place,
                        f"{words} of its port added",
                        *edits,
                        effect="the input was read as a scalar" if was_scalar else "",
                    )
                    continue
                place = at_layer(layer)
                edit = InsertBefore(f"{place.element}/output", (f"<data {words}/>",))
                yield self.repair(place, f"data with {words} of its port added", edit)

    def _parameter(self, layer: Layer) -> Iterator[Diagnostic]:
        if layer.data_line is None:
            yield self.from_problem(problems.no_data(layer))
            return
        for name in ("shape", "element_type"):
            if name in layer.data:
                continue
            yield self.found(
                at_data(layer),
                f"{describe(layer)} has no {name}",
                expected=f"an attribute {name}",
                found="none",
                cause="OpenVINO would assume a scalar" if name == "shape" else "",
                fix=f"add {name} to its data",
            )
