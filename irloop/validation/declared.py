"""Records of what a file declares: the types of ports, the outputs of each If, and constants.

The rules compare these declarations with the types and shapes that follow from the operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from irloop.diagnostics import Location
from irloop.formats.openvino import texts
from irloop.formats.openvino.document import Extra, Layer
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import at_bytes, describe_bytes
from irloop.formats.openvino.weights import element_count
from irloop.graph.types import ElementType, TensorType

__all__ = [
    "PACKED",
    "UNKNOWN",
    "BranchOutput",
    "Constant",
    "Declared",
    "constant_of",
    "constants_of_blobs",
    "contradictions",
    "data_of_port",
    "known_element",
]

#: The letters with which `struct` reads elements.
PACKED = {
    ElementType.I64: "q",
    ElementType.I32: "i",
    ElementType.I16: "h",
    ElementType.I8: "b",
    ElementType.U64: "Q",
    ElementType.U32: "I",
    ElementType.U16: "H",
    ElementType.U8: "B",
    ElementType.BOOLEAN: "B",
    ElementType.F32: "f",
    ElementType.F64: "d",
    ElementType.F16: "e",
}


class Declared(NamedTuple):
    """The element type and the dimensions of a value, as far as they are known.

    `element` is None if the element type is unknown, `dims` is None if the rank is unknown, and an
    entry of `dims` is None if this size is unknown.
    """

    element: ElementType | None
    dims: tuple[int | None, ...] | None

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    @property
    def elements(self) -> int | None:
        """The number of elements, or None if it is unknown."""
        total = 1
        for dim in self.dims if self.dims is not None else (None,):
            if dim is None:
                return None
            total *= dim
        return total

    def __str__(self) -> str:
        return f"{self.element or '?'}{texts.show_dims(self.dims)}"


UNKNOWN = Declared(None, None)


def data_of_port(layer: Layer) -> dict[str, str]:
    """The `element_type` and `shape` that the only output port of a layer declares.

    Empty if the port lacks its precision, or has dimensions that are no numbers.
    """
    port = layer.outputs[0] if len(layer.outputs) == 1 else None
    element = None if port is None else texts.element_of_precision(port.precision)
    if port is None or element is None:
        return {}
    shape = ",".join("?" if dim == "-1" else dim for dim in port.dims)
    readable = texts.parameter_shape(shape) is not None
    return {"element_type": str(element), "shape": shape} if readable else {}


class BranchOutput(NamedTuple):
    """One output of an If, and what each of the two branches declares for it.

    `place` is the location of the output's entry in the port map of the else branch.
    """

    layer: Layer
    place: Location
    then: Declared
    other: Declared


class Constant(NamedTuple):
    """The attributes of a Const layer, parsed; None where absent or malformed.

    `blob` is the element of a layer of versions 2 to 7 that names the bytes; these layers state no
    shape, so that the one here has as many elements as there are bytes for.
    """

    layer: Layer
    element: ElementType | None
    shape: tuple[int, ...] | None
    offset: int | None
    size: int | None
    blob: Extra | None = None

    @property
    def attributes(self) -> Mapping[str, str]:
        """The attributes of the element that names the bytes."""
        return self.layer.data if self.blob is None else self.blob.attributes

    def place(self, attribute: str = "") -> Location:
        """The location of the element that names the bytes, or of one of its attributes."""
        return at_bytes(self.layer, self.blob, attribute)

    def __str__(self) -> str:
        return describe_bytes(self.layer, self.blob)

    @property
    def elements(self) -> int | None:
        return None if self.shape is None else element_count(self.shape)

    @property
    def needed(self) -> int | None:
        """The number of bytes that the shape and the element type require.

        None means that the number is unknown, as for strings.
        """
        if self.shape is None or self.element is None or self.element.bits == 0:
            return None
        return _bytes_needed(self.element, self.shape)


@lru_cache(maxsize=4096)
def _bytes_needed(element: ElementType, shape: tuple[int, ...]) -> int:
    # The rules ask several times for the size of each constant, and many have the same shape.
    return element.nbytes(element_count(shape))


def contradictions(declared: Declared, inferred: TensorType) -> tuple[bool, bool]:
    """Return whether the dimensions contradict each other, and whether the element types differ.

    An unknown dimension or element type contradicts nothing.
    """
    known = (None, inferred.element)
    type_differs = inferred.element is not ElementType.DYNAMIC and declared.element not in known
    said, dims = declared.dims, inferred.shape.dims
    if said is None or dims is None:
        return False, type_differs
    if len(said) != len(dims):
        return True, type_differs
    pairs = zip(said, dims, strict=True)
    differ = any(isinstance(dim, int) and text not in (None, dim) for text, dim in pairs)
    return differ, type_differs


def known_element(element: ElementType | None) -> ElementType | None:
    """The element type, or None if it is `dynamic`."""
    return None if element is ElementType.DYNAMIC else element


def constants_of_blobs(layer: Layer, precision: str | None) -> Iterator[Constant]:
    """The constants of a layer of versions 2 to 7; `precision` is that of the net."""
    from irloop.formats.openvino.legacy.base import PRECISIONS

    given = layer.attributes.get("precision", precision or "")
    for blob in layer.blobs.values():
        element = PRECISIONS.get(blob.attributes.get("precision", given))
        offset, size = (unsigned(blob.attributes.get(name)) for name in ("offset", "size"))
        shape = None if element is None or size is None else (size * 8 // element.bits,)
        yield Constant(layer, element, shape, offset, size, blob)


def constant_of(layer: Layer) -> Constant:
    """Parse the attributes of a Const layer."""
    data = layer.data
    return Constant(
        layer,
        known_element(texts.element_of_name(data.get("element_type"))),
        texts.static_shape(data.get("shape")),
        unsigned(data.get("offset")),
        unsigned(data.get("size")),
    )
