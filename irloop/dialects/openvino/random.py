"""Random numbers of OpenVINO."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import shapes
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.inference import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, TensorType, ValueType

__all__ = ["RandomUniform"]


class RandomUniform(OpenVinoOp, type="RandomUniform", since=8, inputs=3):
    """Numbers from a low (included) to a high bound (excluded), by Philox (RandomUniform-8).

    Inputs: shape, low, high. With both seeds 0 they are other ones in each run.
    """

    output_type: ElementType
    op_seed: int = 0
    global_seed: int = 0
    alignment: str = "tensorflow"
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.alignment.lower() not in ("tensorflow", "pytorch"):
            raise args.error("alignment is not known", "tensorflow or pytorch", self.alignment)
        return [TensorType(self.output_type, shapes.shape_from(args, 0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.alignment.lower() != "tensorflow":
            raise NotImplementedError("RandomUniform with PyTorch's generator")
        dtype = self.output_type.numpy()
        return kernels.random.philox_uniform(dtype, self.global_seed, self.op_seed)
