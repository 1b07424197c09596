"""A copy of a document in which nothing is broken that the reader would stop at.

A layer with an error becomes an operation nobody knows, with the outputs it declares and
without inputs; edges that lead nowhere are left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.formats.openvino.xml import Document, Layer, Net
from irloop.validation.index import NetIndex

if TYPE_CHECKING:
    from irloop.validation.context import Context

__all__ = ["repaired"]

#: No opset has it, so the reader makes an unknown operation of it.
_UNKNOWN = "irloop.unknown"


def repaired(context: Context) -> Document:
    """The document without its broken parts; the original is not changed."""
    return replace(context.document, net=_net(context, context.root))


def _net(context: Context, index: NetIndex) -> Net:
    net = index.net
    broken = {id(layer) for layer in net.layers if _is_broken(context, index, layer)}
    broken |= {id(index.layers[key]) for cycle in index.cycles for key in cycle}
    edges = []
    for edge in net.edges:
        target = index.layers.get(edge.to_layer or "")
        if target is None:
            continue
        if index.source_of_edge(edge) is None or edge.to_port not in _ids(target):
            broken.add(id(target))
        elif id(target) not in broken:
            edges.append(edge)
    kept = []
    for layer in index.layers.values():
        if id(layer) not in broken:
            kept.append(_with_bodies(context, layer))
        elif layer.type != "Result":
            kept.append(_unknown(layer))
    names = {layer.id for layer in kept if layer.type != _UNKNOWN}
    return replace(net, layers=kept, edges=[edge for edge in edges if edge.to_layer in names])


def _is_broken(context: Context, index: NetIndex, layer: Layer) -> bool:
    if layer.id is None or not layer.id.isdecimal() or layer.name is None or layer.type is None:
        return True
    if context.errors.at(layer.element_path):
        return True
    # Wires count by position: a body that lost a Parameter or a Result breaks its owner.
    for net in layer.bodies.values():
        for inner in net.layers:
            if inner.type in ("Parameter", "Result") and context.errors.at(inner.element_path):
                return True
    return False


def _ids(layer: Layer) -> set[str | None]:
    return {port.id for port in layer.inputs}


def _unknown(layer: Layer) -> Layer:
    return replace(
        layer,
        type=_UNKNOWN,
        version="none",
        data={},
        inputs=[],
        bodies={},
        port_maps={},
        back_edges=None,
    )


def _with_bodies(context: Context, layer: Layer) -> Layer:
    if not layer.bodies:
        return layer
    bodies = {label: _net(context, context.by_net[id(net)]) for label, net in layer.bodies.items()}
    return replace(layer, bodies=bodies)
