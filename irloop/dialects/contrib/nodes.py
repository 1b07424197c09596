"""Decomposes an operation of ONNX Runtime into nodes of standard operations in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from irloop.dialects.contrib.terms import CannotDecomposeError, ScanBody, Steps, Term, WriteOut
from irloop.dialects.onnx.control_flow import Scan
from irloop.dialects.wire_ends import INVARIANT, LAST, STATE, element_port, stacked_port
from irloop.dialects.wires import Wires
from irloop.graph.builder import Builder, element_of, shape_of
from irloop.graph.loops import (
    InputPort,
    ScanInput,
)
from irloop.graph.model import Graph, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["OLDEST_OPSET", "Known", "NodeSteps", "decomposed"]

#: The oldest opset of ai.onnx for decompositions. Since this opset Range, Clip, Pad and the slices
#: take their bounds as inputs, and CumSum exists.
OLDEST_OPSET = 11


def _element(term: Term) -> ValueType:
    """Return the type of a slice of `term` at one index of axis 0, without this axis."""
    dims = shape_of(term.value).dims or ()
    return TensorType(element_of(term.value), Shape(dims[1:]))


#: Maps the position of an input to its value if that is constant, else to None.
Known = Callable[[int], "Array | None"]


class NodeSteps(Steps):
    """Builds a graph: each operation that is applied to terms becomes a node of this graph.

    A `Term` is a value in a decomposition; here it holds a value of the graph. `builder` builds the
    graph, and `known` returns the values of constant inputs. See `Steps` for the other arguments.
    """

    is_graph: ClassVar[bool] = True

    def __init__(self, builder: Builder, opset: int, n_outputs: int, known: Known) -> None:
        super().__init__(opset, n_outputs)
        self._builder = builder
        self._known = known
        self._position: dict[Value, int] = {}

    def input(self, position: int, type: ValueType) -> Term:
        """Add a parameter to the graph for input `position` of the decomposed operation."""
        value = self._builder.parameter(f"input_{position}", type)
        self._position[value] = position
        return Term(self, value)

    def apply(self, op: Op, inputs: Sequence[Term | None], n_outputs: int) -> list[Term]:
        values = [None if term is None else term.value for term in inputs]
        node = self._builder.emit(op, *values, n_outputs=n_outputs)
        return [Term(self, value) for value in node.outputs]

    def scan(
        self,
        body: ScanBody,
        states: Sequence[Term],
        elements: Sequence[Term],
        fixed: Sequence[Term],
        *,
        reverse: bool,
    ) -> tuple[list[Term], Term]:
        inner = self._builder.nested("body")
        steps = NodeSteps(inner, self.opset, 1, lambda _: None)
        wires = Wires(inner.graph)

        def enter(terms: Sequence[Term], port: InputPort) -> list[Term]:
            made = []
            for term in terms:
                type = _element(term) if isinstance(port, ScanInput) else term.value.type
                name = inner.names.fresh(f"given_{len(wires.inputs)}")
                made.append(Term(steps, wires.enter(term.value, name, port, type).parameter))
            return made

        own = enter(states, STATE), enter(elements, element_port(0, reverse))
        following, output = body(steps, *own, enter(fixed, INVARIANT))
        lasts = []
        for state, term in zip(wires.states, following, strict=True):
            state.result = term.value
            lasts.append(wires.leave(term.value, LAST, state))
        # If two results are the same value, ONNX Runtime writes only one of them (ORT102).
        copy = wires.leave(steps.op("Identity", output).value, stacked_port(0, reverse))
        wires.emit(self._builder, Scan())
        return [Term(self, last.output) for last in lasts], Term(self, copy.output)

    def constant(self, data: Any, element: ElementType) -> Term:
        return Term(self, self._builder.constant(data, element))

    def element_of(self, term: Term) -> ElementType:
        element = element_of(term.value)
        if element is ElementType.DYNAMIC:
            raise CannotDecomposeError("the element type of an input is not known")
        return element

    def dims_of(self, term: Term) -> tuple[int | None, ...]:
        dims = shape_of(term.value).dims
        if dims is None:
            raise CannotDecomposeError("the rank of an input is not known")
        return tuple(dim if isinstance(dim, int) else None for dim in dims)

    def constant_of(self, term: Term) -> Array | None:
        if term.value in self._position:
            import numpy as np

            known = self._known(self._position[term.value])
            # Validation passes small constants as tuples.
            return None if known is None else np.asarray(known)
        op = term.value.producer.op
        if isinstance(op, Constant):
            array: Array = op.tensor.numpy()
            return array
        return self._builder.constant_of(term.value)


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
        CannotDecomposeError: when standard operations cannot compute it, with the reason.
        InferenceError: when the inputs contradict the operation.
    """
    if opset < oldest:
        reason = f"it needs opset {oldest} of ai.onnx or newer, the model has {opset}"
        raise CannotDecomposeError(reason)
    builder = Builder(Graph(name))
    builder.prefix = name
    steps = NodeSteps(builder, opset, n_outputs, known)
    terms = [
        None if type is None else steps.input(position, type) for position, type in enumerate(types)
    ]
    made = write_out(steps, terms)[:n_outputs]
    results = {at: term for at, term in enumerate(made) if term is not None}
    for position, term in results.items():
        builder.result(term.value, f"output_{position}")
    return builder.graph, list(results)
