"""Unrolls loops with a known trip count into one copy of the body per iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irloop import budget
from irloop.dialects.loops import normal_axis
from irloop.dialects.wire_ends import Inward, Outward, inward, iteration_number, outward
from irloop.errors import UsageError
from irloop.graph.builder import shape_of
from irloop.graph.clone import clone_into
from irloop.graph.inference import Inference
from irloop.graph.loops import (
    Carried,
    Invariant,
    LastValue,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body, Model, Node, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import count_nodes
from irloop.passes.loop_pass import EachLoop
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.options import option
from irloop.passes.trips import one_element, trip_count
from irloop.passes.writers import writer_at

__all__ = ["Unroll"]


#: Steps of the budget for each copied node, which later passes and the writer also have to process.
STEPS_A_COPY = 25

#: The most indices that may replace the slices of one loop input.
MAX_INDICES = 1 << 20


@dataclass(eq=False)
class Unroll(EachLoop):
    """Unrolls a loop of at most `trips` iterations if at most `nodes` nodes replace it.

    Given::

        Loop(3, true, a):  a' = a * 2     -> last a

    Result::

        a1 = a * 2    a2 = a1 * 2    a3 = a2 * 2

    Inner loops are unrolled first. A loop that may stop early is not unrolled, nor is one whose
    trip count is not constant.
    """

    name = "unroll"
    trips: int = option(64, "maximum number of iterations of a loop to unroll")
    nodes: int = option(20_000, "maximum number of nodes that replace one loop")

    def __post_init__(self) -> None:
        if min(self.trips, self.nodes) < 0:
            found = f"trips {self.trips}, nodes {self.nodes}"
            raise UsageError("a limit of unroll is negative", expected="0 or more", found=found)

    def change_loop(self, node: Node, rewriter: MatchRewriter) -> None:
        self.unroll_node(self.model, node, rewriter)

    def estimate(self, node: Node, inference: Inference) -> int | None:
        """The number of nodes in all copies of the body; None if the trip count is unknown."""
        count = trip_count(node, inference)
        return None if count is None else count * count_nodes(node.body().graph)

    def unroll_node(self, model: Model, node: Node, rewriter: MatchRewriter) -> None:
        """Unroll one loop of the rewriter's graph, if that is possible."""
        count = trip_count(node, rewriter.inference)
        size = self.estimate(node, rewriter.inference)
        if count is None or size is None or count > self.trips or size > self.nodes:
            return
        copies = _Copies(model, node, rewriter, count)
        if not copies.possible():
            return
        if count > 1:
            budget.spend(STEPS_A_COPY * size, "unrolling a loop")
        rewriter.replace_node(node, copies.make())


class _Copies:
    """Copies one body `count` times, one copy after the other, and collects their outputs."""

    def __init__(self, model: Model, node: Node, rewriter: MatchRewriter, count: int) -> None:
        self.node = node
        self.body: Body = node.body()
        self.rewriter = rewriter
        self.count = count
        self.forms = writer_at(model, rewriter, node, node.name)
        self.entering = {item.parameter: item for item in inward(node, self.body)}
        self.leaving = outward(node, self.body)
        self.states = {
            item.parameter: item.outer
            for item in self.entering.values()
            if isinstance(item.port, Carried)
        }
        #: For each copy, what it returns for each Result of the body.
        self.rounds: list[dict[Node, Value]] = []

    def possible(self) -> bool:
        """Return whether unrolling can create all values that it needs.

        These are the slices of inputs and the iteration numbers and, for zero iterations, the empty
        outputs. Their types must be known.
        """
        for out in self.leaving:
            if self.count == 0 and not self._is_state(out) and self._nothing(out) is None:
                return False
        if self.count and not all(map(self._can_slice, self.entering.values())):
            return False
        # Carried and captured values exist already, so they may also be sequences or optionals. All
        # others have to be created, which only works for tensors.
        return all(
            isinstance(item.type, TensorType)
            or (item in self.entering and isinstance(self.entering[item].port, Carried | Invariant))
            for item in self.body.graph.inputs
        )

    def _can_slice(self, wire: Inward) -> bool:
        """Return whether the slices of an input can be taken with constant indices.

        The size of the sliced axis must be known and at least `part_size`, and all slices together
        must need at most `MAX_INDICES` indices.
        """
        port, outer = wire.port, wire.outer
        if not isinstance(port, Sliced):
            return True
        shape = (
            shape_of(outer) if outer is not None and isinstance(outer.type, TensorType) else None
        )
        if shape is None or shape.rank is None:
            return False
        axis = normal_axis(port.axis, shape.rank)
        size = shape.dim(axis) if 0 <= axis < shape.rank else None
        if not isinstance(size, int) or port.part_size > size:
            return False
        return port.part_size * self.count <= MAX_INDICES

    def _is_state(self, out: Outward) -> bool:
        carried = (item.result for item in self.entering.values())
        return isinstance(out.port, LastValue) and out.result in carried

    def _nothing(self, out: Outward) -> TensorType | None:
        """Return the type of a loop output after zero iterations.

        A concatenated output has size 0 on its axis. Returns None if the element type or a size is
        unknown.
        """
        type, port = out.output.type, out.port
        if not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
            return None
        if not isinstance(port, LastValue) and type.shape.rank:
            axis = normal_axis(port.axis, type.shape.rank)
            type = TensorType(type.element, type.shape.with_dim(axis, 0))
        return type if type.shape.is_static else None

    def make(self) -> list[Value]:
        """Create the copies and return one value for each output of the loop."""
        for number in range(self.count):
            parameters = [self._parameter(value, number) for value in self.body.graph.inputs]
            made = clone_into(
                self.body.graph,
                self.rewriter,
                parameters,
                before=self.node,
                suffix=f"/{number}",
            )
            results = dict(zip(self.body.graph.results, made, strict=True))
            self.rounds.append(results)
            for parameter in self.states:
                result = self.entering[parameter].result
                assert result is not None
                self.states[parameter] = results[result]
        outputs = {item.output: self._output(item) for item in self.leaving}
        return [self.forms.named_apart(outputs[value], value) for value in self.node.outputs]

    def _parameter(self, parameter: Value, number: int) -> Value:
        entering = self.entering.get(parameter)
        port = None if entering is None else entering.port
        if isinstance(port, Carried):
            state = self.states[parameter]
            if state is None:
                # An ONNX Loop without `cond` has a condition that is true at first.
                return self.forms.constant(np.ones(one_element(parameter)), ElementType.BOOLEAN)
            return state
        type = parameter.type
        if entering is None or port is None:
            assert isinstance(type, TensorType)
            made = np.full(one_element(parameter), number)
            if parameter is not iteration_number(self.body):
                made = np.zeros(type.shape.static() or ())
            return self.forms.constant(made, type.element)
        outer = entering.outer
        assert outer is not None
        if isinstance(port, Invariant):
            return outer
        rank = outer.type.shape.rank if isinstance(outer.type, TensorType) else None
        axis = normal_axis(port.axis, rank)
        if isinstance(port, ScanInput):
            return self.forms.take(outer, self.count - 1 - number if port.reverse else number, axis)
        size = outer.type.shape.dim(axis) if isinstance(outer.type, TensorType) else 0
        return self.forms.take(
            outer, _slice(port.start, port.stride, port.part_size, size, number), axis
        )

    def _output(self, out: Outward) -> Value:
        port = out.port
        if isinstance(port, LastValue):
            if self.rounds:
                return self.rounds[-1][out.result]
            for parameter, value in self.states.items():
                if self.entering[parameter].result is out.result and value is not None:
                    return value
        if not self.rounds:
            return self._empty(out)
        values = [results[out.result] for results in self.rounds]
        assert not isinstance(port, LastValue)
        rank = shape_of(values[0]).rank
        backwards = port.reverse if isinstance(port, ScanOutput) else port.stride < 0
        if backwards:
            values.reverse()
        if isinstance(port, ScanOutput):
            axis = normal_axis(port.axis, None if rank is None else rank + 1)
            return self.forms.concat([self.forms.unsqueeze(item, [axis]) for item in values], axis)
        if rank == 0:
            values = [self.forms.unsqueeze(item, [0]) for item in values]
        return self.forms.concat(values, 0 if rank == 0 else normal_axis(port.axis, rank))

    def _empty(self, out: Outward) -> Value:
        type = self._nothing(out)
        assert type is not None
        tensor = ArrayTensor(np.zeros(type.shape.static() or (), type.element.numpy()))
        name = self.node.name
        return self.rewriter.insert_constant(tensor, before=self.node, name=name)


def _slice(start: int, stride: int, part: int, size: object, number: int) -> list[int]:
    """Return the indices of slice `number` of an axis, which has `part` elements.

    `size` is the size of the axis. A negative `start` counts from the end of the axis.
    """
    assert isinstance(size, int)
    first = start if start >= 0 else size + 1 + start
    first += (number if stride > 0 else number + 1) * stride
    return list(range(first, first + part))
