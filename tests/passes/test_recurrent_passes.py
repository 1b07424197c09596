"""Sequences, TensorIterators over cells, and gates: three forms of one recurrence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import recurrent
from irloop.dialects.openvino.activation import Sigmoid
from irloop.dialects.openvino.elementwise import Add, Multiply, Subtract, Tanh
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reorder import ReverseSequence
from irloop.dialects.openvino.slicing import Split
from irloop.execution.session import run
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify
from irloop.graph.walk import all_nodes
from irloop.passes import Manager, Pass
from irloop.passes.common import (
    DeadCode,
    DecomposeCells,
    FuseGates,
    FuseReverseSequence,
    IdentityElimination,
    MergeDirections,
    SequenceToTensorIterator,
    TensorIteratorToSequence,
)
from tests.passes.texts import shown

Array = np.ndarray[Any, np.dtype[Any]]
F32 = ElementType.F32
B, T, N, S = 3, 4, 2, 5
KINDS = {"LSTM": (4, 2), "GRU": (3, 1), "linear GRU": (3, 1), "RNN": (1, 1)}


def sequence(kind: str, direction: str) -> Op:
    if kind == "LSTM":
        return recurrent.LSTMSequence(S, direction=direction)
    if kind == "RNN":
        return recurrent.RNNSequence(S, ("relu",), clip=0.7, direction=direction)
    return recurrent.GRUSequence(S, linear_before_reset=kind == "linear GRU", direction=direction)


def model(
    kind: str, direction: str, lengths: list[int], fixed: bool = True
) -> tuple[Model, list[Array]]:
    """A sequence over random inputs; its lengths are a constant or, without `fixed`, an input."""
    rng = np.random.default_rng(3)
    gates, states = KINDS[kind]
    count = 2 if direction == "bidirectional" else 1
    arrays = [
        rng.normal(size=shape).astype(np.float32)
        for shape in [(B, T, N)] + states * [(B, count, S)]
    ]
    b = Builder(Graph("sequence"))
    given = [
        b.parameter(name, TensorType(F32, Shape(array.shape)), (name,))
        for name, array in zip(("x", "h", "c"), arrays, strict=False)
    ]
    if fixed:
        steps = b.constant(lengths, ElementType.I32)
    else:
        steps = b.parameter("n", TensorType(ElementType.I32, Shape.of(B)), ("n",))
        arrays.append(np.array(lengths, np.int32))
    shapes = [(gates * S, N), (gates * S, S), ((gates + (kind == "linear GRU")) * S,)]
    weights = [b.constant(rng.normal(size=(count, *shape)), F32) for shape in shapes]
    node = b.emit(sequence(kind, direction), *given, steps, *weights, name="sequence")
    for at, value in enumerate(node.outputs):
        value.names = (f"y{at}",)
        b.result(value, f"y{at}")
    verify(b.graph)
    return Model(b.graph, "openvino", 10), arrays


def changed(model: Model, *passes: Pass) -> list[str]:
    """Run `passes`, and return the types of the model's nodes."""
    Manager(passes, check=True).run_passes(model)
    verify(model.graph)
    return [node.op.type for node in all_nodes(model.graph)]


def same(model: Model, arrays: list[Array], wanted: list[Array]) -> None:
    for got, want in zip(run(model, arrays).values(), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("lengths", [[T] * B, [2, T, 1], [0, 9, 3]])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_becomes_a_loop_over_a_cell(
    kind: str, direction: str, lengths: list[int], fixed: bool
) -> None:
    original, arrays = model(kind, direction, lengths, fixed)
    wanted = list(run(original, arrays).values())
    types = changed(original, SequenceToTensorIterator())
    assert types.count("TensorIterator") == (2 if direction == "bidirectional" else 1)
    assert ("ReverseSequence" in types) == (
        direction != "forward" and (lengths != [T] * B or not fixed)
    )
    same(original, arrays, wanted)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_over_a_cell_becomes_a_sequence(kind: str, direction: str) -> None:
    original, arrays = model(kind, direction, [T] * B)
    wanted = list(run(original, arrays).values())
    types = changed(original, SequenceToTensorIterator(), TensorIteratorToSequence())
    assert "TensorIterator" not in types
    directions = [
        getattr(node.op, "direction", None)
        for node in all_nodes(original.graph)
        if node.op.type.endswith("Sequence")
    ]
    assert directions == (["forward", "reverse"] if direction == "bidirectional" else [direction])
    same(original, arrays, wanted)


def test_the_loop_of_a_sequence_in_text() -> None:
    original, _ = model("GRU", "reverse", [T] * B)
    changed(original, SequenceToTensorIterator())
    text = shown(original)
    assert "in x, axis 1, -1..0, -1, 1" in text
    assert "joins" in text
    assert ", axis 1, -1..0, -1, 1" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_cell_becomes_its_gates(kind: str) -> None:
    original, arrays = model(kind, "forward", [T] * B)
    wanted = list(run(original, arrays).values())
    types = changed(original, SequenceToTensorIterator(), DecomposeCells())
    assert not [name for name in types if name.endswith("Cell")]
    assert ("Clamp" in types) == (kind == "RNN")
    same(original, arrays, wanted)


def around(lengths: list[int]) -> tuple[Model, list[Array]]:
    """A forward GRU with reversals before and after it."""
    made, arrays = model("GRU", "forward", lengths)
    (node,) = [node for node in made.graph.nodes if node.op.type == "GRUSequence"]
    rewriter = Rewriter(made.graph)
    x, steps = node.inputs[0], node.inputs[2]
    y = node.outputs[0]
    (result, _), y.names = y.uses[0], ()
    before = rewriter.insert(ReverseSequence(0, 1), (x, steps), before=node, name="before")
    rewriter.set_input(node, 0, before.output)
    after = rewriter.insert(ReverseSequence(0, 2), (y, steps), before=None, name="after")
    shown = rewriter.insert(Tanh(), (after.output,), before=None, name="shown")
    rewriter.set_input(result, 0, shown.output)
    verify(made.graph)
    return made, arrays


@pytest.mark.parametrize("lengths", [[T] * B, [2, T, 1]])
def test_reversals_around_a_sequence_reverse_its_direction(lengths: list[int]) -> None:
    made, arrays = around(lengths)
    wanted = list(run(made, arrays).values())
    assert changed(made, FuseReverseSequence(), DeadCode()).count("ReverseSequence") == 0
    (node,) = [node for node in made.graph.nodes if node.op.type == "GRUSequence"]
    assert getattr(node.op, "direction", "") == "reverse"
    same(made, arrays, wanted)


def test_a_loop_reads_a_reversed_input_backwards() -> None:
    made, arrays = around([T] * B)
    wanted = list(run(made, arrays).values())
    types = changed(made, SequenceToTensorIterator(), FuseReverseSequence(), DeadCode())
    assert types.count("ReverseSequence") == 1
    assert "in x, axis 1, -1..0, -1, 1" in shown(made)
    same(made, arrays, wanted)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "linear GRU"])
def test_gates_are_fused_into_a_cell(kind: str) -> None:
    original, arrays = model(kind, "forward", [T] * B)
    wanted = list(run(original, arrays).values())
    passes = [SequenceToTensorIterator(), DecomposeCells(), FuseGates(), DeadCode()]
    types = changed(original, *passes)
    assert types.count("LSTMCell" if kind == "LSTM" else "GRUCell") == 1
    assert "MatMul" not in types
    same(original, arrays, wanted)
    assert changed(original, TensorIteratorToSequence()).count("TensorIterator") == 0
    same(original, arrays, wanted)


def written_out(kind: str) -> tuple[Model, list[Array]]:
    """A cell as frameworks write it: gates in the framework's order, and one bias per product."""
    rng = np.random.default_rng(4)
    b = Builder(Graph("cell"))
    gates, states = KINDS[kind]
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in [(B, N), *[(B, S)] * states]]
    x, h, *more = (
        b.parameter(name, TensorType(F32, Shape(array.shape)), (name,))
        for name, array in zip(("x", "h", "c"), arrays, strict=False)
    )

    def linear(value: Value, width: int, transpose: bool) -> Value:
        shape = (gates * S, width) if transpose else (width, gates * S)
        weights = b.constant(rng.normal(size=shape), F32)
        product = b(MatMul(transpose_b=transpose), value, weights)
        return b(Add(), product, b.constant(rng.normal(size=(1, gates * S)), F32))

    of_x, of_h = linear(x, N, True), linear(h, S, False)
    axis = b.constant(1, ElementType.I64)
    if kind == "LSTM":
        total = b(Add(), of_h, of_x)
        i, f, g, o = b.emit(Split(4), total, axis, n_outputs=4).outputs
        kept = b(Multiply(), more[0], b(Sigmoid(), f))
        cell = b(Add(), b(Multiply(), b(Tanh(), g), b(Sigmoid(), i)), kept)
        outputs = [b(Multiply(), b(Tanh(), cell), b(Sigmoid(), o)), cell]
    else:
        r, z, n = b.emit(Split(3), of_x, axis, n_outputs=3).outputs
        r_h, z_h, n_h = b.emit(Split(3), of_h, axis, n_outputs=3).outputs
        reset, update = (b(Sigmoid(), b(Add(), *pair)) for pair in ((r, r_h), (z, z_h)))
        new = b(Tanh(), b(Add(), n, b(Multiply(), reset, n_h)))
        outputs = [b(Add(), new, b(Multiply(), update, b(Subtract(), h, new)))]
    for at, value in enumerate(outputs):
        b.result(value, f"y{at}")
    verify(b.graph)
    return Model(b.graph, "openvino", 10), arrays


@pytest.mark.parametrize("kind", ["LSTM", "linear GRU"])
def test_gates_of_frameworks_become_a_cell(kind: str) -> None:
    original, arrays = written_out(kind)
    wanted = list(run(original, arrays).values())
    types = set(changed(original, FuseGates(), DeadCode())) - {"Const"}
    assert types == {"LSTMCell" if kind == "LSTM" else "GRUCell"}
    same(original, arrays, wanted)


def test_gates_stay_if_something_else_reads_a_part() -> None:
    original, _ = written_out("LSTM")
    (split,) = [node for node in original.graph.nodes if node.op.type == "Split"]
    original.graph.add_result(split.outputs[0], "part")
    assert not Manager([FuseGates()]).run_passes(original)


@pytest.mark.parametrize("kind", KINDS)
def test_two_directions_become_one_sequence(kind: str) -> None:
    original, arrays = model(kind, "bidirectional", [T] * B)
    wanted = list(run(original, arrays).values())
    apart = [SequenceToTensorIterator(), TensorIteratorToSequence(), IdentityElimination()]
    assert len([name for name in changed(original, *apart) if name.endswith("Sequence")]) == 2
    types = changed(original, MergeDirections(), DeadCode())
    assert len([name for name in types if name.endswith("Sequence")]) == 1
    same(original, arrays, wanted)
