"""Makes the problems of edges, with one wording for the reader and the validation rules.

A `Problem` describes an error in a file: the code of its rule, the place, a message and a fix. Each
function here makes the `Problem` for one kind of faulty edge. The reader raises it as an error, and
the validation rules report it as a finding.
"""

from __future__ import annotations

from irloop.diagnostics import Location
from irloop.formats.openvino.document import Edge, Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_edge, describe
from irloop.formats.openvino.problems import Problem


def edge_from_unknown(index: NetIndex, edge: Edge, cause: str = "") -> Problem:
    """IRL201: an edge starts from a layer that its net does not have."""
    return Problem(
        "IRL201",
        at_edge(index, edge),
        f"edge from layer {edge.from_layer}, which does not exist in this net",
        expected="the id of a layer of the same net",
        found=f"from-layer {edge.from_layer} to layer {edge.to_layer}",
        cause=cause,
        fix="name an existing layer or remove the edge",
    )


def edge_to_unknown(index: NetIndex, edge: Edge, cause: str = "") -> Problem:
    """IRL202: an edge ends in a layer that its net does not have."""
    return Problem(
        "IRL202",
        at_edge(index, edge),
        f"edge to layer {edge.to_layer}, which does not exist in this net",
        expected="the id of a layer of the same net",
        found=f"from layer {edge.from_layer} to-layer {edge.to_layer}",
        cause=cause,
        fix="name an existing layer or remove the edge",
    )


def unknown_output_port(index: NetIndex, edge: Edge, layer: Layer) -> Problem:
    """IRL203: an edge starts from a port that `layer` does not have."""
    if layer.type == "Result":
        return Problem(
            "IRL203",
            at_edge(index, edge),
            f"{describe(layer)} has no outputs that a layer could read",
            expected="an edge from the layer that the Result reads",
            found=f"an edge from layer {layer.id}",
            fix="correct from-layer, or the type of the layer",
        )
    return _unknown_port(at_edge(index, edge), layer, "output", edge.from_port)


def unknown_input_port(index: NetIndex, edge: Edge, layer: Layer) -> Problem:
    """IRL203: an edge ends in a port that `layer` does not have."""
    return _unknown_port(at_edge(index, edge), layer, "input", edge.to_port)


def _unknown_port(place: Location, layer: Layer, side: str, port: str | None) -> Problem:
    ports, other = layer.inputs, layer.outputs
    if side == "output":
        ports, other = other, ports
    swapped = any(item.id == port for item in other)
    return Problem(
        "IRL203",
        place,
        f"{describe(layer)} has no {side} port {port}",
        expected=f"one of {', '.join(str(item.id) for item in ports[:20]) or 'none'}",
        found=f"port {port}",
        cause=f"{port} is on the other side of the layer" if swapped else "",
        fix=f"use an {side} port of the layer",
    )


def input_connected_twice(index: NetIndex, edge: Edge, layer: Layer, first: Edge) -> Problem:
    """IRL206: an input port already has an edge."""
    return Problem(
        "IRL206",
        at_edge(index, edge),
        f"input port {edge.to_port} of {describe(layer)} already has an edge",
        expected="one edge",
        found=f"edges from layer {first.from_layer} (line {first.line}) "
        f"and layer {edge.from_layer}",
        fix="remove one of them or correct its to-port",
    )


def cycle(index: NetIndex, layers: list[str]) -> Problem:
    """IRL207: layers depend on themselves.

    `layers` holds the ids of the layers in a cycle, each followed by a layer that reads its output.
    """
    # Start at the layer that comes first in the file, wherever the search found the cycle.
    order = {key: number for number, key in enumerate(index.layers)}
    start = layers.index(min(layers, key=order.__getitem__))
    layers = [*layers[start:], *layers[:start]]
    names = [index.layers[item].name or item for item in layers]
    shown = [*names[:8], "..."] if len(names) > 8 else [*names, names[0]]
    edge = next(e for e in index.outgoing[layers[-1]] if e.to_layer == layers[0])
    return Problem(
        "IRL207",
        at_edge(index, edge),
        f"the edges form a cycle: {' -> '.join(shown)}",
        expected="layers that do not depend on themselves",
        found=f"a cycle of {len(layers)} layers",
        fix="cut the cycle, or write it as the back edge of a loop",
    )


def edge_into_source(index: NetIndex, edge: Edge, layer: Layer) -> Problem:
    """IRL208: an edge ends in a Parameter or Const."""
    return Problem(
        "IRL208",
        at_edge(index, edge),
        f"edge into {describe(layer)}, which has no inputs",
        expected="no edge",
        found=f"an edge from layer {edge.from_layer}",
        cause="both ends of the edge may be exchanged",
        fix="remove the edge or exchange its ends",
    )
