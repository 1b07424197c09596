"""The interface through which an operation reads its inputs during type inference.

`Arguments` is the interface that `Op.infer` receives; `irloop.graph.inference` implements it. It is
in a separate module, because operations must not import graphs or inference: graphs contain
operations, and inference works on graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from irloop.errors import InferenceError, InferenceKind
from irloop.graph.types import Dim, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Arguments"]


class Arguments(Protocol):
    """The inputs of one node as far as they are known: types, shapes and small constants."""

    @property
    def types(self) -> tuple[ValueType | None, ...]:
        """The types of all inputs; None for an omitted input."""

    @property
    def outputs(self) -> tuple[ValueType, ...]:
        """The types that the outputs have so far.

        Inside `infer_dims`, these are the types that `infer` returned.
        """

    @property
    def n_outputs(self) -> int:
        """The number of outputs that the node has."""

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies of the node, each an `irloop.graph.model.Body`."""

    def __len__(self) -> int:
        """The number of inputs, omitted ones included."""

    def has(self, position: int) -> bool:
        """Return whether input `position` is connected."""

    def type(self, position: int) -> ValueType:
        """The type of an input; unknown when it is omitted."""

    def tensor(self, position: int) -> TensorType:
        """The type of an input that has to be a tensor.

        Raises:
            InferenceError: for a sequence or an optional.
        """

    def element(self, position: int) -> ElementType:
        """The element type of an input; `DYNAMIC` when it is not known."""

    def shape(self, position: int) -> Shape:
        """The shape of an input."""

    def rank(self, position: int) -> int | None:
        """The rank of an input, or None when it is not known."""

    def constant(self, position: int) -> Array | None:
        """The value of an input that is constant and small, or None."""

    def ints(self, position: int) -> tuple[int, ...] | None:
        """The elements of a constant integer or boolean input (one element for a scalar).

        None for any other input.
        """

    def dims(self, position: int) -> tuple[Dim, ...] | None:
        """The elements of an integer input as far as they are known; None if none is known."""

    def infer_body(
        self,
        body: Any,
        types: Sequence[ValueType],
        constants: Mapping[int, Array] | None = None,
    ) -> list[ValueType]:
        """Infer a body from the types of its parameters; return the types of its results.

        `constants` holds the values of parameters that are the same constant in every iteration.
        """

    def constant_result(self, body: Any, result: int) -> Array | None:
        """Return the value of a body result that `infer_body` found to be constant, else None."""

    def errors_ignored(self) -> AbstractContextManager[None]:
        """Return a context manager that drops the inference errors of its `with` block.

        It is used for bodies that never run, such as the branch that a constant condition does not
        select: their shapes may contradict each other.
        """

    def error(
        self,
        message: str,
        expected: str = "",
        found: str = "",
        *,
        kind: InferenceKind = "operands",
    ) -> InferenceError:
        """Make an error that names this node; the caller raises it.

        `kind` is "inputs" if inputs are missing, "elements" if the operation does not allow the
        element types or their combination, and "range" if an axis, a number or a word is outside of
        what the operation allows.
        """
