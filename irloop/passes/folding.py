"""Computes values that depend on constants only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import ml_dtypes
import numpy as np

from irloop import budget
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.cost import bytes_to_fold
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType, TensorType

__all__ = ["RESULT_LIMIT", "folded", "folded_outputs"]

Array = np.ndarray[Any, np.dtype[Any]]

_HALF = frozenset({ElementType.F16, ElementType.BF16})

#: Results of more bytes than this are not stored, because the model would grow.
RESULT_LIMIT = 16 << 20

#: Computing one result may take at most this many bytes, including inputs and temporaries.
MOST_BYTES = 1 << 30

#: All folded results of one conversion may exceed their operands by at most this many bytes.
KEPT_LIMIT = 256 << 20


def folded(value: Value, limit: int = RESULT_LIMIT) -> Tensor | None:
    """Return the constant that equals `value`, if `value` depends on constants only.

    The result is None for any other value, and for one that is not folded (see `folded_outputs`).
    """
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
    """Compute the outputs of `node` for constant inputs; an omitted input is None.

    The result is None if the operation has bodies, a state, random numbers or no kernel, if an
    output has an unknown shape or more than `limit` bytes, or if folding takes too long. It is also
    None if all folded constants would need too much memory, or if a constant could not hold the
    result exactly.
    """
    op = node.op
    if node.bodies or not inputs or not node.outputs or not op.pure or not op.can_run():
        return None
    if not all(_fits(value, limit) for value in node.outputs):
        return None
    if any(tensor is not None and tensor.element is ElementType.NF4 for tensor in inputs):
        # Elements of nf4 are 4-bit codes, which a kernel would treat as numbers.
        return None
    cost = bytes_to_fold(node, [None if tensor is None else tensor.type for tensor in inputs])
    if cost is None or cost > MOST_BYTES:
        return None
    kept = sum(_nbytes(value) for value in node.outputs)
    read = sum(tensor.nbytes for tensor in inputs if tensor is not None)
    work = budget.current()
    # Results of nodes without inputs count, too, because a small file may contain thousands of
    # nodes with large results.
    if work.folded + max(kept - read, 0) > KEPT_LIMIT:
        return None
    work.folded += max(kept - read, 0)
    arrays = [None if tensor is None else tensor.numpy() for tensor in inputs]
    results = _computed(op, arrays, len(node.outputs))
    if results is None or not _keeps_numbers(node, arrays, results):
        return None
    outputs: list[Tensor] = []
    for value, result in zip(node.outputs, results, strict=True):
        assert isinstance(value.type, TensorType)
        outputs.append(ArrayTensor(np.asarray(result), value.type.element))
    return outputs


def _computed(op: Op, arrays: Sequence[Array | None], count: int) -> tuple[Any, ...] | None:
    try:
        with np.errstate(all="ignore"):
            made = op.kernel_of_constants(count)(*arrays)
    except (
        Exception
    ):  # if a kernel fails, the node stays unchanged, and running it reports the error
        return None
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != count or any(isinstance(item, list) for item in results):
        return None
    return results


def _keeps_numbers(node: Node, arrays: Sequence[Array | None], results: tuple[Any, ...]) -> bool:
    """Return whether constants that hold `results` can replace a node without changing a value.

    `arrays` are the inputs of the node; an omitted input is None. Only half-precision outputs in an
    IR are at risk: OpenVINO computes them in single precision and does not round them inside the
    model, whereas a constant is rounded. For such outputs, the node is computed in single
    precision, too, and the result is True if this gives the same numbers.
    """
    elements = [value.type.element for value in node.outputs if isinstance(value.type, TensorType)]
    if not isinstance(node.op, OpenVinoOp) or not _HALF.intersection(elements):
        return True
    attributes: Any = node.op
    halves = [item.name for item in fields(attributes) if getattr(attributes, item.name) in _HALF]
    op = replace(attributes, **dict.fromkeys(halves, ElementType.F32))
    wide = _computed(op, [_widened(array) for array in arrays], len(node.outputs))
    return wide is not None and all(
        np.array_equal(_widened(one), _widened(other), equal_nan=one.dtype.kind == "f")
        for one, other in zip(map(np.asarray, results), map(np.asarray, wide), strict=True)
    )


def _widened(array: Any) -> Any:
    half = array is not None and array.dtype in (np.float16, ml_dtypes.bfloat16)
    return array.astype(np.float32) if half else array


def _fits(value: Value, limit: int) -> bool:
    if not isinstance(value.type, TensorType) or not value.type.element.bits:
        return False
    return value.type.shape.count() is not None and _nbytes(value) <= limit


def _nbytes(value: Value) -> int:
    type = value.type
    count = type.shape.count() if isinstance(type, TensorType) else None
    return 0 if count is None or not isinstance(type, TensorType) else type.element.nbytes(count)
