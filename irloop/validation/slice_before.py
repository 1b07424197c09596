"""Repairs a loop whose sliced input uses only a part of its axis.

A StridedSlice before the loop selects this part, and the loop then slices the whole axis. The
bounds of the StridedSlice are constants, whose bytes are appended to the .bin.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from irloop.formats.openvino.edits import Edit, InsertBefore, SetAttribute, SetText, escaped
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import at_edge, at_entry, at_port
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.validation import loop_ranges
from irloop.validation.context import Context

__all__ = ["slice_before"]

#: The bytes of an appended constant begin at a multiple of this.
ALIGNMENT = 8


def slice_before(
    context: Context, wiring: Wiring, entry: Entry
) -> tuple[tuple[Edit, ...], bytes] | None:
    """Repair a sliced input that uses only a part of its axis: slice the input before the loop.

    Returns the edits of the file and the bytes to append to the .bin, or None if the repair is
    impossible.

    Args:
        context: the model.
        wiring: the port map of a TensorIterator.
        entry: one of its sliced inputs, whose valid range covers only a part of the axis.
    """
    owner, net, place = wiring.owner, wiring.outer, entry.position
    size = loop_ranges.axis_size(context, wiring, entry)
    if size is None or place is None or entry.axis is None or context.weights.disguise is not None:
        return None
    port = owner.inputs[place]
    source = net.source_of_port(owner, port)
    edge = next((item for item in net.edges_into(owner) if item.to_port == port.id), None)
    is_shared = sum(item.position == place for item in wiring.inputs) > 1
    if source is None or edge is None or is_shared or not port.dims or not source[1].precision:
        return None
    axis, used = entry.axis % len(port.dims), context.weights.size or 0
    low, high = loop_ranges.bounds(entry, size)
    vectors = ([0] * axis + [low], [0] * axis + [high], [1] * (axis + 1))
    data = b"".join(struct.pack(f"<{axis + 1}q", *vector) for vector in vectors)
    padding = bytes(-used % ALIGNMENT)
    last = max((unsigned(name) or 0 for name in net.layers), default=0)
    ids = [str(last + at) for at in range(1, 5)]
    names = _new_names(net, owner.name or "loop", ("begin", "end", "strides", "range"))
    dims = (*port.dims[:axis], str(high - low), *port.dims[axis + 1 :])
    length = len(data) // 3
    layers = [
        line
        for at in range(3)
        for line in _constant(ids[at], names[at], used + len(padding) + at * length, axis + 1)
    ]
    layers += _strided_slice(ids[3], names[3], source[1].precision, port.dims, dims, axis)
    line = '<edge from-layer="{}" from-port="{}" to-layer="{}" to-port="{}"/>'
    edges = [line.format(*map(escaped, (edge.from_layer or "", edge.from_port or "", ids[3], "0")))]
    edges += [line.format(ids[at], "0", ids[3], at + 1) for at in range(3)]
    assert wiring.section is not None
    element = at_entry(owner, wiring.section, entry.entry).element or ""
    wire = at_edge(net, edge).element or ""
    start, end = ("-1", "0") if entry.reverse else ("0", "-1")
    edits = (
        InsertBefore(owner.element_path, tuple(layers)),
        InsertBefore(wire, tuple(edges)),
        SetAttribute(wire, "from-layer", ids[3]),
        SetAttribute(wire, "from-port", "4"),
        SetText(f"{at_port(owner, port).element}/dim[{axis + 1}]", str(high - low)),
        SetAttribute(element, "start", start),
        SetAttribute(element, "end", end),
    )
    return edits, padding + data


def _new_names(net: NetIndex, stem: str, endings: Sequence[str]) -> list[str]:
    """Return a new layer name for each of `endings`.

    A name is the stem followed by the ending, changed if necessary so that it is unique in the net.
    """
    taken = {layer.name for layer in net.net.layers}
    number = 0
    while True:
        tail = f"_{number}" if number else ""
        names = [f"{stem}/{ending}{tail}" for ending in endings]
        if taken.isdisjoint(names):
            return names
        number += 1


def _constant(name: str, title: str, offset: int, length: int) -> Iterator[str]:
    """Yield the XML lines of a Const layer that holds a vector of i64.

    `name` is the id of the layer, `title` its name. The vector has `length` elements and starts at
    byte `offset` of the .bin file.
    """
    yield f'<layer id="{name}" name="{escaped(title)}" type="Const" version="opset1">'
    shape = f'element_type="i64" shape="{length}" offset="{offset}" size="{8 * length}"'
    yield f"\t<data {shape}/>"
    yield "\t<output>"
    yield _port(0, "I64", (str(length),))
    yield "\t</output>"
    yield "</layer>"


def _strided_slice(
    name: str,
    title: str,
    precision: str,
    before: Sequence[str],
    after: Sequence[str],
    axis: int,
) -> Iterator[str]:
    """Yield the XML lines of a StridedSlice layer that slices data along `axis` only.

    The layer has ports for the data and for the constants begin, end and strides; their elements
    are not part of these lines.

    Args:
        name: the id of the layer.
        title: the name of the layer.
        precision: the element type of the data, as written in the file.
        before: the dimensions of the data.
        after: the dimensions of the result.
        axis: the axis that is sliced; all other axes are kept whole.
    """
    yield f'<layer id="{name}" name="{escaped(title)}" type="StridedSlice" version="opset1">'
    mask = ",".join(["1"] * axis + ["0"])
    yield f'\t<data begin_mask="{mask}" end_mask="{mask}"/>'
    yield "\t<input>"
    yield _port(0, precision, before)
    for number in (1, 2, 3):
        yield _port(number, "I64", (str(axis + 1),))
    yield "\t</input>"
    yield "\t<output>"
    yield _port(4, precision, after)
    yield "\t</output>"
    yield "</layer>"


def _port(number: int, precision: str, dims: Sequence[str]) -> str:
    inner = "".join(f"<dim>{escaped(dim)}</dim>" for dim in dims)
    return f'\t\t<port id="{number}" precision="{escaped(precision)}">{inner}</port>'
