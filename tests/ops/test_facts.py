"""Facts declared in operation classes, compared with their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.op import Op

FLOATS = np.array([[0.5, 0.25, 0.75], [0.125, 0.875, 0.375]], np.float32)
LOGICAL = np.array([[True, False, True], [False, False, True]])
OTHER = np.array([[0.25, 0.5, 0.75], [0.5, 0.875, 0.125]], np.float32)
ORDER = np.array([4, 2, 0, 5, 1, 3])


def all_classes() -> list[type[Op]]:
    return [cls for registry in (ONNX, OPENVINO) for cls in registry.all()]


def ready(cls: type[Op]) -> bool:
    """True if the class has a kernel and needs no attributes."""
    try:
        cls().kernel()
    except (TypeError, NotImplementedError):
        return False
    return True


ELEMENTWISE = [cls for cls in all_classes() if cls.elementwise and ready(cls)]


def operands(cls: type[Op]) -> list[Any]:
    """Tensors for the kernel of the class; inputs other than the operand are scalars."""
    is_logical = any(word in cls.type for word in ("And", "Or", "Xor", "Not"))
    pair = [LOGICAL, ~LOGICAL] if is_logical and "Equal" not in cls.type else [FLOATS, OTHER]
    least, most = cls.arity
    if "x: i8" in cls.operands:
        return [(100 * FLOATS).astype(np.int8), *[np.array(0.5, np.float32)] * (least - 1)]
    if least > 2:
        return [FLOATS, *[np.array(0.5, np.float32)] * (least - 1)]
    return pair if most != 1 else pair[:1]


def moved(tensor: Any) -> Any:
    """The elements in another order and shape; a scalar is unchanged."""
    return tensor.reshape(-1)[ORDER].reshape(3, 2) if tensor.ndim else tensor


@pytest.mark.parametrize("cls", ELEMENTWISE, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_elementwise_operations_read_only_the_element_at_the_same_position(cls: type[Op]) -> None:
    given = operands(cls)
    kernel = cls().kernel()
    result = np.asarray(kernel(*given))
    assert result.shape == FLOATS.shape
    # The same function of elements in another order may differ in the last bit.
    np.testing.assert_allclose(kernel(*map(moved, given)), moved(result), rtol=1e-6)


def test_most_elementwise_operations_are_in_the_test_above() -> None:
    assert len(ELEMENTWISE) > 100


@pytest.mark.parametrize(
    ("cls", "expected"),
    [(cls, cls.comparator) for cls in all_classes() if cls.comparator is not None],
    ids=str,
)
def test_comparators_agree_with_kernels(cls: type[Op], expected: Any) -> None:
    pairs = [(1, 2), (2, 2), (2, 1)]
    left, right = (np.array(items, np.float32) for items in zip(*pairs, strict=True))
    found = cls().kernel()(left, right)
    assert list(found) == [expected(*pair) for pair in pairs]


def test_only_operations_that_the_executor_knows_own_bodies() -> None:
    owners = {cls.type for cls in all_classes() if cls.body_labels}
    assert owners == {"If", "Loop", "Scan", "TensorIterator"}


def test_classes_of_a_type_are_those_of_both_dialects() -> None:
    assert {cls.registry for cls in classes_of("Loop")} == {ONNX, OPENVINO}
    assert len(classes_of("Reshape")) == 4
    with pytest.raises(KeyError, match="Nonsense"):
        classes_of("Loop", "Nonsense")
