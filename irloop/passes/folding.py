"""Computing what depends on constants only."""

from __future__ import annotations

import numpy as np

from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType, TensorType

__all__ = ["RESULT_LIMIT", "folded", "folded_outputs"]

#: Results of more bytes than this are not stored: the model would grow.
RESULT_LIMIT = 16 << 20


def folded(value: Value, limit: int = RESULT_LIMIT) -> Tensor | None:
    """What `value` is when it depends on constants only; None when it does not."""
    op = value.producer.op
    if isinstance(op, Constant):
        return op.tensor
    tensors = []
    for item in value.producer.inputs:
        tensor = None if item is None else folded(item, limit)
        if item is not None and tensor is None:
            return None
        tensors.append(tensor)
    outputs = folded_outputs(value.producer, tensors, limit)
    return None if outputs is None else outputs[value.index]


def folded_outputs(
    node: Node, inputs: list[Tensor | None], limit: int = RESULT_LIMIT
) -> list[Tensor] | None:
    """The outputs of `node` for these inputs (None where one is omitted).

    None for operations with a state or random numbers, for what no kernel computes, and for
    outputs of unknown shape or of more than `limit` bytes.
    """
    op = node.op
    if node.bodies or not inputs or not node.outputs or not op.pure or not op.can_run():
        return None
    if not all(_fits(value, limit) for value in node.outputs):
        return None
    if any(tensor is not None and tensor.element is ElementType.NF4 for tensor in inputs):
        # Held as codes, which a kernel alone would take for numbers.
        return None
    arrays = [None if tensor is None else tensor.numpy() for tensor in inputs]
    try:
        with np.errstate(all="ignore"):
            made = op.kernel(len(node.outputs))(*arrays)
    except Exception:  # a kernel that refuses leaves the node as it is; running reports it
        return None
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != len(node.outputs) or any(isinstance(item, list) for item in results):
        return None
    outputs: list[Tensor] = []
    for value, result in zip(node.outputs, results, strict=True):
        assert isinstance(value.type, TensorType)
        outputs.append(ArrayTensor(np.asarray(result), value.type.element))
    return outputs


def _fits(value: Value, limit: int) -> bool:
    if not isinstance(value.type, TensorType) or not value.type.element.bits:
        return False
    count = value.type.shape.count()
    return count is not None and value.type.element.nbytes(count) <= limit
