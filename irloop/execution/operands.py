"""Refuses operands that the specification of an operation does not allow, before its kernel runs.

Many kernels accept more than the specification: NumPy counts an axis from the end or repeats an
element where engines fail. What an operation allows is stated once, by `Op.check` and `Op.infer`.
Here they judge the operands of a run in the same way as the types and constants of a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irloop.errors import InferenceError, InferenceKind, IrloopError
from irloop.graph.inference import FOLD_LIMIT, NodeArguments, types_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Kernel
from irloop.graph.types import Dim, Shape, TensorType, ValueType
from irloop.kernels.writers import activated, makes_new, writer_of

__all__ = ["checked"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Identifies operands for which an operation gives the same answer: for each operand its shape, and
#: its elements if the operation has a rule for them.
_Key = tuple[tuple[tuple[int, ...], bytes] | None, ...]


def checked(node: Node, kernel: Kernel, types: Mapping[Value, ValueType]) -> Kernel:
    """Make `kernel` refuse operands that the operation of `node` does not allow.

    `types` holds inferred types; other values have their declared types. If no operand depends on
    the run, the result is either `kernel` itself, or a kernel that raises the error whenever it
    runs, because the node may never run.
    """
    judged = frozenset(item.position for item in node.op.meanings if item.is_judged)
    if not node.inputs or (node.op.elementwise and not judged):
        return kernel  # NumPy refuses the operands
    known = [None if value is None else types.get(value, value.type) for value in node.inputs]
    judge = _Judge(node, tuple(known), judged)
    constants = [None if value is None else _constant(value) for value in node.inputs]
    is_settled = all(
        type is None or (_is_static(type) and (at not in judged or constants[at] is not None))
        for at, type in enumerate(known)
    )
    if not is_settled:
        return _WithCheck(judge, kernel)
    try:
        judge.refuse(constants)
    except IrloopError:
        return _WithCheck(judge, kernel)
    return kernel


def _constant(value: Value) -> Array | None:
    op = value.producer.op
    if not isinstance(op, Constant) or (op.tensor.type.shape.count() or 0) > FOLD_LIMIT:
        return None
    found: Array = op.tensor.loaded()
    return found


def _is_static(type: ValueType) -> bool:
    return isinstance(type, TensorType) and type.shape.static() is not None


class _WithCheck:
    """A kernel that is called after its operands were judged.

    Equal operands of consecutive calls are judged once. The marks of the kernel (see
    `irloop.kernels.writers`) are kept.
    """

    def __init__(self, judge: _Judge, keeping: Kernel) -> None:
        self.keeping = keeping
        self._judge = judge
        self._accepted: _Key | None = None
        self.makes_new = makes_new(keeping)
        # A writer runs only for operands of the shapes that the kernel has had before.
        self.writer = writer_of(keeping) if judge.of_shapes else None
        if hasattr(keeping, "activated"):
            self.activated = self._activated

    def _activated(self, activation: Kernel) -> Kernel | None:
        made = activated(self.keeping, activation)
        return None if made is None else _WithCheck(self._judge, made)

    def __call__(self, *values: Any) -> Any:
        key = self._judge.key(values)
        if key != self._accepted:
            self._judge.refuse(values)
            self._accepted = key
        return self.keeping(*values)


class _Judge:
    """Judges the operands of one node; `judged` are those whose elements the operation limits."""

    def __init__(
        self, node: Node, types: tuple[ValueType | None, ...], judged: frozenset[int]
    ) -> None:
        self._node = node
        self._types = types
        self._judged = judged
        #: Whether the answer depends on nothing but the shapes.
        self.of_shapes = not judged

    def key(self, values: Sequence[Any]) -> _Key:
        """What the answer depends on."""
        judged = self._judged
        return tuple(
            [
                (item.shape, item.tobytes() if at in judged and item.size <= FOLD_LIMIT else b"")
                if isinstance(item, np.ndarray | np.generic)
                else None
                for at, item in enumerate(values)
            ]
        )

    def refuse(self, values: Sequence[Any]) -> None:
        """Refuse operands that contradict the specification; None stands for an unknown one.

        Raises:
            InferenceError: naming the operand.
        """
        types_of(self._node, _Operands(self._node, self._types, values, self._judged))


class _Operands(NodeArguments):
    """The operands of a run, for the inference of their operation."""

    __slots__ = ("_judged", "_values")

    def __init__(
        self,
        node: Node,
        types: tuple[ValueType | None, ...],
        values: Sequence[Any],
        judged: frozenset[int],
    ) -> None:
        self.node = node
        self.looked = False
        self.n_outputs = len(node.outputs)
        self._judged = judged
        self._values = values
        self.types = tuple(map(_type_of, types, values))

    def constant(self, position: int) -> Array | None:
        """The elements of an operand, if the operation has a rule for them and there are few."""
        value = self._values[position] if position in self._judged and self.has(position) else None
        if not isinstance(value, np.ndarray | np.generic) or value.size > FOLD_LIMIT:
            return None
        return np.asarray(value)

    def dims(self, position: int) -> tuple[Dim, ...] | None:
        """The elements of an integer operand."""
        return self.ints(position)

    def error(
        self,
        message: str,
        expected: str = "",
        found: str = "",
        *,
        kind: InferenceKind = "operands",
    ) -> InferenceError:
        """Make an error; the executor adds the name of the node."""
        return InferenceError(message, expected=expected, found=found, kind=kind)


def _type_of(type: ValueType | None, value: Any) -> ValueType | None:
    """The type of an operand: its declared element type, and the shape that it has in the run."""
    if not isinstance(type, TensorType) or not isinstance(value, np.ndarray | np.generic):
        return type
    return TensorType(type.element, Shape(tuple(value.shape)))
