"""IRL203: edge names a port that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import edge_problems
from irloop.formats.openvino.document import Layer, Port
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnknownPort(
    Rule,
    code="IRL203",
    severity=Severity.ERROR,
    title="edge names a port that does not exist",
    legacy=True,
):
    """An edge names a port that its layer does not declare on that side.

    What it does:
        Looks up `from-port` among the output ports of the first layer and `to-port` among the
        input ports of the second.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file ("Can not find output port with id 9").
    Bad example:
        <edge from-layer="1" from-port="9" to-layer="2" to-port="0"/>
    Good example:
        <edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
    Fix:
        Use a port id that the layer declares. Outputs are numbered after the inputs.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each `from-port` and `to-port` of an edge that its layer does not declare."""
        for index in context.nets:
            layers = index.layers
            for edge in index.net.edges:
                source, target = layers.get(edge.from_layer or ""), layers.get(edge.to_layer or "")
                if source is not None and (
                    source.type == "Result" or not _gives(source, edge.from_port)
                ):
                    yield self.from_problem(edge_problems.unknown_output_port(index, edge, source))
                if target is None or _has_port(target.inputs, edge.to_port):
                    continue
                if not context.is_source(target):  # IRL208 reports edges into these
                    yield self.from_problem(edge_problems.unknown_input_port(index, edge, target))


def _gives(layer: Layer, wanted: str | None) -> bool:
    """Return whether `layer` has an output port with the id `wanted`.

    Of a Parameter or a Const, only the first output port is considered.
    """
    ports = layer.outputs
    return _has_port(ports[:1] if layer.type in ("Parameter", "Const") else ports, wanted)


def _has_port(ports: list[Port], wanted: str | None) -> bool:
    for port in ports:  # noqa: SIM110 (a generator costs more than the loop, once an edge)
        if port.id == wanted:
            return True
    return False
