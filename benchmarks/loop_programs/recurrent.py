"""Cells and sequences of OpenVINO in NumPy, from the formulas of their specification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["gru", "lstm", "rnn", "sequence", "sigmoid"]

Array = np.ndarray[Any, np.dtype[Any]]


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return np.asarray(1 / (1 + np.exp(-x)))


def lstm(x: Array, h: Array, c: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array]:
    """H and C; gates in the order f, i, c, o."""
    f, i, candidate, o = np.split(x @ w.T + h @ r.T + b, 4, axis=-1)
    memory = sigmoid(f) * c + sigmoid(i) * np.tanh(candidate)
    return sigmoid(o) * np.tanh(memory), memory


def gru(x: Array, h: Array, w: Array, r: Array, b: Array) -> Array:
    """H; gates in the order z, r, h. Four parts of b: the reset gate comes after the product."""
    wz, wr, wh = np.split(w, 3)
    rz, rr, rh = np.split(r, 3)
    size = h.shape[-1]
    bz, br, bh = b[:size], b[size : 2 * size], b[2 * size : 3 * size]
    z = sigmoid(x @ wz.T + h @ rz.T + bz)
    reset = sigmoid(x @ wr.T + h @ rr.T + br)
    if len(b) == 4 * size:
        candidate = np.tanh(x @ wh.T + reset * (h @ rh.T + b[3 * size :]) + bh)
    else:
        candidate = np.tanh(x @ wh.T + (reset * h) @ rh.T + bh)
    return np.asarray((1 - z) * candidate + z * h)


def rnn(x: Array, h: Array, w: Array, r: Array, b: Array) -> Array:
    """H."""
    return np.asarray(np.tanh(x @ w.T + h @ r.T + b))


def sequence(cell: Callable[..., Any], direction: str) -> Callable[..., list[Array]]:
    """A sequence of full lengths: X [B,T,I], states [B,D,S], lengths, W, R and B by direction."""

    def meaning(x: Array, *others: Array) -> list[Array]:
        *states, _, w, r, b = others
        ways: dict[str, list[int]] = {"forward": [1], "reverse": [-1], "bidirectional": [1, -1]}
        outputs, lasts = [], []
        for at, step in enumerate(ways[direction]):
            now = [state[:, at] for state in states]
            rows = []
            for row in np.moveaxis(x, 1, 0)[::step]:
                made = cell(row, *now, w[at], r[at], b[at])
                now = list(made) if isinstance(made, tuple) else [made]
                rows.append(now[0])
            outputs.append(np.stack(rows[::step], 1))
            lasts.append(now)
        whole = np.stack(outputs, 1)
        return [whole, *(np.stack(parts, 1) for parts in zip(*lasts, strict=True))]

    return meaning
