"""Builds a new graph node by node; types are inferred immediately."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from irloop import budget
from irloop.diagnostics import NOWHERE, Location
from irloop.errors import InferenceError
from irloop.graph.inference import Inference
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Op
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import UNKNOWN_TYPE, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Builder", "Names"]

#: Steps of the budget for creating a node. Converting 200,000 layers creates 400,000 nodes, which
#: the budget for a file of that size covers.
STEPS_A_NODE = 10


class Names:
    """The names in use; a graph and all its bodies share them."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._originals: set[str] = set()
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Mark `name` as taken, so that `fresh` does not return it."""
        self._taken.add(name)

    def keep_originals(self, names: Iterable[str]) -> None:
        """Reserve the names of the original model, from which this model is converted.

        `fresh` returns a reserved name only if it is asked for exactly this name. So a name that
        occurs in both models belongs to the same value in both.
        """
        self._originals.update(names)

    def fresh(self, wish: str) -> str:
        """Return `wish` if it is free, else a free name made from `wish` and a number.

        The number replaces a number at the end of `wish`, as in ``x_1``, unless `wish` is a name of
        the original model.
        """
        if wish not in self._taken:
            self._taken.add(wish)
            return wish
        name = wish
        # An original name stays whole in front of the number, so that one sees where it is from.
        is_original = wish in self._originals
        stem = wish if is_original else re.sub(r"_\d+$", "", wish) or wish
        while name in self._taken or name in self._originals:
            self._next[stem] = self._next.get(stem, 0) + 1
            name = f"{stem}_{self._next[stem]}"
        self._taken.add(name)
        return name


class Builder:
    """Appends nodes to one graph and infers each of them.

    Builders of bodies share `names` and `inference` with the builder of the outer graph. New nodes
    get `location` as their location, and a name that begins with `prefix` unless the caller names
    them. The caller sets `location` and `prefix` for each source node that it converts.
    """

    def __init__(
        self, graph: Graph, *, names: Names | None = None, inference: Inference | None = None
    ) -> None:
        self.graph = graph
        self.names = Names() if names is None else names
        self.inference = Inference() if inference is None else inference
        self.location: Location = NOWHERE
        self.prefix = ""
        self._constants: dict[tuple[ElementType, tuple[int, ...], bytes], Value] = {}

    def nested(self, name: str) -> Builder:
        """A builder of a new body that takes over the settings of this builder.

        The two builders share names and inference; the location and the prefix are copied.
        """
        builder = Builder(Graph(name), names=self.names, inference=self.inference)
        builder.location = self.location
        builder.prefix = self.prefix
        return builder

    def parameter(
        self, name: str, type: ValueType = UNKNOWN_TYPE, names: tuple[str, ...] = ()
    ) -> Value:
        """Add an input to the graph, and return its value."""
        return self.graph.add_parameter(self.names.fresh(name), type, names, self.location)

    def result(self, value: Value, name: str) -> Node:
        """Add an output that returns `value` to the graph, and return its node."""
        return self.graph.add_result(value, name, self.location)

    def tensor(self, tensor: Tensor, name: str = "") -> Value:
        """Append a constant from a tensor of any size; its data is not copied."""
        value = self.graph.add_constant(
            tensor, self.names.fresh(name or self._name("Const")), location=self.location
        )
        self.inference.visit(value.producer)
        return value

    def constant(self, data: Any, element: ElementType, name: str = "") -> Value:
        """Add a constant with the value of a number, a (nested) list or an array.

        Equal constants of at most 64 elements share one node, unless they are strings.
        """
        import numpy as np

        if element is ElementType.DYNAMIC:
            raise InferenceError(f"{self.prefix!r} needs a constant of a type that is not known")
        array = np.asarray(data)
        # Count the data and its copy, because an array of zeros takes no memory until it is copied.
        budget.reserve(2 * array.nbytes, "making a constant")
        try:
            array = array.astype(element.numpy())
        except OverflowError as error:
            raise InferenceError(
                f"{self.prefix!r} needs a number too large for {element}"
            ) from error
        key = (element, array.shape, array.tobytes() if array.size <= 64 else b"")
        shared = array.size <= 64 and element is not ElementType.STRING
        known = self._constants.get(key) if shared else None
        # A constant that was erased from the graph is made again.
        if known is not None and known.producer.graph is self.graph:
            return known
        value = self.tensor(ArrayTensor(array, element), name)
        if shared:
            self._constants[key] = value
        return value

    def i64(self, data: Any) -> Value:
        """An i64 constant from a number, a list or an array."""
        return self.constant(data, ElementType.I64)

    def emit(
        self,
        op: Op,
        *inputs: Value | None,
        n_outputs: int | None = None,
        name: str = "",
        bodies: tuple[Body, ...] = (),
        types: tuple[ValueType, ...] = (),
    ) -> Node:
        """Append a node.

        By default, `n_outputs` is the number of outputs in the operation class.

        Raises:
            InferenceError: when the inputs contradict the operation's specification.
            LimitError: when the budget has no room for further operations.
        """
        self.require(op)
        count = op.n_outputs if n_outputs is None else n_outputs
        assert count is not None, f"{op.label} needs n_outputs"
        # An attribute of a few bytes may request any number of operations or outputs.
        budget.spend(STEPS_A_NODE + count // 2, "building a graph")
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        own = self.names.fresh(name or self._name(op.type))
        node = self.graph.add_node(
            op, own, inputs, count, types=types, bodies=bodies, location=self.location
        )
        self.inference.visit(node)
        return node

    def require(self, op: Op) -> None:
        """Raise an error if this builder must not emit `op`; here, every operation is allowed."""

    def __call__(self, op: Op, *inputs: Value | None, name: str = "") -> Value:
        """Append a node and return its only (or first) output."""
        return self.emit(op, *inputs, name=name).outputs[0]

    def constant_of(self, value: Value) -> Array | None:
        """The value of a small constant, folded if needed; None if it is not known."""
        return self.inference.constant(value)

    def _name(self, type_name: str) -> str:
        return f"{self.prefix}/{type_name}" if self.prefix else type_name


def element_of(value: Value) -> ElementType:
    """The element type of a tensor value; `DYNAMIC` if it is unknown or not a tensor."""
    return value.type.element if isinstance(value.type, TensorType) else ElementType.DYNAMIC


def shape_of(value: Value) -> Shape:
    """The shape of a tensor value; unknown for anything else."""
    return value.type.shape if isinstance(value.type, TensorType) else Shape(None)


def integers_of(value: Value | None, constant: Callable[[Value], Array | None]) -> list[int] | None:
    """The elements of an integer constant; None if it is omitted or unknown to `constant`."""
    array = None if value is None else constant(value)
    return None if array is None else [int(number) for number in array.reshape(-1)]
