"""Passes that rewrite a model for an old runtime: graphs, results, and what is left unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.dialects.openvino import (
    comparison,
    control_flow,
    convert,
    elementwise,
    gather,
    matmul,
    reduction,
    shape,
    slicing,
)
from irloop.errors import UsageError
from irloop.execution.session import run
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Invariant, LastValue, PortMap
from irloop.graph.model import Body, Model, Value
from irloop.graph.tensor import ArrayTensor, unpack
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import Manager
from irloop.passes.common import (
    ChooseInitialStates,
    ConvertLikeToConvert,
    FoldShapes,
    KeepReducedDims,
    PlainArithmetic,
    UnpackConstants,
    WidenNarrowIntegers,
)
from tests.passes.openvino_models import after, model_of
from tests.passes.texts import shown

F32, I64, BOOL = ElementType.F32, ElementType.I64, ElementType.BOOLEAN


def counting(*, read: bool = True, trip: int | None = None, starts: bool = True) -> Model:
    """Loop(n, c) with x' = x + 1, or with x' = 7 if the body does not read x."""

    def build(b: Builder, n: Value, c: Value, x: Value) -> Value:
        inner = b.nested("body")
        state = inner.parameter("a", x.type)
        seven = inner.constant([7, 7], F32)
        new = inner(elementwise.Add(), state, inner.constant(1, F32)) if read else seven
        inner.result(inner.constant(True, BOOL), "go")
        inner.result(new, "new")
        body = Body("body", inner.graph, PortMap((Carried(2, 0, 1),), (LastValue(1, 0),), None, 0))
        first = [n, c] if trip is None else [b.i64(trip), b.constant(starts, BOOL)]
        made = b.emit(control_flow.Loop(), *first, x, n_outputs=1, bodies=(body,))
        return made.output

    return model_of(build, (I64, (1,)), (BOOL, (1,)), (F32, (2,)))


def numbers(model: Model, n: int, c: bool) -> list[float]:
    (got,) = run(model, [np.array([n]), np.array([c]), np.array([5, 6], np.float32)]).values()
    return [float(item) for item in got]


def test_without_an_iteration_a_state_keeps_its_initial_value() -> None:
    model = after(counting(), ChooseInitialStates())
    assert shown(model) == "\n".join(
        [
            "Loop = Loop(x0, x1):",
            "  a from x2, then Add",
            "  Add = Add(a, 1.0)",
            "  Loop is Add",
            "Loop/NotEqual = NotEqual(x0, 0)",
            "Loop/Reshape = Reshape(Loop/NotEqual, [1])",
            "Loop/Squeeze = Squeeze(Loop/Reshape, [0])",
            "Loop/Reshape_1 = Reshape(x1, [1])",
            "Loop/Squeeze_1 = Squeeze(Loop/Reshape_1, [0])",
            "Loop/LogicalAnd = LogicalAnd(Loop/Squeeze, Loop/Squeeze_1)",
            "Loop/Select = Select(Loop/LogicalAnd, Loop, x2)",
            "-> Loop/Select",
        ]
    )
    assert [numbers(model, n, c) for n, c in ((2, True), (0, True), (2, False))] == [
        [7, 8],
        [5, 6],
        [5, 6],
    ]


def test_a_state_without_readers_is_removed() -> None:
    model = after(counting(read=False), ChooseInitialStates())
    (loop,) = [node for node in model.graph.nodes if node.op.type == "Loop"]
    assert not loop.body().graph.parameters
    assert [numbers(model, n, c) for n, c in ((2, True), (0, True), (2, False))] == [
        [7, 7],
        [5, 6],
        [5, 6],
    ]


def test_a_loop_that_runs_keeps_its_outputs() -> None:
    model = counting(trip=3)
    assert not Manager([ChooseInitialStates()]).run_passes(model)
    assert numbers(model, 0, False) == [8, 9]


@pytest.mark.parametrize(("trip", "starts"), [(0, True), (3, False), (-1, False)])
def test_a_loop_that_never_runs_returns_the_initial_state(trip: int, starts: bool) -> None:
    """OpenVINO returns outputs without elements, and refuses a Select between those and the
    state.
    """
    model = after(counting(trip=trip, starts=starts), ChooseInitialStates())
    assert "Select" not in shown(model)
    assert numbers(model, 0, True) == [5, 6]


def test_values_that_follow_from_shapes_become_constants() -> None:
    def build(b: Builder, x: Value, y: Value) -> Value:
        count = b(gather.Gather(), b(shape.ShapeOf3(), x), b.i64([1]), b.i64(0))
        inner = b.nested("then")
        held = inner.parameter("held", y.type)
        size = inner.parameter("size", TensorType(I64, Shape.of(1)))
        target = inner(slicing.Concat(0), size, inner.i64([-1]))
        inner.result(inner(shape.Reshape(), held, target), "out")
        other = b.nested("else")
        held = other.parameter("held", y.type)
        other.result(other(shape.Reshape(), held, other.i64([3, -1])), "out")
        ports = (Invariant(1, 0), Invariant(2, 1))
        bodies = (
            Body("then", inner.graph, PortMap(ports, (LastValue(0, 0),))),
            Body("else", other.graph, PortMap(ports[:1], (LastValue(0, 0),))),
        )
        flag = b(comparison.Less(), b(shape.Reshape(), y, b.i64([6])), b.constant(0, F32))
        first = b(slicing.StridedSlice((0,), (0,)), flag, b.i64([0]), b.i64([1]), b.i64([1]))
        return b.emit(control_flow.If(), first, y, count, n_outputs=1, bodies=bodies).output

    model = after(model_of(build, (F32, (2, 3)), (F32, (6,))), FoldShapes())
    assert "ShapeOf" not in shown(model)
    assert "Concat" not in shown(model)
    assert shown(model).count("= Reshape(held, [3, -1])") == 1
    y = np.arange(6, dtype=np.float32)
    (got,) = run(model, [np.zeros((2, 3), np.float32), y]).values()
    np.testing.assert_array_equal(got, y.reshape(3, 2))


def test_a_shape_that_is_an_output_stays_computed() -> None:
    model = model_of(lambda b, x: b(shape.ShapeOf3(), x), (F32, (2, 3)))
    assert not Manager([FoldShapes()]).run_passes(model)


def test_a_reduction_to_a_scalar_keeps_its_axes_and_then_squeezes_them() -> None:
    model = after(
        model_of(
            lambda b, x: b(elementwise.Divide(), x, b(reduction.ReduceMax(), x, b.i64([0, 1]))),
            (F32, (2, 3)),
        ),
        KeepReducedDims(),
    )
    assert shown(model).splitlines()[:2] == [
        "ReduceMax/ReduceMax = ReduceMax(x0, [0, 1])",
        "ReduceMax = Squeeze(ReduceMax/ReduceMax, [0, 1])",
    ]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (got,) = run(model, [x]).values()
    np.testing.assert_allclose(got, x / 5)


@pytest.mark.parametrize("element", [ElementType.U8, ElementType.U32, ElementType.I16])
def test_differences_of_narrow_integers_are_computed_signed(element: ElementType) -> None:
    model = after(
        model_of(lambda b, x, y: b(elementwise.Subtract(), x, y), (element, (2,)), (element, (2,))),
        WidenNarrowIntegers(),
    )
    wide = "Subtract/Convert"
    assert shown(model).splitlines() == [
        f"{wide} = Convert(x0)",
        f"{wide}_1 = Convert(x1)",
        f"Subtract/Subtract = Subtract({wide}, {wide}_1)",
        "Subtract = Convert(Subtract/Subtract)",
        "-> Subtract",
    ]
    kind = element.numpy()
    (got,) = run(model, [np.array([3, 5], kind), np.array([1, 7], kind)]).values()
    np.testing.assert_array_equal(got, np.array([2, -2]).astype(kind))


def test_floats_and_u64_are_unchanged() -> None:
    for element in (F32, ElementType.U64):
        model = model_of(lambda b, x: b(elementwise.Subtract(), x, x), (element, (2,)))
        assert not Manager([WidenNarrowIntegers()]).run_passes(model)


def test_convert_like_becomes_convert() -> None:
    model = after(
        model_of(
            lambda b, x, like: b(convert.ConvertLike(), x, like),
            (F32, (2,)),
            (ElementType.U8, (3,)),
        ),
        ConvertLikeToConvert(),
    )
    assert shown(model) == "ConvertLike = Convert(x0)\n-> ConvertLike"
    (got,) = run(model, [np.array([1.7, 3], np.float32), np.zeros(3, np.uint8)]).values()
    np.testing.assert_array_equal(got, np.array([1, 3], np.uint8), strict=True)


@pytest.mark.parametrize(("axis", "ones"), [(0, "[1, 2]"), (1, "[1]"), (-1, "")])
def test_operands_are_aligned_by_ones(axis: int, ones: str) -> None:
    second = (2,) if axis == 0 else (3,) if axis == 1 else (4,)
    model = after(
        model_of(
            lambda b, x, y: b(elementwise.Subtract("pdpd", axis), x, y),
            (F32, (2, 3, 4)),
            (F32, second),
        ),
        PlainArithmetic(),
    )
    first = f"Subtract/Unsqueeze = Unsqueeze(x1, {ones})\n" if ones else ""
    right = "Subtract/Unsqueeze" if ones else "x1"
    assert shown(model) == f"{first}Subtract = Subtract(x0, {right})\n-> Subtract"
    x, y = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.arange(second[0], dtype=np.float32)
    (got,) = run(model, [x, y]).values()
    np.testing.assert_array_equal(
        got, x - y.reshape(-1, *[1] * ones.count("1"), *[1] * ones.count("2"))
    )


def test_conversions_to_boolean_and_einsum_equations_are_rewritten() -> None:
    def build(b: Builder, x: Value, y: Value) -> list[Value]:
        truth = b(convert.Convert(BOOL), x)
        other = b(comparison.Xor(), truth, b(comparison.Less(), x, y))
        return [other, b(matmul.Einsum("ij,jk"), x, y)]

    model = after(model_of(build, (F32, (2, 2)), (F32, (2, 2))), PlainArithmetic())
    kinds = [node.op.type for node in model.graph.nodes if node.op.type != "Const"]
    assert sorted(kinds) == ["Einsum", "Less", "LogicalXor", "NotEqual"]
    x, y = np.array([[0, 0.5], [200, 0]], np.float32), np.array([[1, 0], [1, 1]], np.float32)
    truths, product = run(model, [x, y]).values()
    np.testing.assert_array_equal(truths, [[True, True], [True, True]])
    np.testing.assert_allclose(product, x @ y)


def packed(element: ElementType) -> Model:
    """Constants of 4 elements that are converted to f32 and added to the input."""

    def build(b: Builder, x: Value) -> Value:
        codes = b.tensor(ArrayTensor(unpack(b"\x21\x43", element, (4,)), element), "codes")
        return b(elementwise.Add(), x, b(convert.Convert(F32), codes))

    return model_of(build, (F32, (4,)))


@pytest.mark.parametrize(("element", "wide"), [("u4", "u8"), ("i4", "i8"), ("nf4", "f32")])
def test_narrow_constants_are_stored_wide(element: str, wide: str) -> None:
    model = packed(ElementType(element))
    (wanted,) = run(model, [np.zeros(4, np.float32)]).values()
    after(model, UnpackConstants())
    (codes,) = [node for node in model.graph.nodes if node.op.type == "Const"]
    assert str(codes.output.type) == f"{wide}[4]"
    (got,) = run(model, [np.zeros(4, np.float32)]).values()
    np.testing.assert_array_equal(got, wanted)


def test_only_the_requested_types_are_widened() -> None:
    assert not Manager([UnpackConstants(("i4",))]).run_passes(packed(ElementType.U4))
    with pytest.raises(UsageError, match="'f32' is not a narrow type"):
        UnpackConstants(("f32",))
