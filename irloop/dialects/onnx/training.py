"""One step of an optimiser (domain ai.onnx.preview.training).

Inputs are the learning rate, the number of the step, then for each of the optimised tensors its
value, for each its gradient, and for each what the optimiser remembers; outputs are all new
values, then all new states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, TensorType, ValueType

__all__ = ["Adagrad", "Adam", "Momentum", "Optimizer"]


class Optimizer(OnnxOp, domain="ai.onnx.preview.training"):
    """`parts` inputs for each tensor: value, gradient and states."""

    parts: ClassVar[int] = 3

    def infer(self, args: Arguments) -> list[ValueType]:
        given = range(2, len(args))
        if len(given) % self.parts:
            raise args.error(
                "inputs do not make groups", f"2 and a multiple of {self.parts}", str(len(args))
            )
        inference.floating(args, 0, *given)
        if args.element(1) not in (ElementType.I64, ElementType.DYNAMIC):
            raise args.error("the number of the step is no i64", "i64", str(args.element(1)))
        size = len(given) // self.parts
        types: list[ValueType] = [self._tensor(args, given[at::size]) for at in range(size)]
        # The gradients are inputs only.
        return (types * (self.parts - 1))[: args.n_outputs]

    def _tensor(self, args: Arguments, positions: Sequence[int]) -> TensorType:
        """The type that a tensor, its gradient and its states have."""
        shape = args.shape(positions[0])
        for position in positions[1:]:
            refined = shape.refine(args.shape(position))
            if refined is None:
                found = f"{args.shape(position)} of input {position}"
                raise args.error("a gradient or a state has another shape", str(shape), found)
            shape = refined
        return TensorType(inference.same_element(args, *positions), shape)

    def _outputs(self, run: Kernel, count: int) -> Kernel:
        return run if count > 1 else lambda *inputs: run(*inputs)[0]


class Adagrad(Optimizer, type="Adagrad", since=1, inputs=(3, None), outputs=None):
    """Steps divided by the root of the sum of all squared gradients (Adagrad-1)."""

    decay_factor: float = 0.0
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.training.adagrad(
            decay=self.decay_factor, epsilon=self.epsilon, norm=self.norm_coefficient
        )
        return self._outputs(run, n_outputs)


class Adam(Optimizer, type="Adam", since=1, inputs=(3, None), outputs=None):
    """Steps along a mean of gradients, divided by the root of that of squares (Adam-1)."""

    parts: ClassVar[int] = 4

    alpha: float = 0.9
    beta: float = 0.999
    epsilon: float = 1e-6
    norm_coefficient: float = 0.0
    norm_coefficient_post: float = 0.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.training.adam(
            alpha=self.alpha,
            beta=self.beta,
            epsilon=self.epsilon,
            norm=self.norm_coefficient,
            shrink=self.norm_coefficient_post,
        )
        return self._outputs(run, n_outputs)


class Momentum(Optimizer, type="Momentum", since=1, inputs=(3, None), outputs=None):
    """Steps along a fading sum of gradients; `mode` standard or nesterov (Momentum-1)."""

    alpha: float
    beta: float
    mode: str
    norm_coefficient: float

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.mode not in ("standard", "nesterov"):
            raise args.error("mode is not known", "standard or nesterov", self.mode, kind="range")
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.training.momentum(
            alpha=self.alpha,
            beta=self.beta,
            norm=self.norm_coefficient,
            nesterov=self.mode == "nesterov",
        )
        return self._outputs(run, n_outputs)
