"""Shared parts of the conversions of recurrent operations: weights, activations, zero states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx import activation as onnx
from irloop.dialects.onnx import elementwise as onnx_elementwise
from irloop.dialects.recurrent import ACTIVATIONS, Activation
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor
from irloop.passes.stored import stored_node

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "ONNX_NAMES",
    "by_position",
    "constant",
    "gate_rows",
    "in_order",
    "onnx_activation",
    "static_dim",
    "taken",
]


#: Activation functions, keyed by their names in lower case.
ONNX_NAMES = {
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "relu": "Relu",
    "softsign": "Softsign",
    "softplus": "Softplus",
    "affine": "Affine",
    "leakyrelu": "LeakyRelu",
    "thresholdedrelu": "ThresholdedRelu",
    "scaledtanh": "ScaledTanh",
    "hardsigmoid": "HardSigmoid",
    "elu": "Elu",
}


def constant(c: Conversion, array: Array, like: Value, name: str) -> Value:
    """A constant with the elements of `array` in the element type of `like`."""
    import numpy as np

    return c.tensor(ArrayTensor(np.ascontiguousarray(array), element_of(like)), name)


def taken(c: Conversion, value: Value, places: Sequence[int], axis: int, name: str) -> Value:
    """Return the entries of `value` at the indices `places` along `axis`.

    If `value` is a constant, the result is a new constant called `name`, stored in the same type.
    Otherwise, a Gather takes
    the entries at run time.
    """
    node = stored_node(value)
    if node is None:
        return c.gather(value, c.i64(list(places)), axis)
    assert isinstance(node.op, Constant)
    array = node.op.tensor.numpy().take(places, axis=axis)
    made = constant(c, array, node.output, f"{c.prefix}/{name}")
    return made if node is value.producer else c(value.producer.op, made)


def gate_rows(order: Sequence[int], size: int) -> list[int]:
    """The row indices of gates in the order `order`; each gate has `size` rows."""
    return [gate * size + row for gate in order for row in range(size)]


def static_dim(c: Conversion, value: Value, axis: int, what: str) -> int:
    """Return the size of an axis that has to be known; `what` names it in the error message.

    Raises:
        RefusedError: when the size is not known.
    """
    shape = shape_of(value)
    dim = None if shape.dims is None else shape.dims[axis]
    if not isinstance(dim, int):
        raise c.refuse(f"the {what} is not known", "give the weights a static shape")
    return dim


def in_order(functions: Sequence[Activation]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the ONNX attributes activation_alpha and activation_beta for these activations.

    An activation without an alpha or a beta adds nothing to that list: for Sigmoid and LeakyRelu,
    the alphas have one item and the betas none.
    """
    alphas = tuple(alpha for name, alpha, _ in functions if ACTIVATIONS[name][0] > 0)
    betas = tuple(beta for name, _, beta in functions if ACTIVATIONS[name][0] > 1)
    return alphas, betas


def by_position(functions: Sequence[Activation]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return alphas and betas in OpenVINO's form: one entry of each per activation.

    Both are empty if none of the activations has a parameter.
    """
    if not any(ACTIVATIONS[name][0] for name, _, _ in functions):
        return (), ()
    return tuple(alpha for _, alpha, _ in functions), tuple(beta for *_, beta in functions)


def onnx_activation(c: Export, function: Activation, x: Value) -> Value:
    """Emit an activation in ONNX operations."""
    name, alpha, beta = function
    match name:
        case "sigmoid":
            return c(onnx.Sigmoid(), x)
        case "tanh":
            return c(onnx_elementwise.Tanh(), x)
        case "relu":
            return c(onnx.Relu(), x)
        case "softsign":
            return c(onnx.Softsign(), x)
        case "softplus":
            return c(onnx.Softplus(), x)
        case "leakyrelu":
            return c(onnx.LeakyRelu(alpha=alpha), x)
        case "hardsigmoid":
            return c(onnx.HardSigmoid(alpha=alpha, beta=beta), x)
        case "elu":
            return c(onnx.Elu(alpha=alpha), x)
        case "affine":
            scaled = c.multiply(x, c.scalar(alpha, x))
            return c.add(scaled, c.scalar(beta, x))
        case "scaledtanh":
            inner = c.multiply(x, c.scalar(beta, x))
            return c.multiply(c(onnx_elementwise.Tanh(), inner), c.scalar(alpha, x))
    # If x equals alpha, ThresholdedRelu returns 0, but the activation of a recurrent operation
    # returns x.
    below = c.less(x, c.scalar(alpha, x))
    return c.select(below, c.scalar(0.0, x), x)
