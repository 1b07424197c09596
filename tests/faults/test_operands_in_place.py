"""OVN102: which operand of an elementwise operation lends its memory to the result."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, needs_engines

pytest.importorskip("openvino")

from openvino import Model, Type, save_model
from openvino import opset8 as ov

Array = np.ndarray[Any, np.dtype[Any]]
#: Computes the next value of a state from a view of a slice and the state; gets OpenVINO or NumPy.
Step = Callable[[Any, Any, Any], Any]

WEIGHTS = np.arange(9, dtype=F32).reshape(3, 3) / 8 - 0.5
#: The other operand, by what it is computed from.
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "state": lambda _f, h: h,
    "tanh": lambda f, h: f.tanh(h),
    "product": lambda f, h: f.matmul(h),
    "number": lambda f, _h: f.constant(1.5),
}
#: What follows; after a constant, only an operation with the state gives other numbers.
FOLLOWING: dict[str, Step] = {
    "nothing": lambda _f, x, _h: x,
    "sum": lambda f, x, h: f.add(h, f.tanh(x)),
}


class OfNumPy:
    """The operations of a body in NumPy."""

    add, multiply, maximum, minimum, tanh = np.add, np.multiply, np.maximum, np.minimum, np.tanh
    less, select = np.less, np.where
    constant = staticmethod(F32)
    matmul = staticmethod(lambda value: value @ WEIGHTS)
    integer = staticmethod(lambda value: value.astype(np.int32))


class OfOpenVino:
    """The operations of a body in OpenVINO."""

    add, multiply, maximum, minimum, tanh = ov.add, ov.multiply, ov.maximum, ov.minimum, ov.tanh
    less, select = ov.less, ov.select
    constant = staticmethod(lambda value: ov.constant(F32(value)))
    matmul = staticmethod(lambda value: ov.matmul(value, ov.constant(WEIGHTS), False, False))
    integer = staticmethod(lambda value: ov.convert(value, "i32"))


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def iterator(step: Step, start: Array) -> Model:
    """A TensorIterator over five slices, whose state begins with `start`."""
    outer = [ov.parameter([5, 3], F32), ov.parameter([3], Type(start.dtype))]
    own = [ov.parameter([1, 3], F32), ov.parameter([3], Type(start.dtype))]
    view = ov.squeeze(own[0], ov.constant(np.array([0])))
    result = ov.result(step(OfOpenVino, view, own[1]))
    node = ov.tensor_iterator()
    node.set_body(Model([result], own, "body"))
    node.set_sliced_input(own[0], outer[0].output(0), 0, 1, 1, -1, 0)
    node.set_merged_input(own[1], outer[1].output(0), result.output(0))
    return Model([ov.result(node.get_iter_value(result.output(0), -1))], outer)


def judged(step: Step, start: Array, engines: Engines, folder: Path) -> tuple[bool, bool, bool]:
    """Whether OVN102 is found, whether OpenVINO is right, and whether it is after the repair."""
    path, repaired = folder / "model.xml", folder / "repaired.xml"
    save_model(iterator(step, start), path, compress_to_fp16=False)
    codes = {item.code for item in irloop.validate(path, engines=["openvino"])}
    irloop.save_model(irloop.transform(path, ["body_barriers"])[0], repaired)
    rng = np.random.default_rng(1)
    sets = [[rng.uniform(0.5, 2, (5, 3)).astype(F32), start] for _ in range(2)]
    wanted = [start, start]
    for at, (slices, _) in enumerate(sets):
        for row in slices:
            wanted[at] = step(OfNumPy, row, wanted[at])

    def is_right(model: Path) -> bool:
        found = engines.run_all("openvino", model, sets, folder)
        pairs = zip(found, wanted, strict=True)
        return all(np.allclose(outputs[0], right, 1e-5, 1e-6) for outputs, right in pairs)

    return "OVN102" in codes, is_right(path), is_right(repaired)


@needs_engines
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("following", FOLLOWING)
def test_only_the_first_operand_that_is_not_constant_lends_its_memory(
    name: str, other: str, following: str, engines: Engines, tmp_path: Path
) -> None:
    def step(view_is_first: bool) -> Step:
        def next_state(f: Any, view: Any, state: Any) -> Any:
            operands = [view, OTHERS[other](f, state)]
            result = getattr(f, name)(*(operands if view_is_first else operands[::-1]))
            return FOLLOWING[following](f, result, state)

        return next_state

    start = np.array([0.5, 1, 2], F32)
    first = judged(step(True), start, engines, tmp_path)
    second = judged(step(False), start, engines, tmp_path)
    assert first[::2] == (True, True)
    assert second[::2] == (other == "number", True)
    assert second[1] or other == "number"
    if (other, following) == ("state", "nothing"):
        assert not first[1]
    if (other, following) == ("number", "sum") and name in ("add", "multiply"):
        assert not second[1]


@needs_engines
@pytest.mark.parametrize("is_integer", [False, True])
def test_values_of_two_types_share_no_memory(
    is_integer: bool, engines: Engines, tmp_path: Path
) -> None:
    def step(f: Any, view: Any, state: Any) -> Any:
        chosen = f.select(f.less(view, f.constant(1.0)), f.constant(1.0), f.constant(2.0))
        return f.add(f.integer(chosen) if is_integer else chosen, state)

    start = np.array([1, 2, 3], np.int32 if is_integer else F32)
    found, is_right, is_repaired = judged(step, start, engines, tmp_path)
    assert found is not is_integer
    assert is_right is is_integer
    assert is_repaired


@needs_engines
def test_an_operand_of_a_pattern_may_lend_its_memory(engines: Engines, tmp_path: Path) -> None:
    def step(f: Any, view: Any, _: Any) -> Any:
        return f.multiply(f.matmul(view), view)

    start = np.array([0.5, 1, 2], F32)
    assert judged(step, start, engines, tmp_path)[::2] == (True, True)
