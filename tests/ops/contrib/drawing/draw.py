"""A source of random shapes, arrays and choices for test cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tests.ops.contrib.against_runtime import Case

__all__ = ["Array", "Draw", "Drawer"]

Array = np.ndarray[Any, np.dtype[Any]]
Item = TypeVar("Item")

#: The tolerance for the results of each element type.
TOLERANCES = {np.dtype(np.float16): 4e-3, np.dtype(np.float64): 1e-9}


class Draw:
    """Random numbers of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def size(self, low: int = 1, high: int = 5) -> int:
        """A random number from `low` to `high`, both included."""
        return int(self.random.integers(low, high + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        """A random element of `items`."""
        return items[int(self.random.integers(len(items)))]

    def chance(self, probability: float = 0.5) -> bool:
        """True with the given probability."""
        return bool(self.random.random() < probability)

    def opset(self, least: int = 11) -> int:
        """A random opset of ai.onnx."""
        return self.pick([number for number in (7, 9, 11, 13, 15, 17, 21, 23) if number >= least])

    def shape(self, low: int = 1, high: int = 4) -> list[int]:
        """A random shape with `low` to `high` dimensions."""
        return [self.size() for _ in range(self.size(low, high))]

    def floats(self, *shape: int, scale: float = 1.0, type: Any = np.float32) -> Array:
        """Normally distributed numbers."""
        return (self.random.standard_normal(shape) * scale).astype(type)

    def maybe(self, *shape: int, probability: float = 0.5, type: Any = np.float32) -> Array | None:
        """Normally distributed numbers, or None."""
        return self.floats(*shape, type=type) if self.chance(probability) else None

    def codes(self, *shape: int, type: Any = np.uint8, bits: int = 8) -> Array:
        """Random integers of a type, whose absolute values have at most `bits` bits."""
        limits = np.iinfo(type)
        low = max(limits.min, -(1 << (bits - 1)) if limits.min else 0)
        high = min(limits.max, (1 << (bits - 1 if limits.min else bits)) - 1)
        return self.random.integers(low, high, shape, endpoint=True).astype(type)

    def scale(self, *shape: int, low: float = 0.005, high: float = 0.05) -> Array:
        """Random positive scales."""
        return self.random.uniform(low, high, shape).astype(np.float32)

    def words(self, **options: Sequence[Any]) -> dict[str, Any]:
        """Random attributes: each has one of its values, or is omitted."""
        return {name: self.pick(values) for name, values in options.items() if self.chance()}

    def constants(self, positions: Sequence[int], inputs: Sequence[Array | None]) -> list[int]:
        """All these positions or none of them, without those of omitted inputs."""
        kept = [at for at in positions if at < len(inputs) and inputs[at] is not None]
        return kept if self.chance() else []


def trimmed(inputs: Sequence[Array | None]) -> list[Array | None]:
    """Inputs without the omitted ones at the end."""
    found = list(inputs)
    while found and found[-1] is None:
        found.pop()
    return found


#: Generates a random node.
Drawer = Callable[[Draw], Case]
