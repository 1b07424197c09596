"""IRL524: loop that carries nothing from one iteration to the next."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.edits import AddElement
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_layer, describe
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class NothingCarried(
    Rule,
    code="IRL524",
    severity=Severity.WARNING,
    title="loop that carries nothing from one iteration to the next",
    requires=("IRL502", "IRL509", "IRL510", "IRL515", "IRL516", "IRL518", "IRL519"),
):
    """A loop has no states, but one of its outputs looks like the last value of a state.

    What it does:
        Looks at TensorIterators and Loops without a single effective back edge. If an output
        without an axis is computed from an invariant input, and has its element type and shape,
        that input was probably intended as the initial value of a state.
    Why is this bad:
        Without back edges every iteration starts from the same value, so all but the last are
        useless. OpenVINO 2026.4 and 2021.4 silently accept such a file, and the result is wrong.
    Bad example:
        <back_edges/> in a loop that sums up
    Good example:
        <back_edges><edge from-layer="6" to-layer="0"/></back_edges>
    Fix:
        Restore the back edge from the Result of the output to the Parameter of the input.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each loop without states that probably should have one.

        In such a loop, an output is computed from a body parameter that no back edge updates. Only
        the first such output of a loop is reported.
        """
        for wiring, result, state in self._missing(context):
            yield self.found(
                at_layer(wiring.owner, "back_edges"),
                f"{describe(wiring.owner)} passes no value on to its next iteration",
                expected=f'an edge from-layer="{result.id}" to-layer="{state.id}" in back_edges',
                found="no back edge" if not wiring.back_edges else "no effective back edge",
                cause=f"{result.name!r} is computed from {state.name!r}, which never changes",
                fix="restore the back edge",
            )

    def _missing(self, context: Context) -> Iterator[tuple[Wiring, Layer, Layer]]:
        """Yield each loop that probably lacks a back edge, with the ends of the missing edge.

        These are the Result of an output and the Parameter of the input from which that output is
        computed. The loop has no states. Only one missing edge per loop is found.
        """
        for wiring in context.loops:
            body = wiring.body
            if body is None or wiring.section is None or wiring.carried:
                continue
            for output in wiring.outputs:
                inner = output.inner
                if output.has_axis or inner is None or inner.type != "Result":
                    continue
                if (output.external or 0) < 0 or output.purpose:
                    continue
                state = self._state(context, wiring, body, inner)
                if state is not None:
                    yield wiring, inner, state
                    break

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Add the missing back edge from the Result to the Parameter that `check` names."""
        for wiring, result, state in self._missing(context):
            place = at_layer(wiring.owner, "back_edges")
            attributes = (("from-layer", result.id or ""), ("to-layer", state.id or ""))
            yield self.repair(
                place,
                f'<edge from-layer="{result.id}" to-layer="{state.id}"/> added to back_edges',
                AddElement(place.element, "edge", attributes),
                effect="the state is carried, so the outputs change",
            )

    @staticmethod
    def _state(context: Context, wiring: Wiring, body: NetIndex, result: Layer) -> Layer | None:
        """Find an invariant Parameter that should probably be a state updated by `result`.

        The Parameter has the type of `result`, and `result` is computed from it, but does not
        return it directly. None means that there is no such Parameter.
        """
        after = context.result(wiring, result)
        direct = body.source(result)
        for entry in wiring.inputs:
            inner = entry.inner
            if inner is None or inner.type != "Parameter" or entry.has_axis:
                continue
            if entry.position is None or (direct is not None and direct[0] is inner):
                continue
            if context.parameter(inner) != after or after.element is None or after.dims is None:
                continue
            if any(layer is inner for layer in body.upstream(result)):
                return inner
        return None
