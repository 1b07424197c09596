"""Runs an operation of ONNX Runtime by the kernels of the standard operations it consists of.

The method `decompose` of the operation emits these standard operations one by one. Here each of
them is run on arrays as soon as it is emitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from irloop import budget
from irloop.dialects.contrib.steps import ScanBody, Steps, WriteOut
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.model import Node, Value
from irloop.graph.op import Kernel, Op, Parameter
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType, Shape, TensorType, element_type_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["OPSET", "kernel_of"]

#: The opset of the operations that kernels use. It has LayerNormalization, Gelu and the reductions
#: by input, and later opsets define all its operations in the same way.
OPSET = 21

#: Steps of the budget for calling a kernel.
A_CALL = 2


class Held(Value):
    """A value that holds its array. It does not know its producer, so that the array is freed."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        super().__init__(_UNKNOWN, 0, _type_of(array.dtype, array.shape))
        self.array = array


@lru_cache(maxsize=1024)
def _type_of(dtype: np.dtype[Any], dims: tuple[int, ...]) -> TensorType:
    return TensorType(element_type_of(dtype), Shape(dims))


#: The producer of all values that hold arrays.
_UNKNOWN = Node(Parameter(), "")


def _array(value: Value) -> Array:
    assert isinstance(value, Held)
    return value.array


class ArraySteps(Steps):
    """Runs each operation immediately."""

    def __init__(self, n_outputs: int) -> None:
        self.n_outputs = n_outputs

    @property
    def opset(self) -> int:
        """The opset of the operations that kernels use."""
        return OPSET

    def emit(self, op: Op, *inputs: Value | None, n_outputs: int | None = None) -> Node:
        count = op.n_outputs if n_outputs is None else n_outputs
        assert count is not None, f"{op.label} needs n_outputs"
        node = Node(op, "")
        node.outputs = tuple(Held(array) for array in self._run(op, inputs, count))
        return node

    def __call__(self, op: Op, *inputs: Value | None) -> Value:
        return Held(self._run(op, inputs, 1)[0])

    def _run(self, op: Op, inputs: Sequence[Value | None], count: int) -> Sequence[Array]:
        from irloop.kernels.work import steps_of_values

        arrays = [None if value is None else _array(value) for value in inputs]
        if op.elementwise:
            _reserve_broadcast(arrays, op.label)
        made = op.kernel(count)(*arrays)
        results: Sequence[Array] = made if isinstance(made, tuple) else (made,)
        budget.spend(A_CALL + int(steps_of_values(arrays, results)), op.label)
        return results

    def tensor(self, tensor: Tensor, name: str = "") -> Value:
        return Held(tensor.numpy())

    def constant(self, data: Any, element: ElementType) -> Value:
        import numpy as np

        return Held(np.asarray(data).astype(element.numpy()))

    def i64(self, data: Any) -> Value:
        return self.constant(data, ElementType.I64)

    def constant_of(self, value: Value) -> Array | None:
        return _array(value)

    def computing_type(
        self, element: ElementType, *, small: int | None = 14, half: int | None = 14
    ) -> ElementType:
        """Choose `element`: kernels compute with every element type."""
        return element

    def scan(
        self,
        body: ScanBody,
        states: Sequence[Value],
        elements: Sequence[Value],
        fixed: Sequence[Value],
        *,
        reverse: bool,
    ) -> tuple[list[Value], Value]:
        import numpy as np

        arrays = [_array(value) for value in elements]
        count = len(arrays[0])
        slices, current = [], list(states)
        for at in reversed(range(count)) if reverse else range(count):
            parts = [Held(np.asarray(array[at])) for array in arrays]
            following, output = body(self, current, parts, fixed)
            current = list(following)
            slices.append(_array(output))
        if reverse:
            slices.reverse()
        first = _array(states[0])
        stacked = np.stack(slices) if slices else np.zeros((0, *first.shape), first.dtype)
        return current, Held(stacked)


def _reserve_broadcast(arrays: Sequence[Array | None], what: str) -> None:
    """Reserve memory for an elementwise operation; `what` names it in the error message.

    The memory is that of the result, and of a temporary array of the same size.
    """
    import numpy as np

    given = [array for array in arrays if array is not None]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in given))
    except ValueError:
        # The kernel itself reports shapes that cannot be broadcast.
        return
    widest = max(array.dtype.itemsize for array in given)
    budget.reserve(2 * math.prod(shape) * widest, what)


def kernel_of(write_out: WriteOut, n_outputs: int) -> Kernel:
    """Make a kernel that runs the decomposition of an operation on NumPy arrays.

    `write_out` builds this decomposition from the operands. The kernel returns its first
    `n_outputs` results: an array if there is one, else a tuple.
    """

    def run(*arrays: Any) -> Any:
        import numpy as np

        s = ArraySteps(n_outputs)
        values = [None if array is None else Held(np.asarray(array)) for array in arrays]
        try:
            made = write_out(s, values)
        except RefusedError as error:
            raise ValueError(error.reason) from error
        results = tuple(None if value is None else _array(value) for value in made[:n_outputs])
        return results[0] if n_outputs == 1 else results

    return run
