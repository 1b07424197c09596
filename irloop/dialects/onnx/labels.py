"""Mapping between class labels and numbers (domain ai.onnx.ml)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop import kernels
from irloop.dialects.onnx.features import MlOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.labels import Array

__all__ = ["CategoryMapper", "LabelEncoder1", "LabelEncoder2", "LabelEncoder4"]

#: Strings are mapped to i64, and i64 to strings.
_OTHER = {ElementType.STRING: ElementType.I64, ElementType.I64: ElementType.STRING}


class _TwoWays(MlOp):
    """Base of operations that translate strings to i64 and back.

    The type of the input decides the direction.
    """

    default_int64: int = -1
    default_string: str = "_Unused"

    def pairs(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The strings, and the numbers they are mapped to."""
        raise NotImplementedError(self.label)

    def infer(self, args: Arguments) -> list[ValueType]:
        strings, numbers = self.pairs()
        if len(strings) != len(numbers):
            raise args.error("lists differ in length", str(len(strings)), str(len(numbers)))
        element = args.element(0)
        if element is ElementType.DYNAMIC:
            return [TensorType(element, args.shape(0))]
        if element not in _OTHER:
            raise args.error("input is not a label", "string or i64", str(element))
        return [TensorType(_OTHER[element], args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        strings, numbers = self.pairs()
        return kernels.labels.two_ways(strings, numbers, self.default_string, self.default_int64)


class LabelEncoder1(_TwoWays, type="LabelEncoder", since=1, inputs=1):
    """Maps strings to their positions in a list, or positions to strings (LabelEncoder-1)."""

    cost = "linear"

    classes_strings: tuple[str, ...] = ()

    def pairs(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        return self.classes_strings, tuple(range(len(self.classes_strings)))


class CategoryMapper(_TwoWays, type="CategoryMapper", since=1, inputs=1):
    """Maps strings to numbers or numbers to strings (CategoryMapper-1).

    A string and its number are at the same position in two lists.
    """

    cats_int64s: tuple[int, ...] = ()
    cats_strings: tuple[str, ...] = ()

    def pairs(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        return self.cats_strings, self.cats_int64s


class LabelEncoder2(MlOp, type="LabelEncoder", since=2, inputs=1):
    """Maps keys to values by two lists, with attributes for each element type (LabelEncoder-2)."""

    cost = "linear"

    default_float: float = -0.0
    default_int64: int = -1
    default_string: str = "_Unused"
    keys_floats: tuple[float, ...] = ()
    keys_int64s: tuple[int, ...] = ()
    keys_strings: tuple[str, ...] = ()
    values_floats: tuple[float, ...] = ()
    values_int64s: tuple[int, ...] = ()
    values_strings: tuple[str, ...] = ()

    def keys(self) -> tuple[ElementType, Any]:
        """Element type and elements of the keys."""
        if self.keys_strings:
            return ElementType.STRING, self.keys_strings
        if self.keys_int64s:
            return ElementType.I64, self.keys_int64s
        return ElementType.F32, self.keys_floats

    def values(self) -> tuple[ElementType, Any, Any]:
        """Element type and elements of the values, and the default for unknown keys."""
        if self.values_strings:
            return ElementType.STRING, self.values_strings, self.default_string
        if self.values_int64s:
            return ElementType.I64, self.values_int64s, self.default_int64
        return ElementType.F32, self.values_floats, self.default_float

    def infer(self, args: Arguments) -> list[ValueType]:
        kind, keys = self.keys()
        element, values, _ = self.values()
        counts = [item.count if isinstance(item, Tensor) else len(item) for item in (keys, values)]
        if counts[0] != counts[1]:
            raise args.error("there must be as many values as keys", str(counts[0]), str(counts[1]))
        if args.element(0) not in (kind, ElementType.DYNAMIC):
            raise args.error(
                "input is not of the type of the keys", str(kind), str(args.element(0))
            )
        return [TensorType(element, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.features.lookup(*self.table())

    def table(self) -> tuple[Array, Array, Any]:
        """Keys and values as arrays, and the default for unknown keys."""
        keys, (_, values, default) = self.keys()[1], self.values()
        if isinstance(default, Tensor):
            default = default.numpy().reshape(-1)[0]
        return _flat(keys), _flat(values), default


def _flat(items: Any) -> Array:
    """Return the keys or values of an attribute as a vector, whether it is a list or a tensor."""
    return (
        items.numpy().reshape(-1) if isinstance(items, Tensor) else kernels.labels.array_of(items)
    )


class LabelEncoder4(LabelEncoder2, type="LabelEncoder", since=4, inputs=1):
    """Maps keys to values, which can be lists as in LabelEncoder-2, or tensors (LabelEncoder-4).

    Tensors allow more element types than the lists. If a key occurs several times, its last value
    counts.
    """

    default_tensor: Tensor | None = None
    keys_tensor: Tensor | None = None
    values_tensor: Tensor | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        default = self.default_tensor
        if default is not None and default.shape != (1,):
            found = str(list(default.shape))
            raise args.error("default_tensor has the wrong shape", "[1]", found)
        return super().infer(args)

    def keys(self) -> tuple[ElementType, Any]:
        if self.keys_tensor is None:
            return super().keys()
        return self.keys_tensor.element, self.keys_tensor

    def values(self) -> tuple[ElementType, Any, Any]:
        element, values, default = super().values()
        if self.values_tensor is not None:
            element, values = self.values_tensor.element, self.values_tensor
            numbers = self.default_float if element.is_float else self.default_int64
            default = self.default_string if element is ElementType.STRING else numbers
        return element, values, default if self.default_tensor is None else self.default_tensor
