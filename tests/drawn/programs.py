"""Randomly generated ONNX models: nested loops, scans and branches with captures.

Every value is f32 [2,3], so that any operation can read any value. Each result of a Scan body or a
branch is a separate value, because ONNX Runtime, the oracle, computes others incorrectly (ONX310,
ONX402).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import onnx
from onnx import helper

from tests.models.layers import F32, I64, Layers

__all__ = ["draw"]

BOOL = onnx.TensorProto.BOOL
BLOCK = [2, 3]


def draw(seed: int) -> onnx.ModelProto:
    """A model with inputs x and y and up to three outputs; opset 15."""
    random = Random(seed)  # noqa: S311
    net = Layers(seed)
    values = ["x", "y"]
    _Block(random, net, depth=2).grow(values, random.randint(3, 6))
    outputs = [f"out{at}" for at in range(min(3, len(values) - 2))]
    for name, value in zip(outputs, values[-len(outputs) :], strict=True):
        net.rename(value, name)
    return net.model(_infos(["x", "y"]), _infos(outputs), opset=15)


def _infos(names: Sequence[str]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, F32, BLOCK) for name in names]


class _Block:
    """Generates the nodes of one graph or body; bodies may be nested `depth` levels deep."""

    def __init__(self, random: Random, net: Layers, depth: int) -> None:
        self.random, self.net, self.depth = random, net, depth

    def grow(self, values: list[str], count: int) -> None:
        """Append operations on `values`, and add their results to `values`."""
        simple = [self._binary] * 4 + [self._unary] * 3
        nested = [self._if, self._loop, self._loop, self._scan, self._scan]
        for _ in range(count):
            values += self.random.choice(simple + nested * (self.depth > 0))(values)

    def _binary(self, values: list[str]) -> list[str]:
        kind = self.random.choice(["Add", "Sub", "Max", "Min"])
        return [self.net.op(kind, self.random.choice(values), self.random.choice(values))]

    def _unary(self, values: list[str]) -> list[str]:
        net, x = self.net, self.random.choice(values)
        match self.random.choice(["function", "scale", "product", "turn"]):
            case "scale":
                return [net.op("Mul", x, net.constant(self.random.choice([0.5, -0.75])))]
            case "product":
                return [net.op("MatMul", x, net.weight(3, 3, gain=0.8))]
            case "turn":
                turned = net.op("Transpose", x, perm=[1, 0])
                return [net.op("Reshape", turned, net.ints(*BLOCK))]
            case _:
                return [net.op(self.random.choice(["Tanh", "Relu", "Neg", "Identity"]), x)]

    def _condition(self, values: list[str]) -> str:
        total = self.net.op("ReduceSum", self.random.choice(values), keepdims=0)
        limit = self.net.constant(self.random.choice([-1, 0, 0.5, 2]))
        return str(self.net.op(self.random.choice(["Less", "Greater"]), total, limit))

    def _body(self) -> _Block:
        return _Block(self.random, Layers(outer=self.net), self.depth - 1)

    def _own(self, candidates: list[str], inputs: Sequence[str], count: int) -> list[str]:
        """Choose results among the candidates, such that no result occurs twice or is an input."""
        results: list[str] = []
        for _ in range(count):
            value = self.random.choice(candidates)
            if value in results or value in inputs:
                value = self.net.op("Identity", value)
            results.append(value)
        return results

    def _if(self, values: list[str]) -> list[str]:
        condition, count = self._condition(values), self.random.randint(1, 2)
        branches = {}
        for label in ("then_branch", "else_branch"):
            inner, seen = self._body(), [*values]
            inner.grow(seen, self.random.randint(0, 2))
            results = inner._own(seen, values, count)
            branches[label] = inner.net.graph(label, [], _infos(results))
        made = self.net.op("If", condition, outputs=count, **branches)
        return [made] if count == 1 else made

    def _loop(self, values: list[str]) -> list[str]:
        random, inner = self.random, self._body()
        n_states, n_scans = random.randint(1, 3), random.randint(0, 2)
        number, going = inner.net.name("number"), inner.net.name("going")
        states = [inner.net.name("state") for _ in range(n_states)]
        own = [*states]
        if random.random() < 0.6:
            own.append(inner.net.op("Add", states[0], inner.net.op("Cast", number, to=F32)))
        seen = [*values, *own]
        inner.grow(seen, random.randint(1, 3))
        own += seen[len(values) + len(own) :]
        stops = random.random() < 0.4
        goes_on = inner._condition(own) if stops else inner.net.op("Identity", going)
        results = [random.choice(own) for _ in states]
        results = [
            inner.net.op("Identity", value) if value in results[:at] else value
            for at, value in enumerate(results)
        ]
        results += inner._own(own, [*states, *results], n_scans)
        scalars = [helper.make_tensor_value_info(number, I64, [])]
        scalars.append(helper.make_tensor_value_info(going, BOOL, []))
        ends = helper.make_tensor_value_info(goes_on, BOOL, [])
        body = inner.net.graph("step", [*scalars, *_infos(states)], [ends, *_infos(results)])
        starts = random.choice(["", self.net.constant(True, np.bool_), self._condition(values)])
        initial = [random.choice(values) for _ in states]
        n_results = len(results)
        made = self.net.op(
            "Loop", self._count(values), starts, *initial, outputs=n_results, body=body
        )
        made = [made] if n_results == 1 else made
        return self._summed(made, n_states, [0] * n_scans)

    def _count(self, values: list[str]) -> str:
        """A trip count of up to 5, which is a constant or computed."""
        if self.random.random() < 0.6:
            return self.net.constant(self.random.choice([0, 1, 2, 3, 5]), np.int64)
        largest = self.net.op("ReduceMax", self.random.choice(values), keepdims=0)
        count = self.net.op("Cast", self.net.op("Abs", largest), to=I64)
        return str(self.net.op("Min", count, self.net.constant(5, np.int64)))

    def _scan(self, values: list[str]) -> list[str]:
        random, inner = self.random, self._body()
        n_states, n_parts = random.randint(0, 2), random.randint(1, 2)
        n_scans, length = random.randint(0 if n_states else 1, 2), random.choice([1, 2, 4])
        names = [inner.net.name("given") for _ in range(n_states + n_parts)]
        own = [*names]
        seen = [*values, *own]
        inner.grow(seen, random.randint(1, 3))
        own += seen[len(values) + len(own) :]
        results = inner._own(own, names, n_states + n_scans)
        axes = {
            "scan_input_axes": [random.randint(0, 2) for _ in range(n_parts)],
            "scan_input_directions": [random.randint(0, 1) for _ in range(n_parts)],
            "scan_output_axes": [random.randint(0, 2) for _ in range(n_scans)],
            "scan_output_directions": [random.randint(0, 1) for _ in range(n_scans)],
        }
        joined = [self._joined(values, length, axis) for axis in axes["scan_input_axes"]]
        made = self.net.op(
            "Scan",
            *(random.choice(values) for _ in range(n_states)),
            *joined,
            outputs=len(results),
            body=inner.net.graph("step", _infos(names), _infos(results)),
            num_scan_inputs=n_parts,
            **{name: numbers for name, numbers in axes.items() if numbers},
        )
        made = [made] if len(results) == 1 else made
        return self._summed(made, n_states, axes["scan_output_axes"])

    def _joined(self, values: list[str], length: int, axis: int) -> str:
        parts = [
            self.net.op("Unsqueeze", self.random.choice(values), self.net.ints(axis))
            for _ in range(length)
        ]
        return str(self.net.op("Concat", *parts, axis=axis))

    def _summed(self, made: list[str], n_states: int, axes: list[int]) -> list[str]:
        """The states, and the sum of each scan output."""
        scans = zip(made[n_states:], axes, strict=True)
        sums = [self.net.op("ReduceSum", x, self.net.ints(axis), keepdims=0) for x, axis in scans]
        return [*made[:n_states], *sums]
