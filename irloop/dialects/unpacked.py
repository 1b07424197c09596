"""Constants converted to another element type, for example because a format lacks their own type.

The conversion happens when the constant is written: until then, 4-bit weights stay in their file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop import kernels
from irloop.graph.tensor import Tensor, pack
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["STAND_INS", "CodesTensor", "ConvertedTensor", "UnpackedTensor", "numbers_of_codes"]

#: For each narrow type, the closest type that every opset has and that represents all its values.
STAND_INS = {
    ElementType.BF16: ElementType.F32,
    ElementType.F8E4M3: ElementType.F16,
    ElementType.F8E5M2: ElementType.F16,
    ElementType.F8E4M3FNUZ: ElementType.F16,
    ElementType.F8E5M2FNUZ: ElementType.F16,
    ElementType.F8E8M0: ElementType.F32,
    ElementType.F4E2M1: ElementType.F16,
    ElementType.NF4: ElementType.F32,
    ElementType.I4: ElementType.I8,
    ElementType.I2: ElementType.I8,
    ElementType.U6: ElementType.U8,
    ElementType.U4: ElementType.U8,
    ElementType.U3: ElementType.U8,
    ElementType.U2: ElementType.U8,
    ElementType.U1: ElementType.U8,
}


class ConvertedTensor(Tensor):
    """The elements of another tensor in another element type; floats are rounded to nearest."""

    __slots__ = ("_source",)

    def __init__(self, source: Tensor, element: ElementType) -> None:
        self._source = source
        self.element = element
        self.shape = source.shape

    def raw(self) -> memoryview:
        return memoryview(pack(self.numpy(), self.element))

    def numpy(self) -> Array:
        import numpy as np

        with np.errstate(over="ignore"):
            return self._source.numpy().astype(self.element.numpy())


class CodesTensor(ConvertedTensor):
    """The bit patterns of the 4-bit floats in another tensor, as integers."""

    __slots__ = ()

    def numpy(self) -> Array:
        import numpy as np

        return self._source.numpy().view(np.uint8).astype(self.element.numpy())


class UnpackedTensor(ConvertedTensor):
    """The elements of another tensor in the replacement type from `STAND_INS`."""

    __slots__ = ()

    def __init__(self, source: Tensor) -> None:
        super().__init__(source, STAND_INS[source.element])

    def numpy(self) -> Array:
        import numpy as np

        elements = self._source.numpy()
        if self._source.element is ElementType.NF4:
            values: Array = kernels.convert.from_nf4(elements)
            return values
        if elements.dtype.itemsize == 1 and not self.element.is_float:
            return elements.astype(self.element.numpy())
        return elements.astype(np.float32).astype(self.element.numpy())


def numbers_of_codes(element: ElementType) -> Array:
    """The values of the bit patterns 0 to 15 of a 4-bit float type, in a wider type."""
    import numpy as np

    codes = np.arange(16, dtype=np.uint8)
    if element is ElementType.NF4:
        return kernels.convert.from_nf4(codes)
    return codes.view(element.numpy()).astype(STAND_INS[element].numpy())
