"""The weights of one layer of versions 2 to 7: named ranges of the .bin, without shapes."""

from __future__ import annotations

from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Extra, Layer
from irloop.formats.openvino.legacy.base import Dims, LayerFault, precision_of, product
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import at_bytes, at_data, at_layer
from irloop.formats.openvino.weights import Weights
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType

__all__ = ["Blobs", "range_of"]


class Blobs:
    """The blobs of one layer; `precision` is that of the layer."""

    def __init__(self, layer: Layer, weights: Weights, precision: str | None) -> None:
        self._layer = layer
        self._weights = weights
        self._precision = precision

    def has(self, tag: str) -> bool:
        """Return whether the layer has the blob `tag`."""
        return tag in self._layer.blobs

    def element(self, tag: str) -> ElementType:
        """The element type of a blob: its own precision (version 7), or that of the layer.

        Raises:
            LayerFault: when neither is known.
        """
        text = self._layer.blobs[tag].attributes.get("precision", self._precision)
        return precision_of(text, f"has {tag}")

    def tensor(self, tag: str, shape: Dims, element: ElementType | None = None) -> Tensor:
        """The blob `tag` as a window of the .bin.

        Raises:
            LayerFault: when the blob is missing, or has not the size that follows from the layer.
            ReadError: when the .bin cannot be read or does not have these bytes.
        """
        if tag not in self._layer.blobs:
            raise missing_blob(tag)
        return self.at(self._layer.blobs[tag], shape, element or self.element(tag))

    def at(self, blob: Extra, shape: Dims, element: ElementType) -> Tensor:
        """The bytes that the element `blob` names, as a tensor of this shape and type.

        Raises:
            LayerFault: when the blob has not the size that the tensor needs.
            ReadError: when the .bin cannot be read or does not have these bytes.
        """
        place = range_of(blob)
        needed = element.nbytes(product(shape))
        if place[1] != needed:
            raise wrong_size(blob, shape, element, place[1])
        return self._weights.tensor(self._layer, element, shape, place, blob)


def range_of(blob: Extra) -> tuple[int, int]:
    """The offset and the size of a blob.

    Raises:
        LayerFault: when one of them is missing or not a number.
    """
    attributes, tag = blob.attributes, blob.tag
    numbers = []
    for name in ("offset", "size"):
        text = attributes.get(name)
        number = unsigned(text)
        if number is None:
            code = "IRL103" if text is None else "IRL104"
            raise LayerFault(
                f"has {tag} without a valid {name}",
                code=code,
                expected="decimal digits",
                found="none" if text is None else repr(text),
                fix=f"write {name} in decimal digits",
                blob=blob,
            )
        numbers.append(number)
    return numbers[0], numbers[1]


def missing_blob(tag: str) -> LayerFault:
    """The fault of a layer that lacks a blob."""
    return LayerFault(
        f"has no {tag}",
        code="IRL305",
        expected=f"<{tag} offset=... size=.../> in its blobs",
        found="none",
        cause="the file was edited",
    )


def wrong_size(blob: Extra, shape: Dims, element: ElementType, size: int) -> LayerFault:
    """The fault of a blob that has not the size that follows from the layer."""
    needed = element.nbytes(product(shape))
    return LayerFault(
        f"has {blob.tag} of {size} bytes, but the layer needs {needed}",
        code="IRL303" if size < needed else "IRL304",
        expected=f"{element}{list(shape)}: {needed} bytes",
        found=f"{size} bytes",
        cause="the .xml and the .bin belong to different models, or the layer was edited",
        fix="use the .bin that was written together with this .xml",
        blob=blob,
    )


def placed(layer: Layer, fault: LayerFault) -> problems.Problem:
    """A fault as a problem at the layer."""
    place = at_layer(layer)
    if fault.blob is not None:
        place = at_bytes(layer, fault.blob)
    elif fault.attribute:
        place = at_data(layer, fault.attribute if fault.attribute in layer.data else "")
    return problems.Problem(
        fault.code,
        place,
        f"{layer.type} {layer.name!r} {fault.what}",
        fault.expected,
        fault.found,
        fault.cause,
        fault.fix,
    )
