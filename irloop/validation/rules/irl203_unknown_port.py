"""IRL203: edge names a port that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_edge, describe
from irloop.formats.openvino.xml import Edge, Layer, Port
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnknownPort(
    Rule, code="IRL203", severity=Severity.ERROR, title="edge names a port that does not exist"
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
        Use a port id that the layer declares. Outputs are numbered behind the inputs.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding an edge and end."""
        for index in context.nets:
            layers = index.layers
            for edge in index.net.edges:
                source, target = layers.get(edge.from_layer or ""), layers.get(edge.to_layer or "")
                if source is not None and source.type == "Result":
                    yield self._of_result(index, edge, source)
                elif source is not None and not _has_port(source.outputs, edge.from_port):
                    yield self._unknown(index, edge, source, "output", edge.from_port)
                if target is None or _has_port(target.inputs, edge.to_port):
                    continue
                if target.type not in ("Parameter", "Const"):  # IRL208 says more
                    yield self._unknown(index, edge, target, "input", edge.to_port)

    def _of_result(self, index: NetIndex, edge: Edge, layer: Layer) -> Diagnostic:
        return self.found(
            at_edge(index, edge),
            f"{describe(layer)} has no outputs that a layer could read",
            expected="an edge from the layer that the Result reads",
            found=f"an edge from layer {layer.id}",
            fix="correct from-layer, or the type of the layer",
        )

    def _unknown(
        self, index: NetIndex, edge: Edge, layer: Layer, side: str, port: str | None
    ) -> Diagnostic:
        ports = layer.outputs if side == "output" else layer.inputs
        other = layer.inputs if side == "output" else layer.outputs
        swapped = any(item.id == port for item in other)
        return self.found(
            at_edge(index, edge),
            f"{describe(layer)} has no {side} port {port}",
            expected=f"one of {', '.join(str(item.id) for item in ports) or 'none'}",
            found=f"port {port}",
            cause=f"{port} is on the other side of the layer" if swapped else "",
            fix=f"use an {side} port of the layer",
        )


def _has_port(ports: list[Port], wanted: str | None) -> bool:
    for port in ports:  # noqa: SIM110 (a generator costs more than the loop, once an edge)
        if port.id == wanted:
            return True
    return False
