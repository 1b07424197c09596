"""Random numbers in OpenVINO."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, searches, shapes
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_SHAPE, ElementType, Shape, TensorType, ValueType

__all__ = ["Multinomial", "RandomUniform"]


class RandomUniform(OpenVinoOp, type="RandomUniform", since=8, inputs=3):
    """Uniform numbers from low (included) to high (excluded), by Philox (RandomUniform-8).

    Inputs: shape, low, high. If both seeds are 0, every run gives different numbers.
    """

    expands = True

    operands = "shape: i32 | i64, least: T, most: T -> T where T: number | f4e2m1"

    output_type: ElementType
    op_seed: int = 0
    global_seed: int = 0
    alignment: str = "tensorflow"
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.alignment.lower() not in ("tensorflow", "pytorch"):
            raise args.error(
                "alignment is not known", "tensorflow or pytorch", self.alignment, kind="range"
            )
        bounds = inference.same_element(args, 1, 2)
        if bounds not in (self.output_type, ElementType.DYNAMIC):
            expected = str(self.output_type)
            raise args.error(
                "the bounds have the wrong element type", expected, str(bounds), kind="elements"
            )
        return [TensorType(self.output_type, shapes.shape_from(args, 0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.alignment.lower() != "tensorflow":
            raise NotImplementedError("RandomUniform with PyTorch's generator")
        dtype = self.output_type.numpy()
        return kernels.random.philox_uniform(dtype, self.global_seed, self.op_seed)


class Multinomial(OpenVinoOp, type="Multinomial", since=13, inputs=2):
    """Classes sampled by weights or their logarithms (Multinomial-13).

    Inputs: [batch, classes] or [classes], and the number of samples per row. Without replacement no
    class is drawn twice. If both seeds are 0, every run gives different classes.
    """

    operands = "probabilities: float, samples: integer -> i32 | i64"
    shapes = "? ?, (1)"

    convert_type: ElementType = attribute(words=("i32", "i64"))
    with_replacement: bool = attribute(absent="false")
    log_probs: bool = attribute(absent="false")
    global_seed: int = 0
    op_seed: int = 0
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        if shape.rank not in (None, 1, 2):
            raise args.error("the input is not a batch of classes", "rank 1 or 2", str(shape))
        drawn = UNKNOWN_SHAPE
        if shape.dims is not None:
            drawn = Shape((*shape.dims[:-1], searches.counted(args, 1)))
        return [TensorType(self.convert_type, drawn)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.random.philox_multinomial(
            self.convert_type.numpy(),
            self.global_seed,
            self.op_seed,
            replace=self.with_replacement,
            logs=self.log_probs,
        )
