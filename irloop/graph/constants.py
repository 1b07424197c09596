"""Makes constants from numbers, strings or arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop.errors import UsageError
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType, element_named, element_type_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["elements", "tensor_of"]


def tensor_of(data: Any, element: str | ElementType | None = None) -> Tensor:
    """Return `data` as a constant; a `Tensor` itself.

    Raises:
        UsageError: when the data cannot be elements of this type.
    """
    return data if isinstance(data, Tensor) else ArrayTensor(*elements(data, element))


def elements(data: Any, element: str | ElementType | None) -> tuple[Array, ElementType]:
    """Convert `data` to an array; return the array and its element type.

    Raises:
        UsageError: when the data cannot be elements of this type.
    """
    import numpy as np

    try:
        array = np.asarray(data)
        wanted = _element_of_data(data, array) if element is None else element_named(element)
    except ValueError as error:
        raise UsageError(f"a constant cannot be made: {error}") from error
    if array.dtype.kind == "O" and wanted is not ElementType.STRING:
        raise UsageError(
            "a constant must be made of numbers, booleans or strings",
            expected="an array, or nested lists of equal lengths",
            found=f"{data!r:.60}",
        )
    return _as_element(array, wanted), wanted


def _element_of_data(data: Any, array: Array) -> ElementType:
    if array.dtype.kind == "f" and not hasattr(data, "dtype"):
        return ElementType.F32
    if array.dtype.kind == "O" and not all(isinstance(item, str) for item in array.flat):
        raise ValueError("it has elements that are neither numbers nor strings")
    return element_type_of(array.dtype)


def _as_element(array: Array, element: ElementType) -> Array:
    """Convert the array to an element type.

    Raises:
        UsageError: when the type cannot hold all numbers of the array.
    """
    import numpy as np

    if element is ElementType.DYNAMIC:
        raise UsageError("a constant needs a known element type", found=str(element))
    if element is ElementType.STRING:
        return array.astype(object)
    if array.dtype.kind in "US":
        raise UsageError(
            "a string is not a number", expected=str(element), found=f"{array.flat[0]!r:.60}"
        )
    with np.errstate(all="ignore"):
        made = array.astype(element.numpy())
        kept = (
            not element.is_integer
            or array.dtype.kind not in "biuf"
            or bool(np.all(made.astype(array.dtype) == array))
        )
    if not kept:
        raise UsageError(
            f"the numbers of a constant do not fit {element}", found=f"{array.reshape(-1)[:4]}"
        )
    return made
