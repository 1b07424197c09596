"""Sessions: names and types of inputs and outputs, limits, traces, refusals."""

from __future__ import annotations

import io
import itertools
from typing import Any, ClassVar

import numpy as np
import onnx
import pytest

from irloop.dialects.openvino.control_flow import Loop
from irloop.errors import ExecutionError, LimitError, UnsupportedError, UsageError
from irloop.execution.limits import Limits
from irloop.execution.session import Session, run
from irloop.execution.trace import TextTracer, describe
from irloop.formats.onnx import reader
from irloop.graph.builder import Builder
from irloop.graph.loops import Concatenated, PortMap
from irloop.graph.model import Body, Graph, Model
from irloop.graph.op import Kernel, Op, UnknownOp
from irloop.graph.types import DynamicDim, ElementType, Shape, TensorType


def model(text: str) -> Model:
    header = '<ir_version: 8, opset_import: ["" : 16]>'
    return reader.from_proto(onnx.parser.parse_model(header + text))


SUM = "m (float[2,n] a, float[2,n] b) => (float[2,n] total) { total = Add (a, b) }"
ONES = np.ones((2, 3), np.float32)


def test_inputs_by_name_and_by_position_give_outputs_by_name() -> None:
    subject = model(
        "m (float[2] a, float[2] b) => (float[2] d, float[2] s) { s = Add (a, b) d = Sub (a, b) }"
    )
    a, b = np.array([5, 6], np.float32), np.array([1, 2], np.float32)
    for given in ({"b": b, "a": a}, [a, b], (a, b)):
        found = run(subject, given)
        assert list(found) == ["d", "s"]
        np.testing.assert_array_equal(found["d"], [4, 4])
        np.testing.assert_array_equal(found["s"], [6, 8])


def test_lists_and_numbers_take_the_declared_type() -> None:
    found = run(model("m (float[2] a, float b) => (float[2] c) { c = Mul (a, b) }"), [[1, 2], 3])
    assert found["c"].dtype == np.float32
    np.testing.assert_array_equal(found["c"], [3, 6])


@pytest.mark.parametrize(
    ("given", "message", "found"),
    [
        ({"a": ONES}, "not those of the model", "missing: b"),
        ({"a": ONES, "b": ONES, "c": ONES}, "not those of the model", "unknown: c"),
        ([ONES], "number of inputs", "1"),
        ([ONES, ONES.astype(np.float64)], "'b' does not fit", "float64[2, 3]"),
        ([ONES, ONES[0]], "'b' does not fit", "float32[3]"),
        ([ONES, ONES[:1]], "'b' does not fit", "float32[1, 3]"),
        ([ONES, "text"], "'b' does not fit", "'text'"),
        ([ONES, None], "'b' does not fit", "nothing"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(given: Any, message: str, found: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        run(model(SUM), given)
    assert error.value.diagnostics[0].found == found


def test_inputs_outside_the_range_of_a_dimension_are_refused() -> None:
    graph = Graph()
    builder = Builder(graph)
    shape = Shape((DynamicDim(2, 4),))
    value = builder.parameter("x", TensorType(ElementType.F32, shape))
    builder.result(value, "y")
    subject = Model(graph, "openvino", 11)
    for size in (2, 3, 4):
        run(subject, [np.zeros(size, np.float32)])
    for size in (1, 5):
        with pytest.raises(UsageError, match="does not fit"):
            run(subject, [np.zeros(size, np.float32)])


def test_all_operations_without_a_kernel_are_reported_before_anything_runs() -> None:
    graph = Graph()
    builder = Builder(graph)
    value = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2)))
    for name in ("first", "second"):
        value = builder.emit(UnknownOp("Foo", "opset9"), value, n_outputs=1, name=name).outputs[0]
    value = builder.emit(UnknownOp("Bar", "opset1"), value, n_outputs=1, name="third").outputs[0]
    builder.result(value, "y")
    with pytest.raises(UnsupportedError) as error:
        run(Model(graph, "openvino", 11), [np.zeros(2, np.float32)])
    assert error.value.message == "operations that cannot be run: Foo-9, Bar-1"
    texts = [item.message for item in error.value.diagnostics]
    assert texts == [
        "Foo-9 cannot be run (2 in the model: first, second)",
        "Bar-1 cannot be run (1 in the model: third)",
    ]


class Dice(Op):
    """An operation that returns a different number every time."""

    pure: ClassVar[bool] = False

    def kernel(self, n_outputs: int = 1) -> Kernel:
        numbers = itertools.count()
        return lambda: np.array([next(numbers)], np.float32)


def test_a_nondeterministic_operation_runs_in_every_iteration() -> None:
    graph = Graph()
    builder = Builder(graph)
    trip = builder.parameter("trip", TensorType(ElementType.I64, Shape.of()))
    inside = builder.nested("body")
    inside.result(inside.constant(True, ElementType.BOOLEAN), "on")
    inside.result(inside(Dice()), "thrown")
    ports = PortMap((), (Concatenated(1, 0, axis=0),), condition=0)
    start = builder.constant(True, ElementType.BOOLEAN)
    body = Body("body", inside.graph, ports)
    node = builder.emit(Loop(), trip, start, n_outputs=1, bodies=(body,))
    builder.result(node.outputs[0], "all")
    found = run(Model(graph, "openvino", 11), [np.array(4)])
    np.testing.assert_array_equal(found["all"], [0, 1, 2, 3])


def test_an_error_of_a_kernel_names_its_node() -> None:
    subject = model("m (float[n] a, float[k] b) => (float[?] c) { [sum] c = Add (a, b) }")
    with pytest.raises(ExecutionError, match=r"Add.*'sum'"):
        run(subject, [np.zeros(2, np.float32), np.zeros(3, np.float32)])


def test_a_broadcast_beyond_the_limit_is_refused_before_it_is_made() -> None:
    subject = model("m (float[n,1] a, float[1,k] b) => (float[n,k] c) { c = Add (a, b) }")
    wide = np.zeros((1, 10**6), np.float32)
    with pytest.raises(LimitError, match="memory limit") as error:
        run(subject, [wide.T, wide])
    assert "4000000000000 more needed" in error.value.diagnostics[0].found


def test_limits_take_their_earlier_names() -> None:
    assert Limits(iterations=5, seconds=2.0) == Limits(max_iterations=5, max_seconds=2.0)
    assert Limits(memory_bytes=None).max_memory is None
    assert Limits(seconds=None).max_seconds is None
    assert Limits(7).max_iterations == 7


def test_released_memory_does_not_count() -> None:
    lines = "".join(f"v{at + 1} = Add (v{at}, v{at}) " for at in range(50))
    subject = model(f"m (float[n] v0) => (float[n] v50) {{ {lines} }}")
    # The arrays take 4 MB at a time, 200 MB in total.
    limits = Limits(max_memory=10_000_000)
    found = run(subject, [np.zeros(10**6, np.float32)], limits=limits)
    assert found["v50"].shape == (10**6,)


def test_overflow_and_division_by_zero_return_values() -> None:
    subject = model(
        "m (float[3] a, float[3] b) => (float[3] c, float[3] d) { c = Div (a, b) d = Mul (a, a) }"
    )
    a = np.array([1, -1, 1e30], np.float32)
    found = run(subject, [a, np.zeros(3, np.float32)])
    np.testing.assert_array_equal(found["c"], [np.inf, -np.inf, np.inf])
    assert found["d"][2] == np.inf


LOG = """
m (int64 trip, float[2] x) => (float[2] last) {
   last = Loop (trip, , x) <body = step (int64 i, bool c, float[2] s) => (bool c, float[2] s2) {
      [log] l = Log (s)
      [twice] s2 = Add (l, l)
   }>
}
"""


def test_the_text_trace_marks_the_first_nan() -> None:
    stream = io.StringIO()
    x = np.array([1, 10], np.float32)
    run(model(LOG), [np.array(2), x], trace=TextTracer(stream))
    lines = stream.getvalue().splitlines()
    # log 1 = 0 and log 0 = -inf; only the third iteration takes the logarithm of a negative number.
    assert not any("first here" in line for line in lines)
    stream = io.StringIO()
    run(model(LOG), [np.array(3), x], trace=TextTracer(stream))
    lines = stream.getvalue().splitlines()
    born = [line for line in lines if "first here" in line]
    assert len(born) == 1
    assert born[0].startswith("last/body/log[2] Log-")
    assert "NaN 1 of 2" in born[0]
    assert sum("NaN" in line for line in lines) > 1


def test_describe() -> None:
    assert describe(None) == "nothing"
    assert describe([ONES]) == "sequence of 1"
    assert describe(np.array([3, 1], np.int32)) == "int32[2] min 1 max 3"
    assert describe(np.zeros((0, 2))) == "float64[0, 2]"
    assert describe(np.array([np.nan, 2.0]), clean=False) == "float64[2] min 2.0 max 2.0 NaN 1 of 2"


def test_a_session_runs_repeatedly_and_reports_counts_and_branches() -> None:
    session = Session(model(LOG))
    x = np.array([1, 10], np.float32)
    for count in (1, 0, 3):
        session.run([np.array(count), x])
        assert list(session.counts.values()) == [{count}]
