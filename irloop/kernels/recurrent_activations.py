"""Activation functions of LSTM, GRU and RNN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["activation", "clipped"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _sigmoid(x: Array) -> Array:
    result = np.exp(-x)
    result += 1
    return np.reciprocal(result, out=result)


def _relu(x: Array) -> Any:
    return np.maximum(x, 0)


def _softsign(x: Array) -> Any:
    return x / (1 + np.abs(x))


def _softplus(x: Array) -> Any:
    # log(1 + e^x) without overflow.
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


_PLAIN: dict[str, Function] = {
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "relu": _relu,
    "softsign": _softsign,
    "softplus": _softplus,
}

_WITH_PARAMETERS: dict[str, Callable[[Array, float, float], Any]] = {
    "affine": lambda x, a, b: a * x + b,
    "leakyrelu": lambda x, a, _: np.where(x < 0, a * x, x),
    "thresholdedrelu": lambda x, a, _: np.where(x >= a, x, 0).astype(x.dtype),
    "scaledtanh": lambda x, a, b: a * np.tanh(b * x),
    "hardsigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "elu": lambda x, a, _: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
}


def activation(name: str, alpha: float = 0.0, beta: float = 0.0) -> Function:
    """Return the activation function called `name`, such as "tanh" or "leakyrelu".

    `name` must be in lower case. `alpha` and `beta` are the parameters of those functions that have
    any, for example the slope of "leakyrelu"; other functions ignore them.

    Raises:
        ValueError: when the specifications have no activation with this name.
    """
    plain = _PLAIN.get(name)
    if plain is not None:
        return plain
    function = _WITH_PARAMETERS.get(name)
    if function is None:
        raise ValueError(f"{name!r} is not an activation function of a recurrent operation")
    return lambda x: function(x, alpha, beta)


def clipped(function: Function, clip: float) -> Function:
    """Return `function` with its input clipped to -clip..clip; a `clip` of 0 means no bound."""
    if clip <= 0:
        return function
    return lambda x: function(np.clip(x, -clip, clip))
