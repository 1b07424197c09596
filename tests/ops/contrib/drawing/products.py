"""Random products and convolutions."""

from __future__ import annotations

from typing import Any

from tests.ops.contrib.against_runtime import Case
from tests.ops.contrib.drawing.draw import Array, Draw, Drawer, trimmed

__all__ = ["DRAWERS"]

#: The activations of fused products, with the parameters that each of them has.
ACTIVATIONS = {
    "Relu": (),
    "Sigmoid": (),
    "Tanh": (),
    "Softplus": (),
    "Softsign": (),
    "LeakyRelu": ("alpha",),
    "Elu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "Selu": ("alpha", "gamma"),
}


def operands(d: Draw, swap_a: bool, swap_b: bool) -> tuple[Array, Array]:
    """Two operands of a product; their batches broadcast, or one is a vector."""
    rows, inner, columns = d.size(), d.size(), d.size()
    batch = [d.size(1, 3) for _ in range(d.size(0, 2))]
    one = [size if d.chance(0.8) else 1 for size in batch]
    other = [size if d.chance(0.8) else 1 for size in batch]
    if d.chance(0.3):
        one = one[1:]
    elif d.chance(0.3):
        other = other[1:]
    left = [*one, inner, rows] if swap_a else [*one, rows, inner]
    right = [*other, columns, inner] if swap_b else [*other, inner, columns]
    if d.chance(0.1):
        left = [inner]
    elif d.chance(0.1):
        right = [inner]
    return d.floats(*left), d.floats(*right)


def product(type: str) -> Drawer:
    """A function that generates a product with transposed operands."""

    def draw(d: Draw) -> Case:
        words = d.words(transA=(0, 1), transB=(0, 1), alpha=(0.5, 1.0, -2.0, 0.0))
        if type == "FusedMatMul" and d.chance(0.3):
            a, b = batched(d, words)
        else:
            a, b = operands(d, bool(words.get("transA")), bool(words.get("transB")))
        return Case(
            type,
            [a, b],
            constants=d.constants([1], [a, b]),
            opset=d.opset(),
            **words,
        )

    return draw


def batched(d: Draw, words: dict[str, Any]) -> tuple[Array, Array]:
    """Operands whose batch axis is before their last axis; adds the attributes for this to
    `words`.
    """
    words |= {"transBatchA": d.pick([0, 1]), "transBatchB": d.pick([0, 1])}
    rows, inner, columns = d.size(), d.size(), d.size()
    batch = [d.size(1, 3) for _ in range(d.size(1, 2))]
    found = []
    for name, sizes in (("A", [rows, inner]), ("B", [inner, columns])):
        first, last = reversed(sizes) if words.get(f"trans{name}") else sizes
        moved = words[f"transBatch{name}"]
        shape = [first, *batch, last] if moved else [*batch, first, last]
        found.append(d.floats(*shape))
    return found[0], found[1]


def gemm(d: Draw) -> Case:
    """FusedGemm."""
    words = d.words(transA=(0, 1), transB=(0, 1), alpha=(0.5, -2.0), beta=(0.5, 0.0))
    rows, inner, columns = d.size(), d.size(), d.size()
    a = d.floats(*([inner, rows] if words.get("transA") else [rows, inner]))
    b = d.floats(*([columns, inner] if words.get("transB") else [inner, columns]))
    shapes: list[list[int]] = [[], [columns], [1], [rows, 1], [1, columns], [rows, columns]]
    inputs = trimmed([a, b, d.floats(*d.pick(shapes)) if d.chance(0.7) else None])
    name = d.pick(list(ACTIVATIONS))
    numbers: dict[str, Any] = {
        f"activation_{word}": d.pick([0.1, 0.5, 1.5]) for word in ACTIVATIONS[name]
    }
    return Case(
        "FusedGemm",
        inputs,
        constants=d.constants([1, 2], inputs),
        opset=d.opset(),
        activation=name,
        **words,
        **numbers,
    )


def convolution(d: Draw) -> Case:
    """FusedConv."""
    axes = d.pick([1, 2, 2, 2, 3])
    group = d.pick([1, 1, 2, 3])
    kernel = [d.size(1, 3) for _ in range(axes)]
    dilations = [d.size(1, 2) for _ in range(axes)]
    spatial = [d.size(5, 8) for _ in range(axes)]
    x = d.floats(d.size(1, 2), group * d.size(1, 3), *spatial)
    filters = group * d.size(1, 3)
    w = d.floats(filters, x.shape[1] // group, *kernel)
    words: dict[str, Any] = {"dilations": dilations} if d.chance(0.3) else {}
    strides = [d.size(1, 2) for _ in range(axes)]
    if d.chance():
        words["strides"] = strides
    pads = [d.size(0, 2) for _ in range(2 * axes)]
    if d.chance(0.4):
        words["pads"] = pads
    elif d.chance(0.3):
        words["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
        words.pop("dilations", None)
    name = d.pick(["Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"])
    counts = {"LeakyRelu": [0.25], "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4]}
    if name in counts:
        words["activation_params"] = counts[name]
    inputs = trimmed([x, w, d.maybe(filters)])
    is_addable = not {"auto_pad", "pads", "strides", "dilations"} & set(words)
    if is_addable and len(inputs) == 3 and axes == 2:
        sizes = [size - k + 1 for size, k in zip(spatial, kernel, strict=True)]
        inputs.append(d.floats(x.shape[0], filters, *sizes))
    return Case(
        "FusedConv",
        inputs,
        constants=[1],
        opset=d.opset(),
        activation=name,
        group=group,
        tolerance=2e-5,
        **words,
    )


DRAWERS: dict[str, Drawer] = {
    "FusedMatMul": product("FusedMatMul"),
    "TransposeMatMul": product("TransposeMatMul"),
    "FusedGemm": gemm,
    "FusedConv": convolution,
}
