"""Runs an operation of ONNX Runtime by the kernels of the standard operations it consists of.

The method `decompose` of the operation emits these standard operations one by one. Here each of
them is run on arrays as soon as it is emitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irloop import budget
from irloop.dialects.contrib.terms import ScanBody, Steps, Term, WriteOut
from irloop.graph.op import Kernel, Op
from irloop.graph.types import ElementType, element_type_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["OPSET", "kernel_of"]

#: The opset of the operations that kernels use. It has LayerNormalization, Gelu and the reductions
#: by input, and later opsets define all its operations in the same way.
OPSET = 21

#: Steps of the budget for calling a kernel.
A_CALL = 2


class ArraySteps(Steps):
    """Runs each operation immediately."""

    def apply(self, op: Op, inputs: Sequence[Term | None], n_outputs: int) -> list[Term]:
        from irloop.kernels.work import steps_of_values

        arrays = [None if term is None else term.value for term in inputs]
        if op.elementwise:
            _reserve_broadcast(arrays, op.label)
        made = op.kernel(n_outputs)(*arrays)
        results = made if isinstance(made, tuple) else (made,)
        budget.spend(A_CALL + int(steps_of_values(arrays, results)), op.label)
        return [Term(self, result) for result in results]

    def scan(
        self,
        body: ScanBody,
        states: Sequence[Term],
        elements: Sequence[Term],
        fixed: Sequence[Term],
        *,
        reverse: bool,
    ) -> tuple[list[Term], Term]:
        import numpy as np

        count = len(elements[0].value)
        slices, current = [], list(states)
        for at in reversed(range(count)) if reverse else range(count):
            parts = [Term(self, np.asarray(term.value[at])) for term in elements]
            following, output = body(self, current, parts, fixed)
            current = list(following)
            slices.append(output.value)
        if reverse:
            slices.reverse()
        first = states[0].value
        stacked = np.stack(slices) if slices else np.zeros((0, *first.shape), first.dtype)
        return current, Term(self, stacked)

    def constant(self, data: Any, element: ElementType) -> Term:
        import numpy as np

        return Term(self, np.asarray(data).astype(element.numpy()))

    def element_of(self, term: Term) -> ElementType:
        return element_type_of(term.value.dtype)

    def dims_of(self, term: Term) -> tuple[int | None, ...]:
        return tuple(term.value.shape)

    def constant_of(self, term: Term) -> Array | None:
        array: Array = term.value
        return array


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

        steps = ArraySteps(OPSET, n_outputs)
        terms = [None if array is None else Term(steps, np.asarray(array)) for array in arrays]
        made = write_out(steps, terms)
        results = tuple(None if term is None else term.value for term in made[:n_outputs])
        return results[0] if n_outputs == 1 else results

    return run
