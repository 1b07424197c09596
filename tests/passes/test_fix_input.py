"""Inputs that become constants: shapes that are then known, and refused values."""

from __future__ import annotations

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino import reduction
from irloop.errors import UsageError
from irloop.execution.session import run
from irloop.graph.model import Model
from irloop.graph.types import ElementType
from irloop.passes import Manager
from irloop.passes.common import FixInput
from tests.passes.openvino_models import model_of
from tests.passes.texts import shown


def reducing() -> Model:
    return model_of(
        lambda b, x, axes: b(reduction.ReduceSum(), x, axes),
        (ElementType.F32, (2, 3)),
        (ElementType.I64, (None,)),
    )


def test_a_shape_is_known_once_the_axes_are() -> None:
    model = reducing()
    with pytest.raises(irloop.UnsupportedError, match="reads static shapes only"):
        irloop.convert(model, target="openvino-2021.4")
    assert Manager([FixInput(("x1=1",))], check=True).run_passes(model)
    assert shown(model) == "ReduceSum = ReduceSum(x0, [1])\n-> ReduceSum"
    assert [node.name for node in model.graph.parameters] == ["x0"]
    converted, _ = irloop.convert(model, target="openvino-2021.4")
    (got,) = run(converted, [np.arange(6, dtype=np.float32).reshape(2, 3)]).values()
    np.testing.assert_array_equal(got, [3, 12])


def test_scalars_and_booleans_are_numbers_too() -> None:
    model = model_of(
        lambda _, x, flag: [x, flag], (ElementType.F32, ()), (ElementType.BOOLEAN, (2,))
    )
    Manager([FixInput(("x0=1.5", "x1=true,False"))], check=True).run_passes(model)
    number, flags = run(model, []).values()
    np.testing.assert_array_equal(number, np.float32(1.5))
    np.testing.assert_array_equal(flags, [True, False])


def test_the_largest_integer_is_exact() -> None:
    model = model_of(lambda _, n: n, (ElementType.I64, ()))
    Manager([FixInput(("x0=9223372036854775807",))]).run_passes(model)
    (got,) = run(model, []).values()
    assert int(got) == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x1", "'x1' is not an input name with numbers"),
        ("x1=one", "'x1=one' is not an input name with numbers"),
        ("y=1", "the model has no input 'y'"),
        ("x0=1,2,3", "the number of values does not fit input 'x0'"),
    ],
)
def test_invalid_values_are_wrong_usage(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Manager([FixInput((text,))]).run_passes(reducing())
