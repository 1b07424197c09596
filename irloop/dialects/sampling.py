"""Type inference for grid sampling, shared by both dialects."""

from __future__ import annotations

from irloop.dialects.windows import same_dim
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_SHAPE, Shape, TensorType, ValueType

__all__ = ["grid_sample_types", "mode_of"]

_MODES = {
    "nearest": "nearest",
    "bilinear": "linear",
    "linear": "linear",
    "bicubic": "cubic",
    "cubic": "cubic",
}


def mode_of(mode: str) -> str:
    """Map any version's spelling to `nearest`, `linear` or `cubic`.

    Raises:
        ValueError: for an unknown mode.
    """
    known = _MODES.get(mode.lower())
    if known is None:
        raise ValueError(f"mode {mode!r} is not one of {', '.join(sorted(_MODES))}")
    return known


def grid_sample_types(args: Arguments, mode: str) -> list[ValueType]:
    """The type of data [N, C, D1...] sampled at a grid [N, o1, ..., r].

    Raises:
        InferenceError: when data and grid do not match.
    """
    try:
        mode_of(mode)
    except ValueError as error:
        raise args.error(str(error)) from error
    element = args.element(0)
    data, grid = args.shape(0).dims, args.shape(1).dims
    if data is not None and grid is not None and len(data) != len(grid):
        raise args.error("data and grid differ in rank", f"rank {len(data)}", f"rank {len(grid)}")
    known = data if data is not None else grid
    if known is not None and len(known) < 3:
        raise args.error("no spatial axis", "rank 3 or more", str(args.shape(0)))
    if data is None and grid is None:
        return [TensorType(element, UNKNOWN_SHAPE)]
    if data is None or grid is None:
        return [TensorType(element, Shape.of_rank(len(data or grid or ())))]
    same_dim(args, "the batch size of the grid differs from that of the data", data[0], grid[0])
    same_dim(args, "the grid must hold one coordinate per spatial axis", len(data) - 2, grid[-1])
    batch = data[0] if isinstance(data[0], int) else grid[0]
    return [TensorType(element, Shape((batch, data[1], *grid[1:-1])))]
