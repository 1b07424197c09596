"""The size of a model: operations, weights, work and memory."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes

__all__ = ["Summary", "summary_of"]

#: How many types of operations are listed in text.
_LISTED = 12

#: Operations that multiply by weights: the number of leading axes of the weights that are axes of
#: the output.
_CONVOLUTIONS = {"Conv": 1, "Convolution": 1, "GroupConvolution": 2}
_PRODUCTS = frozenset({"MatMul", "Gemm"})


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model consists of, bodies included; the body of a loop counts once.

    `weights` has the numbers of elements and bytes for each element type. `multiply_adds`,
    `activations` and `largest` (the bytes of all results together and of the largest) are of one
    inference, and None if they depend on unknown sizes.
    """

    operations: Counter[str]
    inside: int
    constants: int
    weights: dict[str, tuple[int, int]]
    multiply_adds: int | None
    activations: int | None
    largest: int | None

    @property
    def size(self) -> int:
        """The bytes of all constants."""
        return sum(size for _, size in self.weights.values())

    def lines(self) -> list[str]:
        """The summary as text."""
        total = sum(self.operations.values())
        counts = f"{total} operations ({self.inside} of them in bodies)"
        rows = [f"{counts}, {self.constants} constants ({self.size:,} bytes)"]
        ranked = sorted(self.operations.items(), key=lambda item: (-item[1], item[0]))
        types = [f"{name} {count}" for name, count in ranked[:_LISTED]]
        left = len(ranked) - _LISTED
        rows.append(", ".join([*types, f"{left} more types"] if left > 0 else types))
        if self.weights:
            parts = sorted(self.weights.items(), key=lambda item: -item[1][1])
            elements = (f"{name} {count:,} ({size:,} bytes)" for name, (count, size) in parts)
            rows.append(f"weights: {', '.join(elements)}")
        work = "unknown" if self.multiply_adds is None else f"{self.multiply_adds:,}"
        memory = "unknown"
        if self.activations is not None:
            memory = f"{self.activations:,} bytes, the largest {self.largest or 0:,}"
        rows.append(f"multiply-adds: {work}; results of operations: {memory}")
        return [line for line in rows if line]

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data, for JSON."""
        weights = {
            name: {"elements": count, "bytes": size} for name, (count, size) in self.weights.items()
        }
        return {
            "operations": dict(sorted(self.operations.items())),
            "in_bodies": self.inside,
            "constants": self.constants,
            "weights": weights,
            "multiply_adds": self.multiply_adds,
            "activation_bytes": self.activations,
            "largest_activation_bytes": self.largest,
        }


def summary_of(model: Model) -> Summary:
    """Count what is in a model whose types have been inferred."""
    operations: Counter[str] = Counter()
    weights: dict[str, tuple[int, int]] = {}
    inside = constants = 0
    work: list[int | None] = []
    sizes: list[int | None] = []
    for node in all_nodes(model.graph):
        if isinstance(node.op, Constant):
            constants += 1
            tensor = node.op.tensor
            count, size = weights.get(str(tensor.element), (0, 0))
            weights[str(tensor.element)] = count + tensor.count, size + tensor.nbytes
            continue
        operations[node.op.type or node.op.label] += 1
        inside += node.graph is not model.graph
        work.append(_multiply_adds(node))
        sizes += [_bytes_of(value) for value in node.outputs if value.is_used]
    known = [size for size in sizes if size is not None]
    all_known = len(known) == len(sizes)
    return Summary(
        operations,
        inside,
        constants,
        weights,
        None if None in work else sum(item or 0 for item in work),
        sum(known) if all_known else None,
        max(known, default=0) if all_known else None,
    )


def _multiply_adds(node: Node) -> int | None:
    """The multiplications of a product or convolution; 0 for others, None if sizes are unknown."""
    kind = node.op.type
    if kind not in _PRODUCTS and kind not in _CONVOLUTIONS:
        return 0
    place = 1 if kind in _CONVOLUTIONS else 0
    if not node.outputs or place >= len(node.inputs):
        return None  # the node is damaged
    made, operand = _dims(node.outputs[0]), node.inputs[place]
    dims = None if operand is None else _dims(operand)
    if made is None or dims is None:
        return None
    if kind in _CONVOLUTIONS:
        return math.prod(made) * math.prod(dims[_CONVOLUTIONS[kind] :])
    turned = any(getattr(node.op, name, False) for name in ("transpose_a", "trans_a", "transA"))
    inner = dims[-2 if turned and len(dims) > 1 else -1] if dims else 1
    return math.prod(made) * inner


def _dims(value: Value) -> tuple[int, ...] | None:
    return shape_of(value).static()


def _bytes_of(value: Value) -> int | None:
    dims, element = _dims(value), element_of(value)
    if dims is None or element in (ElementType.DYNAMIC, ElementType.STRING):
        return None
    return element.nbytes(math.prod(dims))
