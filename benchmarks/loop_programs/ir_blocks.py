"""The values and nodes of an IR graph or body under construction, with their NumPy meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, InputPort, Invariant
from irloop.graph.model import Body, Graph, Value
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType, ValueType

__all__ = ["Block", "Meaning", "Net"]

Array = np.ndarray[Any, np.dtype[Any]]
#: A function from the inputs of a node to its outputs.
Meaning = Callable[..., Sequence[Array]]


@dataclass
class Net:
    """State shared by all blocks of a program. `rows` is n in the shape [n,3] of values."""

    random: Random
    rows: int | None
    features: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.numbers = np.random.default_rng(self.random.getrandbits(32))

    @property
    def dims(self) -> tuple[Any, ...]:
        """The shape of a value."""
        return (UNKNOWN_DIM if self.rows is None else self.rows, 3)


class Block:
    """A graph or a body. Bodies are closed: an outer value enters as an invariant."""

    def __init__(self, net: Net, outer: Block | None = None) -> None:
        self.net, self.outer = net, outer
        self.b: Builder = outer.b.nested("body") if outer else Builder(Graph("program"))
        self.depth: int = outer.depth + 1 if outer else 0
        #: Values that may be read here, with their element types.
        self.own: list[tuple[Value, ElementType]] = []
        self.iteration: Value | None = None
        self.is_iterator = False
        self.steps: list[tuple[Sequence[Value], Sequence[Value], Meaning]] = []
        self.parameters: list[Value] = []
        self.externals: list[Value] = []
        self.ports: list[InputPort] = []
        self._entered: dict[Value, Value] = {}
        self._mine: set[Value] = set()

    def parameter(self, name: str, type: ValueType) -> Value:
        """A new parameter."""
        self.parameters.append(self.b.parameter(name, type, (name,) if self.outer is None else ()))
        self._mine.add(self.parameters[-1])
        return self.parameters[-1]

    def enter(self, value: Value) -> Value:
        """A value of this block or of an outer one, as seen by this block."""
        if value in self._mine:
            return value
        assert self.outer is not None
        if value not in self._entered:
            outer = self.outer.enter(value)
            self.ports.append(Invariant(len(self.externals), len(self.parameters)))
            self.externals.append(outer)
            self._entered[value] = self.parameter("given", outer.type)
        return self._entered[value]

    def state(self, start: Value, result: int) -> Value:
        """A parameter with an outer initial value, whose next value is a result of the body."""
        assert self.outer is not None
        self.ports.append(Carried(len(self.externals), len(self.parameters), result))
        self.externals.append(self.outer.enter(start))
        return self.parameter("state", self.externals[-1].type)

    def constant(self, data: Any, element: ElementType = ElementType.F32) -> Value:
        """A constant."""
        value = self.b.constant(data, element)
        array = np.asarray(data).astype(element.numpy())
        self._mine.add(value)
        self.steps.append(((), (value,), lambda: (array,)))
        return value

    def ints(self, *values: int) -> Value:
        """A constant list of i64."""
        return self.constant(np.array(values, np.int64), ElementType.I64)

    def emit(
        self,
        op: Op,
        meaning: Meaning,
        *inputs: Value,
        n_outputs: int = 1,
        bodies: tuple[Body, ...] = (),
    ) -> list[Value]:
        """A node; `meaning` computes all its outputs."""
        given = [self.enter(value) for value in inputs]
        node = self.b.emit(op, *given, n_outputs=n_outputs, bodies=bodies)
        self._mine.update(node.outputs)
        self.steps.append((given, node.outputs, meaning))
        return list(node.outputs)

    def op(self, op: Op, meaning: Callable[..., Any], *inputs: Value) -> Value:
        """A node with one output."""
        return self.emit(op, lambda *arrays: (np.asarray(meaning(*arrays)),), *inputs)[0]

    def add(self, value: Value, element: ElementType) -> Value:
        """Let later operations use the value."""
        self.own.append((value, element))
        return value

    def visible(self) -> list[tuple[Value, ElementType]]:
        """All visible values, the newest first."""
        found = self.own[::-1]
        return found if self.outer is None else found + self.outer.visible()

    def run(self, arguments: Sequence[Array], results: Sequence[Value]) -> list[Array]:
        """The results for given values of the parameters."""
        known = dict(zip(self.parameters, arguments, strict=True))
        for inputs, outputs, meaning in self.steps:
            arrays = meaning(*(known[value] for value in inputs))
            known.update(zip(outputs, arrays, strict=True))
        return [known[value] for value in results]

    def type_of(self, element: ElementType) -> TensorType:
        """The type of a value of this element."""
        return TensorType(element, Shape(self.net.dims))
