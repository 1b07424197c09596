"""Features for classical machine learning (domain ai.onnx.ml)."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    UNKNOWN_TYPE,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
)

__all__ = [
    "ArrayFeatureExtractor",
    "Binarizer",
    "FeatureVectorizer",
    "Imputer",
    "MlOp",
    "Normalizer",
    "OneHotEncoder",
    "Scaler",
    "ZipMap",
]

F32 = ElementType.F32


class MlOp(OnnxOp, domain="ai.onnx.ml"):
    """An operation of classical machine learning."""


class ZipMap(MlOp, type="ZipMap", since=1, inputs=1):
    """Converts rows of numbers [N, C] to a list of maps from class to number (ZipMap-1).

    irloop has no map type, so it represents the list by the rows themselves: one column per class,
    in the order of the class labels.
    """

    classlabels_int64s: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[int, ...] | tuple[str, ...]:
        """The class of each column."""
        return self.classlabels_strings or self.classlabels_int64s

    def infer(self, args: Arguments) -> list[ValueType]:
        columns = args.shape(0).dim(-1)
        if isinstance(columns, int) and args.rank(0) == 2 and columns != len(self.labels):
            expected = f"{len(self.labels)} columns"
            raise args.error("there must be one column per class", expected, str(columns))
        # The file declares maps, and irloop has no type for them.
        return [UNKNOWN_TYPE]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.identity


class ArrayFeatureExtractor(MlOp, type="ArrayFeatureExtractor", since=1, inputs=2):
    """Selects columns of data [..., C] (ArrayFeatureExtractor-1).

    Input 1 holds the indices of the columns. For a vector [C], the result is a matrix with one row.
    """

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.element(1) not in (ElementType.I64, ElementType.DYNAMIC):
            raise args.error("the columns are not i64", "i64", str(args.element(1)))
        dims, count = args.shape(0).dims, args.shape(1).count()
        if dims is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        if not dims:
            raise args.error("data has no columns", "[..., C]", str(args.shape(0)))
        wanted: Dim = UNKNOWN_DIM if count is None else count
        rows = (1,) if len(dims) == 1 else dims[:-1]
        return [TensorType(args.element(0), Shape((*rows, wanted)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.features.extract


class Binarizer(MlOp, type="Binarizer", since=1, inputs=1):
    """1 where an element is greater than a threshold, 0 elsewhere (Binarizer-1)."""

    cost = "linear"

    threshold: float = 0.0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.features.binarizer(self.threshold)


def _fitting(args: Arguments, name: str, count: int) -> None:
    """Check that an attribute has one entry, or one per column of the input.

    `name` is the name of the attribute, `count` the number of its entries.

    Raises:
        InferenceError: when the attribute has the wrong number of entries.
    """
    dims = args.shape(0).dims
    columns = dims[-1] if dims else UNKNOWN_DIM
    if count == 0 or (count > 1 and isinstance(columns, int) and columns != count):
        raise args.error(
            f"{name} must have one entry, or one per column", f"1 or {columns}", str(count)
        )


class Imputer(MlOp, type="Imputer", since=1, inputs=1):
    """Replaces elements equal to one value, which may be NaN, by imputed values (Imputer-1).

    There is one imputed value for the tensor, or one for each column. The float attributes apply to
    floats, the integer attributes to integers.
    """

    imputed_value_floats: tuple[float, ...] = ()
    imputed_value_int64s: tuple[int, ...] = ()
    replaced_value_float: float = 0.0
    replaced_value_int64: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        element = args.element(0)
        if element is not ElementType.DYNAMIC:
            floats = element.is_float
            values = self.imputed_value_floats if floats else self.imputed_value_int64s
            name = "imputed_value_floats" if floats else "imputed_value_int64s"
            _fitting(args, name, len(values))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.imputed_value_floats:
            return kernels.features.imputer(self.replaced_value_float, self.imputed_value_floats)
        return kernels.features.imputer(self.replaced_value_int64, self.imputed_value_int64s)


class Normalizer(MlOp, type="Normalizer", since=1, inputs=1):
    """Divides rows by their largest absolute value, L1 or L2 norm, as f32 (Normalizer-1).

    MAX uses the absolute value, as ONNX Runtime and the reference implementation do.
    """

    norm: str = "MAX"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        if self.norm not in ("MAX", "L1", "L2"):
            raise args.error("norm is not known", "MAX, L1 or L2", self.norm, kind="range")
        if args.rank(0) not in (None, 1, 2):
            raise args.error("data has the wrong rank", "[C] or [N, C]", str(args.shape(0)))
        return [TensorType(F32, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.features.normalizer(self.norm)


class Scaler(MlOp, type="Scaler", since=1, inputs=1):
    """(x - offset) * scale as f32 (Scaler-1).

    `offset` and `scale` each have one entry for all columns, or one per column.
    """

    offset: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        _fitting(args, "offset", len(self.offset))
        _fitting(args, "scale", len(self.scale))
        return [TensorType(F32, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.features.scaler(self.offset, self.scale)


class FeatureVectorizer(MlOp, type="FeatureVectorizer", since=1, inputs=(1, None)):
    """Concatenates inputs as f32, each cut or zero-padded to its width (FeatureVectorizer-1)."""

    inputdimensions: tuple[int, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        if len(self.inputdimensions) != len(args):
            raise args.error(
                "inputdimensions must have one entry per input",
                str(len(args)),
                str(len(self.inputdimensions)),
            )
        dims = args.shape(0).dims
        rows: Dim = UNKNOWN_DIM
        if dims is not None:
            rows = dims[0] if len(dims) > 1 else 1
        return [TensorType(F32, Shape((rows, sum(self.inputdimensions))))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.features.joiner(self.inputdimensions)


class OneHotEncoder(MlOp, type="OneHotEncoder", since=1, inputs=1):
    """One-hot encoding: a new last axis with 1 at the category of each element (OneHotEncoder-1).

    With `zeros` 0, an element that is in no category is an error at run time.
    """

    cats_int64s: tuple[int, ...] = ()
    cats_strings: tuple[str, ...] = ()
    zeros: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        if bool(self.cats_int64s) == bool(self.cats_strings):
            raise args.error("one of cats_int64s and cats_strings is needed")
        if self.cats_strings:
            inference.strings(args)
        else:
            inference.numeric(args)
        dims, count = args.shape(0).dims, len(self.cats_int64s or self.cats_strings)
        return [TensorType(F32, UNKNOWN_SHAPE if dims is None else Shape((*dims, count)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        categories = kernels.labels.array_of(self.cats_strings or self.cats_int64s)
        return kernels.features.one_hot(categories, strict=self.zeros == 0)
