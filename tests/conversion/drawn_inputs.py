"""Inputs of models in ONNX text, described by a kind and dimensions, and numbers for them.

A letter among the dimensions is a size that is not known, the same one wherever it occurs; e is
twice a. "index k,2", for instance, is a list of pairs of indices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["declared", "drawn"]

Array = np.ndarray[Any, np.dtype[Any]]


def _signed(numbers: Array, random: np.random.Generator) -> Array:
    return numbers * np.where(random.random(numbers.shape) < 0.5, -1, 1)


def _parts(_: list[int], random: np.random.Generator) -> Array:
    """Two sizes whose sum is 5."""
    first = int(random.integers(1, 5))
    return np.array([first, 5 - first])


def _boxes(dims: list[int], random: np.random.Generator) -> Array:
    corners = random.random(dims) * 4
    corners[:, 2:] = corners[:, :2] + 1 + corners[:, 2:] / 4
    return corners.astype(np.float32)


def _integers(low: int, high: int, dtype: str = "int64") -> Callable[..., Array]:
    return lambda dims, random: np.asarray(random.integers(low, high, dims)).astype(dtype)


#: The element type of each kind of input in ONNX text, and its numbers.
KINDS: dict[str, tuple[str, Callable[[list[int], np.random.Generator], Array]]] = {
    "": ("float", lambda dims, random: random.standard_normal(dims).astype(np.float32)),
    "int64": ("int64", _integers(-7, 8)),
    "uint8": ("uint8", _integers(0, 200, "uint8")),
    "int8": ("int8", _integers(-100, 100, "int8")),
    "index": ("int64", _integers(0, 2)),
    "size": ("int64", _integers(2, 6)),
    "few": ("int64", _integers(0, 3)),
    "count": ("int64", _integers(1, 5)),
    "diagonal": ("int64", _integers(-1, 2)),
    "end": ("int64", _integers(2, 9)),
    "length": ("int32", _integers(1, 5, "int32")),
    "shift": ("uint8", _integers(0, 4, "uint8")),
    "divisor": ("int64", lambda dims, random: _signed(random.integers(1, 6, dims), random)),
    "float divisor": (
        "float",
        lambda dims, random: _signed(random.random(dims) + 0.5, random).astype(np.float32),
    ),
    "parts": ("int64", _parts),
    "scale": ("float", _integers(1, 4, "float32")),
    "step": ("float", lambda dims, random: (random.random(dims) / 10 + 0.05).astype(np.float32)),
    "low": ("float", lambda *_: np.array(-0.5, np.float32)),
    "high": ("float", lambda _, random: np.array(random.random(), np.float32)),
    "boxes": ("float", _boxes),
    "scores": (
        "float",
        lambda dims, random: (
            (random.permutation(dims[-1]) / 10 + 0.1).reshape(dims).astype(np.float32)
        ),
    ),
}


def _kind_and_dims(description: str) -> tuple[str, list[str]]:
    kind, _, dims = description.rpartition(" ")
    if not kind and dims in KINDS:
        kind, dims = dims, ""
    return kind, dims.split(",") if dims else []


def declared(inputs: Mapping[str, str]) -> str:
    """The inputs as a list of declarations in ONNX text."""
    texts = []
    for name, description in inputs.items():
        kind, dims = _kind_and_dims(description)
        shape = f"[{','.join(dims)}]" if dims else ""
        texts.append(f"{KINDS[kind][0]}{shape} {name}")
    return ", ".join(texts)


def drawn(inputs: Mapping[str, str], random: np.random.Generator) -> list[Array]:
    """Numbers for the inputs; the unknown sizes are 2 to 5."""
    sizes = {letter: int(random.integers(2, 6)) for letter in "abcnmk"}
    sizes["e"] = 2 * sizes["a"]
    found = []
    for description in inputs.values():
        kind, dims = _kind_and_dims(description)
        shape = [sizes[dim] if dim in sizes else int(dim) for dim in dims]
        found.append(np.asarray(KINDS[kind][1](shape, random)))
    return found
