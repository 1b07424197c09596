"""Lets convolutions compute the activation that follows them, block by block.

Each block is activated while it is still in the cache; a separate activation would read and write
the whole result again. The step of the activation stays in the list of steps, but only returns its
operand. So the limits, the trace and the profile see the same steps as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.execution.program import Step
from irloop.graph.op import Kernel
from irloop.kernels.activation import gated, sigmoid
from irloop.kernels.blocks import block_step, over_step
from irloop.kernels.writers import activated

__all__ = ["with_activations"]

_SIGMOID = block_step(sigmoid)


def with_activations(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Merge each activation into the step before it, if nothing else reads that step's result.

    Steps are not removed: the step of the activation then returns its operand. The function of each
    changed step keeps the original function as its attribute `keeping`.
    """
    made = list(steps)
    readers: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        for slot in set(step.ins):
            readers.setdefault(slot, []).append(number)
    for number, step in enumerate(steps):
        if len(step.outs) != 1 or not hasattr(step.fn, "activated"):
            continue
        following = readers.get(step.outs[0], [])
        activation = _activation(step.outs[0], [steps[place] for place in following])
        if activation is None:
            continue
        made[number] = step._replace(fn=_Together(step.fn, activation))
        for place in following:
            made[place] = made[place]._replace(fn=_Done(steps[place].fn))
    return tuple(made)


def _activation(slot: int, readers: Sequence[Step]) -> Kernel | None:
    """Return the activation to merge into the step that writes `slot`, or None.

    `readers` are the steps that read the slot. They must be either one activation, or a sigmoid and
    a multiplication that together compute x * sigmoid(x). The slot must be free after the last of
    them.
    """
    if not readers or slot not in readers[-1].frees:
        return None
    if len(readers) == 1:
        (reader,) = readers
        return reader.fn if reader.ins == (slot,) and over_step(reader.fn) is not None else None
    if len(readers) > 2:
        return None
    gate, product = readers
    if gate.ins != (slot,) or block_step(gate.fn) is not _SIGMOID or product.fn is not np.multiply:
        return None
    is_gate = sorted(product.ins) == sorted((slot, *gate.outs)) and set(gate.outs) <= {
        *product.frees
    }
    return gated(product.fn, gate.fn) if is_gate else None


class _Together:
    """A kernel that also applies the activation that follows the operation.

    `keeping` is the original kernel, without the activation.
    """

    makes_new = True

    def __init__(self, keeping: Kernel, activation: Kernel) -> None:
        self.keeping = keeping
        made = activated(keeping, activation)
        assert made is not None
        self._function = made

    def __call__(self, *operands: Any) -> Any:
        return self._function(*operands)


class _Done:
    """Replaces the kernel of an activation that the preceding step has already computed.

    It returns its first operand, which is the result of the activation. `keeping` is the replaced
    kernel; it runs instead while a trace records the values.
    """

    makes_new = True

    def __init__(self, keeping: Kernel) -> None:
        self.keeping = keeping

    def __call__(self, x: Any, *_: Any) -> Any:
        return x
