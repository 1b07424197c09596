"""Random activations and normalisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.contrib.against_runtime import Case
from tests.ops.contrib.drawing.draw import TOLERANCES, Array, Draw, Drawer, trimmed

__all__ = ["DRAWERS"]

#: Scales of the inputs of activations; beyond 30 activations saturate.
SCALES = (0.1, 1.0, 5.0, 40.0)


def activation(type: str) -> Drawer:
    """A function that generates an activation with no attribute except alpha."""

    def draw(d: Draw) -> Case:
        x = d.floats(*d.shape(0), scale=d.pick(SCALES))
        words = d.words(alpha=(0.5, 1.0, 1.702, -1.0)) if type == "QuickGelu" else {}
        return Case(type, [x], opset=d.opset(), **words)

    return draw


def biased(type: str) -> Drawer:
    """A function that generates an activation of a sum."""

    def draw(d: Draw) -> Case:
        shape = d.shape()
        x, bias = d.floats(*shape, scale=d.pick(SCALES)), d.floats(shape[-1])
        inputs: list[Array | None] = [x, bias]
        if type == "FastGelu" and d.chance(0.3):
            inputs.pop()
        return Case(type, inputs, constants=d.constants([1], inputs), opset=d.opset())

    return draw


def skip_shape(d: Draw, shape: list[int]) -> list[int]:
    """The shape of x, or a shape without the batch axis or with batch size 1."""
    if len(shape) == 3 and d.chance(0.4):
        return d.pick([[1, *shape[1:]], shape[1:]])
    return shape


def skip_normalization(type: str) -> Drawer:
    """A function that generates a normalised sum."""

    def draw(d: Draw) -> Case:
        element = np.dtype(d.pick([np.float32, np.float32, np.float16]))
        shape = [d.size() for _ in range(d.pick([2, 3, 3]))]
        hidden = d.pick([1, 4, 8, 13])
        shape[-1] = hidden
        x = d.floats(*shape, type=element, scale=d.pick([0.01, 1.0, 20.0]))
        skip = d.floats(*skip_shape(d, shape), type=element)
        vectors = [d.floats(hidden, type=element), d.maybe(hidden, type=element)]
        if type == "SkipLayerNormalization":
            vectors.append(d.maybe(hidden, type=element))
        inputs = trimmed([x, skip, *vectors])
        return Case(
            type,
            inputs,
            outputs=d.pick([["y"], ["y", "", "", "sum"]]),
            constants=d.constants([2, 3, 4], inputs),
            opset=d.opset(),
            tolerance=TOLERANCES.get(element, 2e-5),
            **d.words(epsilon=(1e-5, 1e-12, 0.1)),
        )

    return draw


def plain_normalization(type: str) -> Drawer:
    """A function that generates LayerNormalization in old opsets, or its simplified form."""

    def draw(d: Draw) -> Case:
        element = np.dtype(d.pick([np.float32, np.float32, np.float16]))
        shape = d.shape(2, 4)
        shape[-1] = d.pick([4, 8, 13])
        axis = d.pick([-1, -1, -1, -2, len(shape) - 1, 1])
        x = d.floats(*shape, type=element)
        scale = d.floats(*shape[axis:], type=element)
        inputs: list[Array | None] = [x, scale]
        is_simplified = type == "SimplifiedLayerNormalization"
        if not is_simplified and d.chance():
            inputs.append(d.floats(*shape[axis:], type=element))
        words: dict[str, Any] = d.words(epsilon=(1e-5, 1e-12, 0.1))
        return Case(
            type,
            inputs,
            domain="",
            constants=d.constants([1, 2], inputs),
            opset=d.opset() if is_simplified else d.pick([11, 13, 15, 16]),
            tolerance=TOLERANCES.get(element, 2e-5),
            axis=axis,
            **words,
        )

    return draw


def embedding(d: Draw) -> Case:
    """EmbedLayerNormalization."""
    batch, length, hidden = d.size(1, 3), d.size(1, 5), d.pick([4, 8])
    ids = d.codes(batch, length, type=np.int32, bits=4) & 7
    segments = d.chance()
    inputs: list[Array | None] = [
        ids,
        (ids & 1) if segments else None,
        d.floats(8, hidden),
        d.floats(9, hidden),
        d.floats(2, hidden) if segments else None,
        d.floats(hidden),
        d.floats(hidden),
        d.codes(batch, length, type=np.int32, bits=2) & 1 if d.chance() else None,
    ]
    if d.chance(0.4):
        rows = d.pick([1, batch])
        inputs.append((d.codes(rows, length, type=np.int32, bits=4) & 7).astype(np.int32))
    inputs = trimmed(inputs)
    return Case(
        "EmbedLayerNormalization",
        inputs,
        outputs=d.size(2, 3),
        constants=d.constants([2, 3, 4, 5, 6], inputs),
        opset=d.opset(),
        tolerance=2e-5,
        **d.words(epsilon=(1e-5, 0.1), mask_index_type=(0, 1)),
    )


DRAWERS: dict[str, Drawer] = {
    "Gelu": activation("Gelu"),
    "QuickGelu": activation("QuickGelu"),
    "BiasGelu": biased("BiasGelu"),
    "FastGelu": biased("FastGelu"),
    "SkipLayerNormalization": skip_normalization("SkipLayerNormalization"),
    "SkipSimplifiedLayerNormalization": skip_normalization("SkipSimplifiedLayerNormalization"),
    "LayerNormalization": plain_normalization("LayerNormalization"),
    "SimplifiedLayerNormalization": plain_normalization("SimplifiedLayerNormalization"),
    "EmbedLayerNormalization": embedding,
}
