"""Random ONNX programs: nested loops, scans and branches, and the extras of a flavour."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.loop_programs.onnx_blocks import TYPES, Block, Net, Value
from benchmarks.loop_programs.onnx_operations import (
    FLAVOURS,
    bounded,
    pick,
    scalar_condition,
)

__all__ = ["Program", "draw", "twin"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Program:
    """A model, several sets of inputs for it, and its features."""

    proto: onnx.ModelProto
    sets: list[list[Array]]
    features: list[str]


def draw(seed: int) -> Program:
    """The program for a seed."""
    return _Writer(Random(f"onnx {seed}")).program()  # noqa: S311


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        names = [name for name in FLAVOURS if name != "plain"]
        self.flavours = ["plain", *random.sample(names, random.choice([1, 1, 2]))]
        oldest = max(FLAVOURS[name][2] for name in self.flavours)
        opset = random.choice([opset for opset in range(13, 24) if opset >= oldest])
        # With an unknown rank, the number of rows is fixed.
        dynamic = random.random() < 0.4 and "unknown rank" not in self.flavours
        self.net = Net(random, opset, "n" if dynamic else 2)
        self.operations = [op for name in self.flavours for op in FLAVOURS[name][0]]
        self.types = [type for name in self.flavours for type in FLAVOURS[name][1]]
        self.deepest = (
            random.choice([4, 5]) if "deep" in self.flavours else random.choice([2, 2, 3])
        )
        self.raw: list[onnx.ValueInfoProto] = []

    def program(self) -> Program:
        net, block = self.net, Block(self.net)
        inputs = {
            "x": (TYPES["f32"], [net.rows, 3]),
            "y": (TYPES["f32"], [net.rows, 3]),
            "k": (TYPES["i64"], [net.rows, 3]),
            "xs": (TYPES["f32"], ["t", net.rows, 3]),
            "count": (TYPES["i64"], []),
            "flag": (TYPES["bool"], []),
        }
        for name, type in (("x", "f32"), ("y", "f32"), ("k", "i64")):
            block.add(name, type)
        if "strings" in self.flavours:
            inputs["words"] = TYPES["string"], [net.rows, 3]
            block.add("words", "string")
        if "unknown rank" in self.flavours:
            inputs["shape"] = TYPES["i64"], ["r"]
        self.grow(block, self.random.randint(0, 2))
        self.nest(block)
        self.grow(block, self.random.randint(1, 4))
        own = [value for value in block.own if value.name not in inputs]
        own = [self.flat(block, value) if value.type == "any" else value for value in own[-4:]]
        results = list({value.name: value for value in own}.values())
        declared = [helper.make_tensor_value_info(name, *info) for name, info in inputs.items()]
        graph = block.graph("program", declared, [*map(self.result, results), *self.raw])
        opset = helper.make_opsetid("", net.opset)
        proto = helper.make_model(graph, opset_imports=[opset], ir_version=10)
        features = [*self.flavours[1:], *sorted(net.features), f"opset {net.opset}"]
        return Program(proto, self.inputs(list(inputs)), features)

    def flat(self, block: Block, value: Value) -> Value:
        """A list of the elements, because outputs of a model need a rank."""
        return Value(block.op("Reshape", value.name, block.ints(-1)), "any")

    def result(self, value: Value) -> onnx.ValueInfoProto:
        shape = [None] if value.type == "any" else [self.net.rows, 3]
        return helper.make_tensor_value_info(value.name, TYPES[value.type], shape)

    def inputs(self, names: list[str]) -> list[list[Array]]:
        """Inputs for many iterations, none, many, and one; the numbers of rows may vary."""
        random, numbers, sets = self.random, self.net.numbers, []
        flat = random.random() < 0.5
        for count, length in ((3, 3), (0, 1), (4, 5), (1, 2)):
            n = self.net.rows if isinstance(self.net.rows, int) else random.choice([1, 2, 4])
            rank = [n * 3] if flat else [3, 1, n]
            values: dict[str, Array] = {
                "x": numbers.integers(-16, 17, (n, 3)).astype(np.float32) / 8,
                "y": numbers.normal(0, 1, (n, 3)).astype(np.float32),
                "k": numbers.integers(-5, 6, (n, 3)),
                "xs": numbers.normal(0, 1, (length, n, 3)).astype(np.float32),
                "count": np.array(count),
                "flag": np.array(random.random() < 0.6),
                "words": numbers.choice(["a", "bc", "", "dé"], (n, 3)).astype(object),
                "shape": np.array(rank),
            }
            sets.append([values[name] for name in names])
        return sets

    def grow(self, block: Block, count: int) -> None:
        """Append operations, and loops while the nesting limit permits."""
        for _ in range(count):
            if block.depth < self.deepest and self.random.random() < 0.3:
                self.nest(block)
            else:
                self.random.choice(self.operations)(block)

    def nest(self, block: Block) -> None:
        """Append a loop, a scan or a branch."""
        kinds = [self.loop, self.loop, self.scan, self.scan, self.branch]
        if "optionals" in self.flavours:
            kinds += [self.optional, self.optional, self.optional_state]
        self.random.choice(kinds)(block)

    def inside(self, block: Block) -> Block:
        """A body of the block with operations; in deep programs with another body inside."""
        return Block(self.net, block)

    def fill(self, inner: Block) -> None:
        self.grow(inner, self.random.randint(1, 3))
        if "deep" in self.flavours and inner.depth < self.deepest:
            self.nest(inner)
            self.grow(inner, 1)

    def branch(self, block: Block) -> None:
        types = self.random.choices(self.types, k=self.random.randint(1, 2))
        condition = "flag" if self.random.random() < 0.5 else scalar_condition(block)
        graphs = {}
        for label in ("then_branch", "else_branch"):
            inner = self.inside(block)
            self.fill(inner)
            values = [self.made_in(inner, type) for type in types]
            graphs[label] = inner.graph(label, [], [self.net.info(value) for value in values])
        made = block.ops("If", condition, outputs=types, **graphs)
        for name, type in zip(made, types, strict=True):
            block.add(name, type)

    def states(self, block: Block, inner: Block, types: list[str]) -> tuple[list[str], list[Value]]:
        """The initial values of the states, and the states in the body."""
        starts = [pick(block, type).name for type in types]
        values = [inner.add(self.net.name("state"), type) for type in types]
        return starts, values

    def ranked(self, least: int) -> list[str]:
        """Up to two types whose values have a known rank."""
        types = self.random.choices(self.types, k=self.random.randint(least, 2))
        return ["f32" if type == "any" else type for type in types]

    def made_in(self, inner: Block, type: str) -> Value:
        """A value that the body itself computes; an outer value is copied."""
        value = pick(inner, type)
        if value in inner.own:
            return value
        return inner.add(inner.op("Identity", value.name), type)

    def following(self, inner: Block, states: list[Value]) -> list[Value]:
        """The next value of each state: the state itself, another state, or a bounded value."""
        values = []
        for state in states:
            value = state if self.random.random() < 0.15 else self.made_in(inner, state.type)
            values.append(value if value in states else bounded(inner, value))
        return values

    def loop(self, block: Block) -> None:
        random, net, inner = self.random, self.net, self.inside(block)
        starts, states = self.states(
            block, inner, random.choices(self.types, k=random.randint(1, 3))
        )
        joined = self.ranked(0)
        number, goes = net.name("number"), net.name("goes")
        inner.iterations.append(number)
        self.fill(inner)
        results = self.following(inner, states)
        scans = [self.made_in(inner, type) for type in joined]
        trips, ends = self.trips(block)
        on = self.goes_on(inner, number, goes, ends)
        first = random.choice(["", block.constant(True, np.bool_), "flag", scalar_condition(block)])
        body = inner.graph(
            "step",
            [
                helper.make_tensor_value_info(number, TensorProto.INT64, []),
                helper.make_tensor_value_info(goes, TensorProto.BOOL, []),
                *map(net.info, states),
            ],
            [
                helper.make_tensor_value_info(on, TensorProto.BOOL, []),
                *map(net.info, [*results, *scans]),
            ],
        )
        stems = ["last"] * len(states) + ["joined"] * len(scans)
        made = block.ops("Loop", trips, first, *starts, outputs=stems, body=body)
        for name, state in zip(made, states, strict=False):
            block.add(name, state.type)
        self.use_joined(block, made[len(states) :], joined)

    def trips(self, block: Block) -> tuple[str, bool]:
        """The trip count, and whether only the condition ends the loop."""
        random, net = self.random, self.net
        most = 4 if block.depth < 2 else 2
        match random.choice(["constant", "constant", "input", "computed", "none"]):
            case "constant":
                return block.constant(random.randint(0, most), np.int64), False
            case "input":
                return block.op("Min", "count", block.constant(most, np.int64)), False
            case "computed":
                largest = block.op("ReduceMax", pick(block, "i64").name, keepdims=0)
                number = block.op("Min", largest, block.constant(most, np.int64))
                return block.op("Max", number, block.constant(0, np.int64)), False
            case _:
                net.features.add("no trip count")
                return "", True

    def goes_on(self, inner: Block, number: str, goes: str, ends: bool) -> str:
        """The condition of the body."""
        choices = ["less"] if ends else ["same", "same", "true", "less", "data"]
        match self.random.choice(choices):
            case "same":
                return inner.op("Identity", goes) if self.random.random() < 0.7 else goes
            case "true":
                return inner.op("Identity", inner.constant(True, np.bool_))
            case "data":
                return scalar_condition(inner)
            case _:
                limit = inner.constant(self.random.randint(0, 2), np.int64)
                return inner.op("Less", number, limit)

    def scan(self, block: Block) -> None:
        random, net, inner = self.random, self.net, self.inside(block)
        # ONNX Runtime needs the ranks of the states of a Scan.
        kinds = self.ranked(0)
        starts, states = self.states(block, inner, kinds)
        n_parts = random.randint(1, 2)
        parts = [inner.add(net.name("part"), "f32") for _ in range(n_parts)]
        joined = self.ranked(0 if states else 1)
        self.fill(inner)
        results = self.following(inner, states)
        scans = [self.made_in(inner, type) for type in joined]
        attributes: dict[str, Any] = {
            "scan_input_axes": [0] * n_parts,
            "scan_input_directions": [random.randint(0, 1) for _ in parts],
        }
        if random.random() < 0.5:
            given = ["xs"] * n_parts
        else:
            length, axes = random.choice([1, 2, 4]), [random.randint(0, 2) for _ in parts]
            attributes["scan_input_axes"] = axes
            given = [self.stacked(block, length, axis) for axis in axes]
        if scans:
            attributes["scan_output_axes"] = [random.randint(0, 2) for _ in scans]
            attributes["scan_output_directions"] = [random.randint(0, 1) for _ in scans]
        body = inner.graph(
            "step",
            [net.info(value) for value in [*states, *parts]],
            [net.info(value) for value in [*results, *scans]],
        )
        stems = ["last"] * len(states) + ["joined"] * len(scans)
        attributes |= {"num_scan_inputs": n_parts, "body": body}
        made = block.ops("Scan", *starts, *given, outputs=stems, **attributes)
        for name, state in zip(made, states, strict=False):
            block.add(name, state.type)
        self.use_joined(block, made[len(states) :], joined)

    def stacked(self, block: Block, length: int, axis: int) -> str:
        parts = [
            block.op("Unsqueeze", pick(block, "f32").name, block.ints(axis)) for _ in range(length)
        ]
        return block.op("Concat", *parts, axis=axis)

    def use_joined(self, block: Block, names: list[str], types: list[str]) -> None:
        """Use concatenated values: as outputs of the model, or summed up in a body."""
        for name, type in zip(names, types, strict=True):
            if block.depth == 0:
                self.raw.append(helper.make_tensor_value_info(name, TYPES[type], [None] * 3))
            if type in {"f32", "i64"}:
                total = block.op("ReduceSum", name, keepdims=0)
                block.add(block.op("Add", pick(block, type).name, total), type)
            else:
                # The size is used, too, to reveal outputs of an earlier inference.
                size = block.op("ReduceProd", block.op("Shape", name), keepdims=0)
                block.add(block.op("Sub", pick(block, "i64").name, size), "i64")

    def optional(self, block: Block) -> None:
        """Append an optional that a branch fills, and a branch that tests it."""
        self.net.features.add("optional")
        value, other = pick(block, "f32"), pick(block, "f32")
        kind = helper.make_tensor_type_proto(TYPES["f32"], [self.net.rows, 3])
        filled, empty = self.inside(block), self.inside(block)
        self.grow(filled, 1)
        outputs = [filled.op("Optional", value.name), empty.op("Optional", type=kind)]
        infos = [
            onnx.ValueInfoProto(name=name, type=helper.make_optional_type_proto(kind))
            for name in outputs
        ]
        made = block.op(
            "If",
            "flag" if self.random.random() < 0.5 else scalar_condition(block),
            then_branch=filled.graph("filled", [], infos[:1]),
            else_branch=empty.graph("empty", [], infos[1:]),
        )
        self.ask(block, made, other)

    def ask(self, block: Block, optional: str, other: Value) -> None:
        """The tensor in an optional, or another one if it is empty."""
        has = block.op("OptionalHasElement", optional)
        there, missing = self.inside(block), self.inside(block)
        got = Value(there.op("OptionalGetElement", optional), "f32")
        instead = Value(missing.op("Neg", other.name), "f32")
        chosen = block.op(
            "If",
            has,
            then_branch=there.graph("there", [], [self.net.info(got)]),
            else_branch=missing.graph("missing", [], [self.net.info(instead)]),
        )
        block.add(chosen, "f32")

    def optional_state(self, block: Block) -> None:
        """A Loop whose state is an optional, empty before the first iteration."""
        self.net.features.add("optional state")
        net, inner = self.net, self.inside(block)
        kind = helper.make_tensor_type_proto(TYPES["f32"], [net.rows, 3])
        start = block.op("Optional", type=kind)
        number, goes, state = (net.name(stem) for stem in ("number", "goes", "state"))
        inner.iterations.append(number)
        self.grow(inner, 2)
        self.ask(inner, state, pick(inner, "f32"))
        filled = inner.op("Optional", bounded(inner, inner.own[-1]).name)
        on = inner.op("Identity", goes)
        whole = helper.make_optional_type_proto(kind)
        body = inner.graph(
            "step",
            [
                helper.make_tensor_value_info(number, TensorProto.INT64, []),
                helper.make_tensor_value_info(goes, TensorProto.BOOL, []),
                onnx.ValueInfoProto(name=state, type=whole),
            ],
            [
                helper.make_tensor_value_info(on, TensorProto.BOOL, []),
                onnx.ValueInfoProto(name=filled, type=whole),
            ],
        )
        made = block.op("Loop", "count", "", start, body=body)
        self.ask(block, made, pick(block, "f32"))


#: Types for which ONNX Runtime lacks kernels, and wider ones with the same numbers: programs keep
#: 4-bit integers within their range, and round to 8-bit floats by a separate cast.
_WIDER = {
    TensorProto.INT4: TensorProto.INT8,
    TensorProto.UINT4: TensorProto.UINT8,
    TensorProto.FLOAT8E4M3FN: TensorProto.FLOAT16,
    TensorProto.FLOAT8E5M2: TensorProto.FLOAT16,
}


def twin(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a copy of each result of a body, and with wider types.

    ONNX Runtime 1.31 returns garbage if a body of a Loop or Scan returns its own input, or one
    value twice. With these copies and without its optimisations the outputs are right. The copy is
    an Identity; strings need a Reshape, because ONNX Runtime moves them out of an Identity's input.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    _make_safe(copy.graph, 0)
    return copy


def _make_safe(graph: onnx.GraphProto, depth: int) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.HasField("tensor_type"):
            tensor = info.type.tensor_type
            tensor.elem_type = _WIDER.get(tensor.elem_type, tensor.elem_type)
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _make_safe(attribute.g, depth + 1)
        graph.node.extend(_widened(node))
    if not depth:
        return
    for at, output in enumerate(graph.output):
        name = f"{output.name}_twin_{depth}_{at}"
        if output.type.tensor_type.elem_type == TensorProto.STRING:
            graph.node.append(helper.make_node("Shape", [output.name], [f"{name}_shape"]))
            copy = helper.make_node("Reshape", [output.name, f"{name}_shape"], [name])
        else:
            copy = helper.make_node("Identity", [output.name], [name])
        graph.node.append(copy)
        output.name = name


def _widened(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """Widen a cast; casts to 8-bit floats round and convert back."""
    if node.op_type != "Cast" or node.attribute[0].i not in _WIDER:
        return [node]
    wide = _WIDER[node.attribute[0].i]
    if wide != TensorProto.FLOAT16:
        node.attribute[0].i = wide
        return [node]
    rounded = f"{node.output[0]}_rounded"
    after = helper.make_node("Cast", [rounded], list(node.output), to=wide)
    node.output[0] = rounded
    return [node, after]
