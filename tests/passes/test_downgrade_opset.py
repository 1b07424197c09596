"""Operations of newer opsets are expressed by older ones: graphs, results, and unchanged
operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irloop.dialects.openvino import (
    activation,
    comparison,
    control_flow,
    convert,
    elementwise,
    gather,
    generate,
    padding,
    pooling,
    resize,
    scatter,
    search,
    shape,
    slicing,
)
from irloop.execution.session import run
from irloop.graph.builder import Builder
from irloop.graph.loops import Invariant, LastValue, PortMap
from irloop.graph.model import Body, Model, Value
from irloop.graph.op import UnknownOp
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from irloop.passes.common import DowngradeOpset, SelectBranches
from tests.passes.openvino_models import Build, after, model_of
from tests.passes.texts import shown

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7


def of_x(build: Build, dims: tuple[int | None, ...] = X.shape) -> Model:
    """A model x -> y with the operations that `build` adds."""
    return model_of(build, (ElementType.F32, dims))


def newest(model: Model) -> int:
    """The newest opset that any operation of the model needs."""
    ops = [node.op for node in all_nodes(model.graph)]
    return max(op.since for op in ops if op.type != "Const" and not isinstance(op, UnknownOp))


def bounds(b: Builder, *lists: list[int]) -> list[Value]:
    return [b.i64(item) for item in lists]


FORMS: list[tuple[str, Build, Any]] = [
    ("Gather", lambda b, x: b(gather.Gather8(), x, b.i64([-1, 0]), b.i64(1)), X[:, [-1, 0]]),
    (
        "GatherND",
        lambda b, x: b(gather.GatherND8(2), x, b.i64(np.full((2, 3, 1), 3))),
        X[:, :, 3],
    ),
    (
        "Select",
        lambda b, x: b(
            gather.GatherND8(), x, b(convert.Convert(ElementType.I64), b.i64([[-1, 0]]))
        ),
        X[-1:, 0],
    ),
    (
        "StridedSlice",
        lambda b, x: b(
            slicing.Slice(), x, *bounds(b, [1, -1], [2**40, -(2**40)], [1, -2], [0, -1])
        ),
        X[1:, :, ::-2],
    ),
    ("StridedSlice", lambda b, x: b(slicing.Slice(), x, *bounds(b, [0], [1], [1])), X[:1]),
    (
        "SoftMax",
        lambda b, x: b(activation.SoftMax8(-2), x),
        np.exp(X) / np.exp(X).sum(1, keepdims=True),
    ),
    (
        "MaxPool",
        lambda b, x: b(pooling.MaxPool((2,), (2,), (0,), (0,)), x),
        X.reshape(2, 3, 2, 2).max(-1),
    ),
    (
        "AvgPool",
        lambda b, x: b(pooling.AvgPool14((2,), (2,), (0,), (0,)), x),
        X.reshape(2, 3, 2, 2).mean(-1),
    ),
    (
        "Interpolate",
        lambda b, x: b(
            resize.Interpolate11("nearest", "scales", "asymmetric", "floor"),
            x,
            b.constant([2.0], ElementType.F32),
            b.i64([2]),
        ),
        X.repeat(2, -1),
    ),
    (
        "Interpolate",
        lambda b, x: b(
            resize.Interpolate11("nearest", "sizes", "asymmetric", "floor"),
            x,
            b.i64([8]),
            b.i64([2]),
        ),
        X.repeat(2, -1),
    ),
    (
        "Pad",
        lambda b, x: b(padding.Pad12("edge"), x, b.i64([0, 0, 1]), b.i64([0, 1, 0])),
        np.pad(X, ((0, 0), (0, 1), (1, 0)), "edge"),
    ),
    (
        "ScatterElementsUpdate",
        lambda b, x: b(
            scatter.ScatterElementsUpdate12(),
            x,
            b.i64([[[1]]]),
            b.constant([[[5]]], ElementType.F32),
            b.i64(2),
        ),
        np.where(X == -6, 5, X),
    ),
    ("Squeeze", lambda b, x: b(shape.Squeeze15(), x, b.i64([0])), X[0]),
    (
        "TopK",
        lambda b, x: b(search.TopK11(2, "max", "value"), x, b.i64(2)),
        X[:, :, :1:-1],
    ),
    ("Divide", lambda b, x: b(activation.SoftSign(), x), X / (1 + np.abs(X))),
    ("NotEqual", lambda b, x: b(comparison.IsNaN(), x), np.isnan(X)),
    ("Less", lambda b, x: b(comparison.IsFinite(), x), np.isfinite(X)),
    ("Maximum", lambda b, x: b(convert.Identity(), x), X),
]


@pytest.mark.parametrize(("kind", "build", "wanted"), FORMS)
def test_an_older_form_computes_the_same_numbers(kind: str, build: Build, wanted: Any) -> None:
    given = X[:1] if kind == "Squeeze" else X
    model = after(of_x(build, given.shape), DowngradeOpset())
    assert newest(model) <= 7
    assert kind in [node.op.type for node in all_nodes(model.graph)]
    (got,) = run(model, [given]).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_indices_that_are_computed_are_counted_from_the_front() -> None:
    model = after(
        of_x(
            lambda b, x: b(gather.Gather8(), x, b(convert.Convert(ElementType.I32), x), b.i64(0)),
            (4,),
        ),
        DowngradeOpset(),
    )
    assert shown(model) == "\n".join(
        [
            "Convert = Convert(x0)",
            "Gather/Add = Add(Convert, 4)",
            "Gather/Less = Less(Convert, 0)",
            "Gather/Select = Select(Gather/Less, Gather/Add, Convert)",
            "Gather = Gather(x0, Gather/Select, 0)",
            "-> Gather",
        ]
    )
    (got,) = run(model, [np.array([-1, 2, -3, 0], np.float32)]).values()
    np.testing.assert_array_equal(got, [0, -3, 2, -1])


@pytest.mark.parametrize(
    "build",
    [
        lambda b, x: b(padding.Pad12("constant"), x, b.i64([0, 0, -1]), b.i64([0, 0, 0])),
        lambda b, x: b(pooling.MaxPool((2,), (1,), (0,), (0,), dilations=(2,)), x),
        lambda b, x: b(search.TopK11(2, "max", "value", stable=True), x, b.i64(2)),
        lambda b, x: b(shape.Squeeze15(allow_axis_skip=True), x, b.i64([0])),
        lambda b, x: b(
            generate.OneHot16(0, "normalize"),
            b(convert.Convert(ElementType.I32), x),
            b.i64(3),
            b.i64(1),
            b.i64(0),
        ),
    ],
)
def test_operations_that_the_older_form_cannot_express_stay(build: Build) -> None:
    assert newest(after(of_x(build), DowngradeOpset())) > 7


def test_operations_that_the_opset_has_stay() -> None:
    model = of_x(lambda b, x: b(gather.Gather8(), x, b.i64([-1]), b.i64(0)))
    assert not Manager([DowngradeOpset(opset=8)]).run_passes(model)


def branches(then: Build, otherwise: Build) -> Model:
    def build(b: Builder, x: Value) -> Value:
        condition = b(elementwise.Abs(), b.constant([1], ElementType.F32))
        flag = b(comparison.Less(), condition, b(shape.Reshape(), x, b.i64([-1])))
        first = b(slicing.StridedSlice((0,), (0,)), flag, b.i64([0]), b.i64([1]), b.i64([1]))
        bodies = []
        for label, form in (("then", then), ("else", otherwise)):
            inner = b.nested(label)
            inner.result(form(inner, inner.parameter("p", x.type)), f"{label}/out")
            bodies.append(Body(label, inner.graph, PortMap((Invariant(1, 0),), (LastValue(0, 0),))))
        return b.emit(control_flow.If(), first, x, n_outputs=1, bodies=tuple(bodies)).output

    return of_x(build, (3,))


@pytest.mark.parametrize("first", [5, 0])
def test_an_if_becomes_a_select_between_both_branches(first: float) -> None:
    model = branches(
        lambda b, p: b(elementwise.Negative(), p), lambda b, p: b(elementwise.Exp(), p)
    )
    x = np.array([first, 1, 2], np.float32)
    after(model, SelectBranches())
    assert "If" not in [node.op.type for node in all_nodes(model.graph)]
    (got,) = run(model, [x]).values()
    np.testing.assert_allclose(got, -x if first > 1 else np.exp(x), rtol=1e-6)


def test_branches_of_different_shapes_stay() -> None:
    model = branches(lambda _, p: p, lambda b, p: b(slicing.Concat(0), p, p))
    assert not Manager([SelectBranches()]).run_passes(model)
