"""Random programs in IR: nested Loop, TensorIterator and If, cells and stored weights in bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from benchmarks.loop_programs.ir_blocks import Array, Block, Net
from benchmarks.loop_programs.ir_operations import (
    FLAVOURS,
    bounded,
    pick,
    scalar_condition,
    total,
)
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Maximum, Minimum, Subtract
from irloop.dialects.openvino.gather import Gather
from irloop.dialects.openvino.reduction import ReduceMax, ReduceSum
from irloop.dialects.openvino.shape import ShapeOf, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Model, Value
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType

__all__ = ["IrProgram", "draw"]

F32, I64, BOOL = ElementType.F32, ElementType.I64, ElementType.BOOLEAN
F16, I8, I32 = ElementType.F16, ElementType.I8, ElementType.I32

#: Element types of the results that a loop concatenates.
JOINED = [F32, F32, F32, I64, BOOL, I32, I8, F16]

#: Element types of the inputs that a TensorIterator slices.
SLICED = [F32, *JOINED]


@dataclass
class IrProgram:
    """A model, several sets of inputs, NumPy's outputs, and the features of the model."""

    model: Model
    sets: list[list[Array]]
    expected: list[list[Array]]
    features: list[str]


def draw(seed: int) -> IrProgram:
    """The program for a seed."""
    return _Writer(Random(f"ir {seed}")).program()  # noqa: S311


@dataclass
class _Joined:
    """A body result that is concatenated along a new axis, in parts of `size` elements."""

    value: Value
    element: ElementType
    axis: int
    back: bool
    size: int = 1
    #: The number of iterations that the range of the output determines.
    trips: int | None = None

    @property
    def ends(self) -> tuple[int, int]:
        """The start and the end of the range."""
        whole = -1 if self.trips is None else self.trips * self.size
        return (whole, 0) if self.back else (0, whole)


@dataclass
class _Wires:
    """The connections between a loop and its body, from which the loop's meaning is computed."""

    inner: Block
    ports: PortMap
    results: Sequence[Value]
    is_loop: bool
    joined: list[_Joined] = field(default_factory=list)

    def run(self, *given: Array) -> list[Array]:
        """The outputs: last values, then concatenated values."""
        states = {
            p.parameter: given[p.external] for p in self.ports.inputs if isinstance(p, Carried)
        }
        trips, goes_on = self._trips(given)
        first = len(self.results) - len(self.joined)
        lasts: list[Any] = [self._start(at, given) for at in range(first)]
        rows: list[list[Array]] = [[] for _ in self.joined]
        number = 0
        while goes_on and number != trips:
            arguments = [self._argument(at, number, given, states) for at in self._parameters()]
            made = self.inner.run(arguments, self.results)
            lasts = made[:first]
            for row, value in zip(rows, made[first:], strict=True):
                row.append(value)
            states = {
                p.parameter: made[p.result] for p in self.ports.inputs if isinstance(p, Carried)
            }
            goes_on = not self.is_loop or bool(made[0])
            number += 1
        outputs = lasts[1:] if self.is_loop else lasts
        return [*outputs, *map(self._stack, self.joined, rows)]

    def _parameters(self) -> range:
        return range(len(self.inner.parameters))

    def _trips(self, given: Sequence[Array]) -> tuple[int, bool]:
        if self.is_loop:
            return int(given[0]), bool(given[1])
        sliced = next((port for port in self.ports.inputs if isinstance(port, Sliced)), None)
        if sliced is None:
            return next((item.trips for item in self.joined if item.trips is not None), 1), True
        low, high = _range(sliced, given[sliced.external])
        return (high - low) // sliced.part_size, True

    def _start(self, result: int, given: Sequence[Array]) -> Array | None:
        starts = (p for p in self.ports.inputs if isinstance(p, Carried) and p.result == result)
        return next((given[port.external] for port in starts), None)

    def _argument(
        self, at: int, number: int, given: Sequence[Array], states: dict[int, Array]
    ) -> Array:
        if at == self.ports.iteration:
            return np.array(number)
        port = self.ports.by_parameter[at]
        if isinstance(port, Carried):
            return states[at]
        whole = given[port.external]
        if not isinstance(port, Sliced):
            return whole
        size, (low, high) = port.part_size, _range(port, whole)
        start = low + number * size if port.stride > 0 else high - (number + 1) * size
        return np.take(whole, range(start, start + size), port.axis)

    def _stack(self, joined: _Joined, rows: list[Array]) -> Array:
        if rows:
            return np.concatenate(rows[::-1] if joined.back else rows, joined.axis)
        shape = [1, 1, 1]
        shape[joined.axis] = 0
        return np.zeros(shape, joined.element.numpy())


def _range(port: Sliced, whole: Array) -> tuple[int, int]:
    """The first element that is sliced, and the one after the last one."""
    length = whole.shape[port.axis]
    ends = [end if end >= 0 else length + 1 + end for end in (port.start, port.end)]
    return min(ends), max(ends)


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        names = [name for name in FLAVOURS if name != "plain"]
        self.flavours = ["plain", *random.sample(names, random.choice([1, 1, 2]))]
        self.net = Net(random, None if random.random() < 0.4 else 2)
        self.operations = [op for name in self.flavours for op in FLAVOURS[name]]
        self.deepest = random.choice([4, 5] if "deep" in self.flavours else [2, 2, 3])
        self.raw: list[Value] = []

    def program(self) -> IrProgram:
        net, block = self.net, Block(self.net)
        for name, element in (("x", F32), ("y", F32), ("k", I64)):
            block.add(block.parameter(name, block.type_of(element)), element)
        rows = TensorType(F32, Shape((UNKNOWN_DIM, *net.dims)))
        self.given = {
            "xs": block.parameter("xs", rows),
            "count": block.parameter("count", TensorType(I64, Shape(()))),
            "flag": block.parameter("flag", TensorType(BOOL, Shape(()))),
        }
        self.grow(block, self.random.randint(0, 2))
        self.nest(block)
        self.grow(block, self.random.randint(1, 4))
        own = [value for value, _ in block.own[3:]][-4:]
        results = list(dict.fromkeys([*own, *self.raw]))
        for at, value in enumerate(results):
            value.names = (f"out{at}",)
            block.b.result(value, f"out{at}")
        sets = self.inputs()
        with np.errstate(all="ignore"):
            expected = [block.run(arrays, results) for arrays in sets]
        features = [*self.flavours[1:], *sorted(net.features)]
        return IrProgram(Model(block.b.graph, "openvino", 11), sets, expected, features)

    def inputs(self) -> list[list[Array]]:
        """Inputs for many iterations, none, many, and one; the numbers of rows may vary."""
        numbers, sets = self.net.numbers, []
        for count, length in ((3, 3), (0, 1), (4, 5), (1, 2)):
            n = self.net.rows or self.random.choice([1, 2, 4])
            sets.append(
                [
                    numbers.integers(-16, 17, (n, 3)).astype(np.float32) / np.float32(8),
                    numbers.normal(0, 1, (n, 3)).astype(np.float32),
                    numbers.integers(-5, 6, (n, 3)),
                    numbers.normal(0, 1, (length, n, 3)).astype(np.float32),
                    np.array(count),
                    np.array(self.random.random() < 0.6),
                ]
            )
        return sets

    def grow(self, block: Block, count: int) -> None:
        """Append operations, and loops while the nesting limit permits."""
        for _ in range(count):
            if block.depth < self.deepest and self.random.random() < 0.3:
                self.nest(block)
            else:
                self.random.choice(self.operations)(block)

    def nest(self, block: Block) -> None:
        """Append a loop or a branch; a TensorIterator is never directly inside another one."""
        kinds = [self.loop, self.loop, self.iterator, self.iterator, self.branch]
        if block.is_iterator:
            kinds = [self.loop, self.loop, self.branch]
        self.random.choice(kinds)(block)

    def fill(self, inner: Block) -> None:
        self.grow(inner, self.random.randint(1, 3))
        if "deep" in self.flavours and inner.depth < self.deepest:
            self.nest(inner)
            self.grow(inner, 1)

    def branch(self, block: Block) -> None:
        elements = self.random.choices([F32, F32, I64, BOOL], k=self.random.randint(1, 2))
        flag = block.enter(self.given["flag"])
        condition = flag if self.random.random() < 0.5 else scalar_condition(block)
        externals, bodies, sides = [condition], [], []
        for label in ("then", "else"):
            inner = Block(self.net, block)
            self.fill(inner)
            results = [self.result(inner, element) for element in elements]
            ports: list[InputPort] = []
            for port, value in zip(inner.ports, inner.externals, strict=True):
                ports.append(Invariant(len(externals), port.parameter))
                externals.append(value)
            for at, value in enumerate(results):
                inner.b.result(value, f"result{at}")
            outputs = tuple(LastValue(at, at) for at in range(len(results)))
            bodies.append(Body(label, inner.b.graph, PortMap(tuple(ports), outputs)))
            sides.append((inner, results, [port.external for port in ports]))

        def meaning(flag: Array, *given: Array) -> list[Array]:
            inner, results, places = sides[0 if flag else 1]
            return inner.run([given[at - 1] for at in places], results)

        count = len(elements)
        made = block.emit(If(), meaning, *externals, n_outputs=count, bodies=tuple(bodies))
        for value, element in zip(made, elements, strict=True):
            block.add(value, element)

    def result(self, inner: Block, element: ElementType) -> Value:
        """A result of a branch; no value may be two of its outputs."""
        value = pick(inner, element)
        if element is BOOL:
            return inner.op(Less(), np.less, pick(inner, F32), inner.constant(0.219))
        return inner.op(Add(), np.add, value, inner.constant(1, element))

    def states(self, block: Block, inner: Block, first: int) -> list[tuple[Value, ElementType]]:
        """States of the body, whose next values are its results from `first` on."""
        elements = self.random.choices([F32, F32, I64, BOOL], k=self.random.randint(1, 3))
        return [
            (inner.add(inner.state(pick(block, element), first + at), element), element)
            for at, element in enumerate(elements)
        ]

    def following(self, inner: Block, states: list[tuple[Value, ElementType]]) -> list[Value]:
        """The next value of each state: the state itself, another state, or a bounded value."""
        values, known = [], [state for state, _ in states]
        for state, element in states:
            draw = self.random.random()
            if inner.outer is not None and draw < 0.1:
                # An invariant, without an operation of the body.
                values.append(inner.enter(pick(inner.outer, element)))
                continue
            value = state if draw < 0.25 else pick(inner, element)
            values.append(value if value in known else bounded(inner, value, element))
        return values

    def joined(self, inner: Block) -> list[_Joined]:
        """Up to two values to concatenate over the iterations."""
        made = []
        for _ in range(self.random.randint(0, 2)):
            element, axis = self.random.choice(JOINED), self.random.randint(0, 2)
            size = self.random.choice([1, 1, 2]) if inner.is_iterator else 1
            value = self.stacked(inner, element, axis, size)
            made.append(_Joined(value, element, axis, self.random.random() < 0.3, size))
        return made

    def loop(self, block: Block) -> None:
        random, inner = self.random, Block(self.net, block)
        trips, ends = self.trips(block)
        first = block.constant(True, BOOL)
        if random.random() < 0.4:
            first = block.enter(self.given["flag"])
        elif random.random() < 0.3:
            first = scalar_condition(block)
        inner.externals = [trips, first]
        inner.iteration = inner.parameter("i", TensorType(I64, Shape(())))
        states = self.states(block, inner, 1)
        self.fill(inner)
        condition = self.condition(inner, ends)
        following = self.following(inner, states)
        joined = self.joined(inner)
        results = [condition, *following, *(item.value for item in joined)]
        outputs: list[OutputPort] = [LastValue(at + 1, at) for at in range(len(states))]
        outputs += self.concatenated(joined, len(states), len(states) + 1)
        ports = PortMap(tuple(inner.ports), tuple(outputs), iteration=0, condition=0)
        self.emit(block, Loop(), _Wires(inner, ports, results, True, joined), states)

    def trips(self, block: Block) -> tuple[Value, bool]:
        """The trip count, and whether only the condition ends the loop."""
        most = 4 if block.depth < 2 else 2
        limit = block.constant(most, I64)
        match self.random.choice(["constant", "constant", "input", "computed", "none"]):
            case "constant":
                return block.constant(self.random.randint(0, most), I64), False
            case "input":
                count = block.enter(self.given["count"])
                return block.op(Minimum(), np.minimum, count, limit), False
            case "computed":
                axes = block.ints(0, 1)
                largest = block.op(ReduceMax(), lambda x, _: x.max(), pick(block, I64), axes)
                number = block.op(Minimum(), np.minimum, largest, limit)
                return block.op(Maximum(), np.maximum, number, block.constant(0, I64)), False
            case _:
                self.net.features.add("no trip count")
                return block.constant(-1, I64), True

    def condition(self, inner: Block, ends: bool) -> Value:
        """The condition of the body."""
        assert inner.iteration is not None
        match self.random.choice(["less"] if ends else ["true", "true", "less", "data"]):
            case "true":
                return inner.constant(True, BOOL)
            case "data":
                return scalar_condition(inner)
            case _:
                limit = inner.constant(self.random.randint(0, 2), I64)
                return inner.op(Less(), np.less, inner.iteration, limit)

    def iterator(self, block: Block) -> None:
        random, inner = self.random, Block(self.net, block)
        inner.is_iterator = True
        states = self.states(block, inner, 0) if random.random() < 0.8 else []
        counted = random.choice([2, 3, 4]) if random.random() < 0.2 else None
        if counted is not None:
            self.net.features.add("counted by an output")
        elif random.random() < 0.4:
            source = block.enter(self.given["xs"])
            for _ in range(random.choice([1, 1, 2])):
                self.slice(inner, source, F32, 0, 1, (0, 0))
        else:
            trips = random.choice([1, 2, 2, 4])
            for _ in range(random.choice([1, 1, 2, 3])):
                element, axis = random.choice(SLICED), random.randint(0, 2)
                size = random.choice([1, 1, 2])
                outside = (0, 0)
                if random.random() < 0.3:
                    outside = (random.randint(0, 2), random.randint(0, 1))
                    self.net.features.add("partial range")
                length = trips * size + sum(outside)
                source = self.stacked(block, element, axis, length)
                self.slice(inner, source, element, axis, size, outside)
        self.fill(inner)
        results = self.following(inner, states)
        joined = self.joined(inner)
        if not joined and (counted is not None or not states):
            joined = [self.always_joined(inner)]
        for item in joined:
            item.trips = counted
        results += [item.value for item in joined]
        outputs: list[OutputPort] = [LastValue(at, at) for at in range(len(states))]
        outputs += self.concatenated(joined, len(states), len(states))
        ports = PortMap(tuple(inner.ports), tuple(outputs))
        self.emit(block, TensorIterator(), _Wires(inner, ports, results, False, joined), states)

    def slice(
        self,
        inner: Block,
        source: Value,
        element: ElementType,
        axis: int,
        size: int,
        outside: tuple[int, int],
    ) -> None:
        """Add a sliced input, without the elements `outside`: at the start, and at the end."""
        assert inner.outer is not None
        before, after = outside
        back = self.random.random() < 0.3
        ends = (-1 - after, before, -size) if back else (before, -1 - after, size)
        inner.ports.append(Sliced(len(inner.externals), len(inner.parameters), axis, *ends, size))
        inner.externals.append(inner.outer.enter(source))
        dims = list(self.net.dims)
        dims.insert(axis, size)
        part = inner.parameter("part", TensorType(element, Shape(tuple(dims))))
        where = inner.constant(axis, I64)
        if size == 1 and self.random.random() < 0.5:
            inner.add(inner.op(Squeeze(), lambda x, at: x.squeeze(int(at)), part, where), element)
            return
        if element is not F32:
            part = inner.op(Convert(F32), lambda x: x.astype(np.float32), part)
        total = inner.op(ReduceSum(), lambda x, at: x.sum(int(at), dtype=x.dtype), part, where)
        inner.add(total, F32)

    def always_joined(self, inner: Block) -> _Joined:
        axis = inner.constant(0, I64)
        value = inner.op(Unsqueeze(), lambda x, _: x[None], pick(inner, F32), axis)
        return _Joined(value, F32, 0, False)

    def given_as(self, block: Block, element: ElementType) -> Value:
        """A visible value of an element type; f16 holds whole numbers, which nothing rounds."""
        if element is not F16:
            return pick(block, element)
        return block.op(Convert(F16), lambda x: x.astype(np.float16), pick(block, I8))

    def stacked(self, block: Block, element: ElementType, axis: int, length: int) -> Value:
        """A concatenation of visible values along a new axis."""
        parts = [
            block.op(
                Unsqueeze(),
                lambda x, at: np.expand_dims(x, int(at)),
                self.given_as(block, element),
                block.constant(axis, I64),
            )
            for _ in range(length)
        ]
        if length == 1:
            return parts[0]
        return block.op(Concat(axis), lambda *x: np.concatenate(x, axis), *parts)

    def concatenated(self, joined: list[_Joined], first: int, result: int) -> list[OutputPort]:
        return [
            Concatenated(
                result + at,
                first + at,
                item.axis,
                *item.ends,
                -item.size if item.back else item.size,
                item.size,
            )
            for at, item in enumerate(joined)
        ]

    def emit(
        self,
        block: Block,
        op: Loop | TensorIterator,
        wires: _Wires,
        states: list[tuple[Value, ElementType]],
    ) -> None:
        """Append the node; its last values and the sums of its scan outputs become visible."""
        inner = wires.inner
        # Late invariants are connected, too.
        wires.ports = replace(wires.ports, inputs=tuple(inner.ports))
        for at, value in enumerate(wires.results):
            inner.b.result(value, f"result{at}")
        body = Body("body", inner.b.graph, wires.ports)
        count = len(wires.ports.outputs)
        made = block.emit(op, wires.run, *inner.externals, n_outputs=count, bodies=(body,))
        for value, (_, element) in zip(made, states, strict=False):
            block.add(value, element)
        for value, item in zip(made[len(states) :], wires.joined, strict=True):
            if block.depth == 0:
                self.raw.append(value)
            if item.element is F32:
                row = total(block, value, 3)
                block.add(block.op(Add(), np.add, pick(block, F32), row), F32)
            else:
                # The size is used, too, to reveal outputs of an earlier inference.
                shape = block.op(ShapeOf(), lambda x: np.array(x.shape, np.int64), value)
                where = [block.constant(number, I64) for number in (item.axis, 0)]
                size = block.op(Gather(), lambda x, i, _: x[int(i)], shape, *where)
                block.add(block.op(Subtract(), np.subtract, pick(block, I64), size), I64)
