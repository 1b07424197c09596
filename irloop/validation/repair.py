"""Makes a copy of a document without the errors at which the reader would stop.

A layer with an error becomes an unknown operation with its declared outputs; edges that lead
nowhere are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from irloop.formats.openvino.document import Document, Edge, Layer, Net, Port
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import unsigned
from irloop.validation.error_places import Errors

__all__ = ["repaired"]

#: A type that no opset has; the reader creates an unknown operation for it.
_UNKNOWN = "irloop.unknown"


def repaired(
    document: Document, root: NetIndex, by_net: Mapping[int, NetIndex], errors: Errors
) -> Document:
    """Copy a document without the errors at which the reader would stop.

    Layers with errors become unknown operations, and broken edges are dropped. `by_net` holds the
    indexes of all nets, keyed by the identity of the net.
    """
    return replace(document, net=_net(root, by_net, errors))


def _net(index: NetIndex, by_net: Mapping[int, NetIndex], errors: Errors) -> Net:
    net = index.net
    broken = {id(layer) for layer in net.layers if _is_broken(errors, layer)}
    cyclic = {key for cycle in index.cycles for key in cycle}
    edges: dict[tuple[str, str | None], Edge] = {}
    for edge in net.edges:
        target = index.layers.get(edge.to_layer or "")
        if target is None or target.id is None:
            continue
        key = target.id, edge.to_port
        is_port = any(port.id == edge.to_port for port in target.inputs)
        sound = is_port and index.source_of_edge(edge) is not None
        if not sound or key in edges or target.id in cyclic:
            broken.add(id(target))
        else:
            edges[key] = edge
    kept = []
    for layer in index.layers.values():
        if id(layer) not in broken:
            kept.append(_with_bodies(layer, by_net, errors))
            continue
        # A gap among the inputs is an error. It disappears here, because only connected inputs are
        # kept.
        inputs = [port for port in layer.inputs if (layer.id or "", port.id) in edges]
        if layer.type != "Result":
            kept.append(_unknown(layer, inputs))
        elif inputs:
            kept.append(replace(layer, inputs=inputs[:1]))
    ports = {(layer.id, port.id) for layer in kept for port in layer.inputs}
    return replace(net, layers=kept, edges=[edge for key, edge in edges.items() if key in ports])


def _is_broken(errors: Errors, layer: Layer) -> bool:
    if unsigned(layer.id) is None or layer.name is None or layer.type is None:
        return True
    if errors.at(layer.element_path):
        return True
    # Port maps refer to positions. If a Parameter or Result of a body has an error, these positions
    # are wrong, and so is the layer that owns the body.
    for net in layer.bodies.values():
        for inner in net.layers:
            if inner.type in ("Parameter", "Result") and errors.at(inner.element_path):
                return True
    return False


def _unknown(layer: Layer, inputs: list[Port]) -> Layer:
    return replace(
        layer,
        type=_UNKNOWN,
        version="none",
        data={},
        inputs=inputs,
        bodies={},
        port_maps={},
        back_edges=None,
    )


def _with_bodies(layer: Layer, by_net: Mapping[int, NetIndex], errors: Errors) -> Layer:
    if not layer.bodies:
        return layer
    bodies = {label: _net(by_net[id(net)], by_net, errors) for label, net in layer.bodies.items()}
    return replace(layer, bodies=bodies)
