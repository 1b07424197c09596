"""Decomposes an operation of ONNX Runtime into nodes of standard operations in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from irloop.dialects.contrib.steps import ScanBody, Steps, WriteOut
from irloop.dialects.onnx.control_flow import Scan
from irloop.dialects.wire_ends import INVARIANT, LAST, STATE, element_port, stacked_port
from irloop.dialects.wires import Wires
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.builder import Builder, Names, element_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.loops import (
    InputPort,
    ScanInput,
)
from irloop.graph.model import Graph, Value
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["OLDEST_OPSET", "GraphSteps", "Known", "decomposed"]

#: The oldest opset of ai.onnx for decompositions. Since this opset Range, Clip, Pad and the slices
#: take their bounds as inputs, and CumSum exists.
OLDEST_OPSET = 11


def _element(value: Value) -> ValueType:
    """Return the type of a slice of `value` at one index of axis 0, without this axis."""
    dims = shape_of(value).dims or ()
    return TensorType(element_of(value), Shape(dims[1:]))


#: Maps the position of an input to its value if that is constant, else to None.
Known = Callable[[int], "Array | None"]


class GraphSteps(Builder, Steps):
    """Builds a graph of the operations that are emitted.

    `known` returns the values of constant inputs. See `Steps` for the other arguments.
    """

    is_graph: ClassVar[bool] = True

    def __init__(
        self,
        graph: Graph,
        opset: int,
        n_outputs: int,
        known: Known,
        *,
        names: Names | None = None,
        inference: Inference | None = None,
    ) -> None:
        super().__init__(graph, names=names, inference=inference)
        self._opset = opset
        self.n_outputs = n_outputs
        self._known = known
        self._position: dict[Value, int] = {}

    @property
    def opset(self) -> int:
        """The opset of ai.onnx that the operations have."""
        return self._opset

    def nested(self, name: str) -> Self:
        """A decomposition that writes into a new body."""
        inner = type(self)(
            Graph(name),
            self.opset,
            1,
            lambda _: None,
            names=self.names,
            inference=self.inference,
        )
        inner.prefix = self.prefix
        return inner

    def input(self, position: int, type: ValueType) -> Value:
        """Add a parameter to the graph for input `position` of the decomposed operation."""
        value = self.parameter(f"input_{position}", type)
        self._position[value] = position
        return value

    def constant(self, data: Any, element: ElementType, name: str = "") -> Value:
        if element is ElementType.DYNAMIC:
            raise self.refuse("the element type of an input is not known")
        return super().constant(data, element, name)

    def constant_of(self, value: Value) -> Array | None:
        if value not in self._position:
            return super().constant_of(value)
        import numpy as np

        known = self._known(self._position[value])
        # Validation passes small constants as tuples.
        return None if known is None else np.asarray(known)

    def scan(
        self,
        body: ScanBody,
        states: Sequence[Value],
        elements: Sequence[Value],
        fixed: Sequence[Value],
        *,
        reverse: bool,
    ) -> tuple[list[Value], Value]:
        inner = self.nested("body")
        wires = Wires(inner.graph)

        def enter(values: Sequence[Value], port: InputPort) -> list[Value]:
            made = []
            for value in values:
                type = _element(value) if isinstance(port, ScanInput) else value.type
                name = inner.names.fresh(f"given_{len(wires.inputs)}")
                made.append(wires.enter(value, name, port, type).parameter)
            return made

        own = enter(states, STATE), enter(elements, element_port(0, reverse))
        following, output = body(inner, *own, enter(fixed, INVARIANT))
        lasts = []
        for state, value in zip(wires.states, following, strict=True):
            state.result = value
            lasts.append(wires.leave(value, LAST, state))
        # If two results are the same value, ONNX Runtime writes only one of them (ORT102).
        copy = wires.leave(inner.identity(output), stacked_port(0, reverse))
        wires.emit(self, Scan())
        return [last.output for last in lasts], copy.output


def decomposed(
    write_out: WriteOut,
    types: Sequence[ValueType | None],
    n_outputs: int,
    opset: int,
    known: Known,
    name: str = "",
    oldest: int = OLDEST_OPSET,
) -> tuple[Graph, list[int]]:
    """Return a graph that computes one operation with standard operations of an opset.

    `write_out` computes the outputs of the operation from its inputs, by standard operations.
    `types` are the types of the inputs, or None for an omitted input. The graph has a parameter
    for each input that is not omitted, and a result for each output. Outputs that ONNX Runtime
    leaves without a value have no result. The list in the return value holds the position of the
    output that each result computes. `oldest` is the first opset that has all operations that
    `write_out` uses.

    Raises:
        RefusedError: when standard operations cannot compute it, with the reason.
        InferenceError: when the inputs contradict the operation.
    """
    if opset < oldest:
        reason = f"it needs opset {oldest} of ai.onnx or newer, the model has {opset}"
        raise RefusedError(reason)
    s = GraphSteps(Graph(name), opset, n_outputs, known)
    s.prefix = name
    values = [
        None if type is None else s.input(position, type) for position, type in enumerate(types)
    ]
    made = write_out(s, values)[:n_outputs]
    results = {at: value for at, value in enumerate(made) if value is not None}
    for position, value in results.items():
        s.result(value, f"output_{position}")
    return s.graph, list(results)
