"""`irloop.Builder`: in the engines, models built by hand return the same as NumPy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.dialects import onnx, openvino

Arrays = dict[str, Any]
X = np.arange(12, dtype=np.float32).reshape(6, 2)


def in_engine(model: irloop.Model, folder: Path, feeds: list[Arrays]) -> list[list[Any]]:
    """The outputs of several inferences in one compiled model, in the engine of its format."""
    if model.dialect == "onnx":
        runtime = pytest.importorskip("onnxruntime")
        path = folder / "model.onnx"
        irloop.save_model(model, path)
        assert not irloop.validate(path).has_errors
        session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return [session.run(None, feed) for feed in feeds]
    core = pytest.importorskip("openvino").Core()
    path = folder / "model.xml"
    irloop.save_model(model, path)
    assert not irloop.validate(path).has_errors
    compiled = core.compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = []
    for feed in feeds:
        result = compiled(feed)
        found.append([result[at].copy() for at in range(len(compiled.outputs))])
    return found


def require_results(
    model: irloop.Model, folder: Path, feeds: list[Arrays], expected: list[list[Any]]
) -> None:
    """Assert that the executor and the engine return the results `expected`."""
    own = [list(irloop.run(model, feed).values()) for feed in feeds]
    for found in (own, in_engine(model, folder, feeds)):
        for outputs, wanted in zip(found, expected, strict=True):
            for output, array in zip(outputs, wanted, strict=True):
                np.testing.assert_allclose(output, array, rtol=1e-6)
                assert np.asarray(output).shape == np.asarray(array).shape


@pytest.mark.parametrize("dialect", ["openvino", "onnx"])
def test_a_loop_with_a_state_a_condition_and_a_joined_output(dialect: Any, tmp_path: Path) -> None:
    b = irloop.Builder(dialect)
    x = b.input("x", "f32", [None, 2])
    trip = b.input("n", "i64", [])
    scale = b.constant([1.5, 2.5], "f32")
    with b.loop(trip) as body:
        total = body.state(np.zeros(2, np.float32), name="total")
        axis = [body.constant(0)] if dialect == "openvino" else []
        row = body.op("Gather", x, body.iteration, *axis)
        scaled = body.op("Multiply" if dialect == "openvino" else "Mul", row, scale)
        added = body.op("Add", total, scaled)
        body.next(total, added)
        size = body.op("ReduceSum", added, body.constant([0]))
        body.continue_while(body.op("Less", size, body.constant(60.0)))
        one = body.op("Unsqueeze", added, body.constant([0])) if dialect == "openvino" else added
        every = body.joined(one)
        last = body.last(total)
    b.output("last", last)
    b.output("every", every)

    sums = np.cumsum(X * np.array([1.5, 2.5], np.float32), axis=0)
    # The sums of the first rows are 2.5, 13, 31.5, 58 and 92.5, so the condition ends the loop
    # after five.
    feeds = [{"x": X, "n": np.array(count)} for count in (3, 6, 1)]
    expected = [[sums[count - 1], sums[:count]] for count in (3, 5, 1)]
    require_results(b.model(), tmp_path, feeds, expected)


@pytest.mark.parametrize("dialect", ["openvino", "onnx"])
def test_a_loop_that_does_not_run_returns_the_initial_value(dialect: Any, tmp_path: Path) -> None:
    b = irloop.Builder(dialect)
    x = b.input("x", "f32", [2])
    trip = b.input("n", "i64", [])
    with b.loop(trip) as body:
        state = body.state(x)
        body.next(state, body.op("Add", state, state))
        last = body.last(state)
    b.output("y", last)
    one = np.array([1, 3], np.float32)
    feeds = [{"x": one, "n": np.array(count)} for count in (2, 0, 3)]
    require_results(b.model(), tmp_path, feeds, [[one * 4], [one], [one * 8]])


def test_a_tensor_iterator_slices_backwards_in_parts(tmp_path: Path) -> None:
    b = irloop.Builder("openvino", opset=1, ir_version=10)
    x = b.input("x", "f32", [6, 2])
    with b.tensor_iterator() as body:
        part = body.slice(x, axis=0, part_size=2, reverse=True)
        total = body.state(b.constant([[0, 0], [0, 0]], "f32"), name="total")
        added = body.op("Add", part, total)
        body.next(total, added)
        last = body.last(added)
        forwards = body.joined(added, part_size=2)
        backwards = body.joined(added, part_size=2, reverse=True)
    for name, value in (("last", last), ("forwards", forwards), ("backwards", backwards)):
        b.output(name, value)
    parts = [X[4:], X[4:] + X[2:4], X[4:] + X[2:4] + X[:2]]
    expected = [parts[-1], np.concatenate(parts), np.concatenate(parts[::-1])]
    require_results(b.model(), tmp_path, [{"x": X}, {"x": -X}], [expected, [-a for a in expected]])


def test_a_scan_drops_the_axis(tmp_path: Path) -> None:
    b = irloop.Builder("onnx")
    x = b.input("x", "f32", [None, 2])
    weight = b.input("w", "f32", [2])
    with b.scan() as body:
        # The wires are created in another order than ONNX writes them.
        captured = body.invariant(weight)
        column = body.slice(x, axis=-1, reverse=True)
        total = body.state(np.float32(0), name="total")
        added = body.op("Add", total, body.op("ReduceSum", column, keepdims=False))
        every = body.joined(column, axis=1)
        weights = body.joined(captured)
        body.next(total, added)
        last = body.last(added)
    for name, value in (("every", every), ("weights", weights), ("last", last)):
        b.output(name, value)
    w = np.array([3, 4], np.float32)
    expected = [X[:, ::-1], np.stack([w, w]), X.sum()]
    require_results(b.model(), tmp_path, [{"x": X, "w": w}], [expected])


@pytest.mark.parametrize("dialect", ["openvino", "onnx"])
def test_a_branch_in_a_loop_reads_values_of_both_outer_graphs(dialect: Any, tmp_path: Path) -> None:
    b = irloop.Builder(dialect)
    x = b.input("x", "f32", [2])
    with b.loop(4, name="outer") as body:
        state = body.state(x, name="state")
        less = body.op("Less", body.iteration, body.constant(2))
        with body.branch(less) as branch:
            grown = branch.then.op("Add", state, x)
            shrunk = branch.otherwise.op(
                "Subtract" if dialect == "openvino" else "Sub", state, b.constant(10.0)
            )
            changed = branch.output(grown, shrunk)
        body.next(state, changed)
        last = body.last(state)
    b.output("y", last)
    one = np.array([1, 100], np.float32)
    require_results(
        b.model(), tmp_path, [{"x": one}, {"x": -one}], [[one * 3 - 20], [-one * 3 - 20]]
    )


@pytest.mark.parametrize("dialect", ["openvino", "onnx"])
def test_a_loop_in_a_loop(dialect: Any, tmp_path: Path) -> None:
    b = irloop.Builder(dialect)
    x = b.input("x", "f32", [2])
    with b.loop(3) as outer:
        total = outer.state(x, name="total")
        with outer.loop(2) as inner:
            part = inner.state(total, name="part")
            inner.next(part, inner.op("Add", part, x))
            found = inner.last(part)
        outer.next(total, found)
        y = outer.last(total)
    b.output("y", y)
    one = np.array([1, 2], np.float32)
    require_results(b.model(), tmp_path, [{"x": one}, {"x": 2 * one}], [[7 * one], [14 * one]])


def test_a_state_may_change_its_shape(tmp_path: Path) -> None:
    b = irloop.Builder("onnx")
    x = b.input("x", "f32", [1])
    with b.loop(3) as body:
        state = body.state(x)
        body.next(state, body.op("Concat", state, x, axis=0))
        last = body.last(state)
    b.output("y", last)
    model = b.model()
    assert str(model.graph.nodes[-1].body().graph.inputs[2].type) == "f32[?]"
    one = np.array([5], np.float32)
    require_results(model, tmp_path, [{"x": one}], [[np.array([5, 5, 5, 5], np.float32)]])


def test_a_built_model_converts(tmp_path: Path) -> None:
    b = irloop.Builder("openvino", opset=5)
    x = b.input("x", "f32", [4, 2])
    with b.loop(4) as body:
        total = body.state(b.constant([[0.0, 0.0]]), name="total")
        part = body.slice(x, axis=0)
        body.next(total, body.op("Add", total, part))
        last = body.last(total)
    b.output("sum", last)
    model = b.model()
    converted, _ = irloop.convert(model)
    feed = {"x": X[:4]}
    require_results(model, tmp_path, [feed], [[X[:4].sum(0, keepdims=True)]])
    require_results(converted, tmp_path, [feed], [[X[:4].sum(0, keepdims=True)]])


def test_operations_by_class_and_attributes_by_either_name() -> None:
    b = irloop.Builder("openvino", opset=8)
    x = b.input("x", "f32", [2, 3])
    y = b.op(openvino.Add(auto_broadcast="none"), x, x)
    named: dict[str, Any] = {"auto_broadcast.auto_broadcast_axis": 0}
    z = b.op("Add", x, y, **named)
    assert z.producer.op == openvino.Add(auto_broadcast_axis=0)
    soft = b.op("SoftMax", z, axis=-1)
    assert soft.producer.op.since == 8
    both = b.node("TopK", soft, b.constant(2), axis=1, mode="max", sort="value")
    assert [str(value.type) for value in both.outputs] == ["f32[2,2]", "i32[2,2]"]
    halves = b.node("Split", x, b.constant(0), num_splits=2, outputs=2)
    assert [str(value.type) for value in halves.outputs] == ["f32[1,3]", "f32[1,3]"]


def test_constants() -> None:
    b = irloop.Builder("onnx")
    made = [b.constant(1), b.constant(1.5), b.constant([True]), b.constant(["a", "bc"])]
    assert [str(value.type) for value in made] == ["i64[]", "f32[]", "boolean[1]", "string[2]"]
    assert str(b.constant(np.zeros((2, 0), np.float16)).type) == "f16[2,0]"
    assert str(b.constant([1, 2], "u4", name="four").type) == "u4[2]"


def _twice(build: Callable[[irloop.Builder], object]) -> Callable[[irloop.Builder], None]:
    def call(b: irloop.Builder) -> None:
        build(b)
        build(b)

    return call


def _state_without_next(b: irloop.Builder) -> None:
    with b.loop(2) as body:
        state = body.state(np.float32(1), name="acc")
        body.last(state)


def _leaked(b: irloop.Builder) -> None:
    with b.loop(2) as body:
        state = body.state(np.float32(1))
        body.next(state, state)
        body.last(state)
    b.output("y", state)


def _too_early(b: irloop.Builder) -> None:
    with b.loop(2) as body:
        state = body.state(np.float32(1))
        body.next(state, state)
        b.output("y", body.last(state))


def _after_the_block(b: irloop.Builder) -> None:
    with b.loop(2) as body:
        state = body.state(np.float32(1))
        body.next(state, state)
        body.last(state)
    body.constant(1)


def _model_within_a_block(b: irloop.Builder) -> None:
    with b.loop(2):
        b.model()


def _finished(b: irloop.Builder) -> None:
    b.output("y", np.float32(1))
    b.model()
    b.constant(1)


def _of_another(b: irloop.Builder) -> None:
    b.op("Abs", irloop.Builder("onnx").input("x"))


MISUSES: list[tuple[str, Callable[[irloop.Builder], object], str]] = [
    ("onnx", lambda b: b.op("Ad", b.constant(1.0)), "there is no operation 'Ad'.*Add"),
    ("onnx", lambda b: b.op("Add", b.constant(1.0), 2), "constant"),  # type: ignore[arg-type]
    ("onnx", lambda b: b.op("Abs", *[b.constant(1.0)] * 2), "no input 1"),
    ("onnx", lambda b: b.op("Softmax", b.constant([1.0]), axes=1), "no attribute 'axes'.*axis"),
    ("onnx", lambda b: b.op("Softmax", b.constant([1.0]), axis="1"), "'axis' is invalid"),
    ("onnx", lambda b: b.op("Concat", b.constant([1.0])), "needs the attribute 'axis'"),
    ("onnx", lambda b: b.op("Gelu", b.constant([1.0])), "does not exist in opset 17.*20"),
    ("onnx", lambda b: b.op("Loop", b.constant(1)), "use loop"),
    ("onnx", lambda b: b.op(3, b.constant(1)), "an operation is a type"),  # type: ignore[arg-type]
    (
        "onnx",
        lambda b: b.op(openvino.Add(), *[b.constant(1)] * 2),
        "not an operation of this model",
    ),
    ("onnx", lambda b: b.op(onnx.Add(), *[b.constant(1)] * 2, axis=1), "its attributes already"),
    ("onnx", lambda b: b.tensor_iterator(), "ONNX has no TensorIterator"),
    ("openvino", lambda b: b.scan(), "IR has no Scan"),
    ("onnx", lambda b: b.loop("5"), "a trip count must be an integer"),  # type: ignore[arg-type]
    ("onnx", lambda b: b.loop(True), "a trip count must be an integer"),
    ("onnx", lambda b: b.loop(2).slice(np.zeros(2)), "an ONNX Loop cannot slice"),
    ("onnx", lambda b: b.scan().iteration, "Scan has no iteration number"),
    ("onnx", lambda b: b.scan().slice(np.zeros(2), part_size=2), "one element at a time"),
    ("openvino", lambda b: b.tensor_iterator().slice(np.zeros(2), axis=1), "no such axis"),
    ("onnx", _state_without_next, "the state 'acc' has no next value"),
    ("onnx", _leaked, "belongs to a body"),
    ("onnx", _too_early, "after the `with` block"),
    ("onnx", _after_the_block, "the loop is finished"),
    ("onnx", _model_within_a_block, "not finished"),
    ("onnx", _finished, "the model is finished"),
    ("onnx", _of_another, "belongs to a body or to another model"),
    ("onnx", lambda b: b.model(), "no output"),
    ("onnx", lambda b: b.constant("x", "f32"), "a string is not a number"),
    ("onnx", lambda b: b.constant([300], "u8"), "do not fit u8"),
    ("onnx", lambda b: b.constant([0.5], "i64"), "do not fit i64"),
    ("onnx", lambda b: b.constant([[1], [1, 2]]), "a constant cannot be made"),
    ("onnx", lambda b: b.constant([None]), "neither numbers nor strings"),
    ("onnx", lambda b: b.constant(1, "f23"), "no element type 'f23'.*f32"),
    ("onnx", lambda b: b.input("x", "f32", [-1]), "0 or more"),
    ("onnx", lambda b: b.input("x", "f32", 3), "a shape must be a list"),  # type: ignore[arg-type]
    ("onnx", _twice(lambda b: b.input("x")), "an input 'x' already"),
    ("onnx", _twice(lambda b: b.output("y", np.float32(1))), "an output 'y' already"),
]


@pytest.mark.parametrize(("dialect", "call", "words"), MISUSES, ids=[item[2] for item in MISUSES])
def test_misuse_is_named(
    dialect: Any, call: Callable[[irloop.Builder], object], words: str
) -> None:
    with pytest.raises(irloop.UsageError, match=f"(?s){words}"):
        call(irloop.Builder(dialect))


@pytest.mark.parametrize("opset", [0, "5", 1000, True])
def test_opsets_that_do_not_exist(opset: Any) -> None:
    with pytest.raises(irloop.UsageError, match="no such opset"):
        irloop.Builder("openvino", opset=opset)


@pytest.mark.parametrize(("call", "least"), [("loop", 5), ("branch", 8)])
def test_operations_with_bodies_need_their_opset(call: str, least: int) -> None:
    b = irloop.Builder("openvino", opset=least - 1)
    with pytest.raises(irloop.UsageError, match=f"opset={least}"):
        getattr(b, call)(b.constant(True) if call == "branch" else 1)


def test_operands_that_do_not_fit_are_refused_immediately() -> None:
    b = irloop.Builder("onnx")
    with pytest.raises(irloop.InferenceError, match="Add"):
        b.op("Add", b.constant([1.0, 2.0]), b.constant([1.0, 2.0, 3.0]))


def test_an_error_inside_a_block_is_raised_unchanged() -> None:
    b = irloop.Builder("onnx")

    def fails() -> None:
        with b.loop(1) as body:
            body.state(np.float32(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()


def test_nodes_have_an_index() -> None:
    b = irloop.Builder("onnx")
    value = b.input("x", "f32", [1])
    for _ in range(5):
        value = b.op("Neg", value, name="neg")
    b.output("y", value)
    nodes = b.model().graph.nodes
    names = ["neg", "neg_1", "neg_2", "neg_3", "neg_4"]
    assert [nodes[at].name for at in range(5)] == names
    assert [nodes[at].name for at in range(-5, 0)] == names
    assert [node.name for node in nodes[1:4:2]] == ["neg_1", "neg_3"]
    assert [node.name for node in reversed(nodes)] == names[::-1]
    assert len(nodes) == 5
    assert nodes[2] in nodes
    assert value.producer in nodes
    assert nodes.index(nodes[3]) == 3
    for at in (5, -6):
        with pytest.raises(IndexError, match="5 nodes"):
            nodes[at]


def test_threads_build_convert_run_and_write_at_once(tmp_path: Path) -> None:
    """Every thread gets the results of its own models."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(6)

    def work(number: int) -> None:
        try:
            barrier.wait()
            for turn in range(4):
                b = irloop.Builder("openvino", opset=5)
                x = b.input("x", "f32", [4, 2])
                with b.loop(number + 1) as body:
                    total = body.state(x, name="total")
                    body.next(total, body.op("Add", total, np.float32(number)))
                    last = body.last(total)
                b.output("y", last)
                path = tmp_path / f"{number}_{turn}.xml"
                irloop.save_model(b.model(), path)
                assert not irloop.validate(path).has_errors
                converted, _ = irloop.convert(path)
                found = irloop.run(converted, {"x": X[:4]})["y"]
                np.testing.assert_array_equal(found, X[:4] + number * (number + 1))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
