"""Random numbers in ONNX; the specification does not define the generator."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = [
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
]


class _Random(OnnxOp):
    """Base of random operations, whose output is not a function of the inputs."""

    pure: ClassVar[bool] = False


class RandomNormal(_Random, type="RandomNormal", since=1, inputs=0):
    """Normally distributed numbers in a fixed shape (RandomNormal-1, 22)."""

    shape: tuple[int, ...]
    dtype: ElementType = ElementType.F32
    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(self.dtype, Shape(self.shape))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        dtype = self.dtype.numpy()
        return kernels.random.normal(self.shape, self.mean, self.scale, dtype, self.seed)


class RandomUniform(_Random, type="RandomUniform", since=1, inputs=0):
    """Uniformly distributed numbers in a fixed shape (RandomUniform-1, 22)."""

    expands = True

    shape: tuple[int, ...]
    dtype: ElementType = ElementType.F32
    high: float = 1.0
    low: float = 0.0
    seed: float | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(self.dtype, Shape(self.shape))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        dtype = self.dtype.numpy()
        return kernels.random.uniform(self.shape, self.low, self.high, dtype, self.seed)


class _Like(_Random):
    """Base of random operations whose output has the shape of the input.

    The elements have the type `dtype` or, if `dtype` is missing, the element type of the input.
    """

    dtype: ElementType | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        element = args.element(0) if self.dtype is None else self.dtype
        return [TensorType(element, args.shape(0))]


class RandomNormalLike(_Like, type="RandomNormalLike", since=1, inputs=1):
    """Normally distributed numbers in the shape of the input (RandomNormalLike-1, 22)."""

    mean: float = 0.0
    scale: float = 1.0
    seed: float | None = None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        dtype = None if self.dtype is None else self.dtype.numpy()
        return kernels.random.normal_like(self.mean, self.scale, dtype, self.seed)


class RandomUniformLike(_Like, type="RandomUniformLike", since=1, inputs=1):
    """Uniformly distributed numbers in the shape of the input (RandomUniformLike-1, 22)."""

    high: float = 1.0
    low: float = 0.0
    seed: float | None = None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        dtype = None if self.dtype is None else self.dtype.numpy()
        return kernels.random.uniform_like(self.low, self.high, dtype, self.seed)


class Bernoulli(_Like, type="Bernoulli", since=15, inputs=1):
    """1 with the probability given by the input, else 0 (Bernoulli-15, 22)."""

    expands = True

    seed: float | None = None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        dtype = None if self.dtype is None else self.dtype.numpy()
        return kernels.random.bernoulli(dtype, self.seed)


class Multinomial(_Random, type="Multinomial", since=7, inputs=1):
    """Samples classes by log-probabilities (Multinomial-7, 22).

    [batch, classes] -> [batch, samples].
    """

    dtype: ElementType = ElementType.I32
    sample_size: int = 1
    seed: float | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        if shape.rank not in (None, 2):
            raise args.error("the input is not a batch of classes", "rank 2", str(shape))
        return [TensorType(self.dtype, Shape((shape.dim(0), self.sample_size)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.random.multinomial(self.sample_size, self.dtype.numpy(), self.seed)
