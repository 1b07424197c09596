"""Changes one-element constants to scalars: trip counts and conditions of loops and branches."""

from __future__ import annotations

from irloop.formats.openvino.document import Layer, Port
from irloop.formats.openvino.edits import Edit, RemoveElement, SetAttribute
from irloop.formats.openvino.net_index import NetIndex
from irloop.validation.declared import constant_of

__all__ = ["as_scalar"]


def as_scalar(index: NetIndex, reader: Layer, position: int) -> tuple[Edit, ...]:
    """Return the edits that turn the one-element constant at an input of `reader` into a scalar.

    The result is empty if the input at `position` is not a constant of one element, or is a scalar
    already. It is also empty if the constant has another consumer, because the changed shape could
    change the result of that consumer.
    """
    source = index.source(reader, position)
    if source is None or source[0].type != "Const":
        return ()
    layer, port = source
    constant = constant_of(layer)
    readers = index.outgoing.get(layer.id or "", ())
    if constant.elements != 1 or not constant.shape or len(readers) != 1:
        return ()
    edits: list[Edit] = [SetAttribute(f"{layer.element_path}/data", "shape", "")]
    edits += _without_dims(layer, "output", port)
    return (*edits, *_without_dims(reader, "input", reader.inputs[position]))


def _without_dims(layer: Layer, side: str, port: Port) -> list[Edit]:
    place = f"{layer.element_path}/{side}/port[@id={port.id}]"
    return [RemoveElement(f"{place}/dim[{at}]") for at in range(1, len(port.dims) + 1)]
