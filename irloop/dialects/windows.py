"""Shape inference for windows over spatial axes, shared by both dialects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.graph.arguments import Arguments
from irloop.graph.types import LARGEST_SIZE, UNKNOWN_DIM, Dim, Shape
from irloop.kernels.geometry import Window

__all__ = [
    "Placement",
    "checked_window",
    "filter_window",
    "pooled",
    "ranks_agree",
    "same_dim",
    "spatial_dims",
    "transposed_dims",
]

#: The type of `openvino_placement` and `onnx_placement`.
Placement = Callable[[int, int, int, Window, int | None], tuple[int, int]]


def checked_window(
    args: Arguments,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    pads_end: Sequence[int],
    auto_pad: str = "explicit",
) -> Window:
    """Create a `Window` from attributes.

    Raises:
        InferenceError: when the attributes contradict each other.
    """
    try:
        return Window.of(kernel, strides, dilations, pads_begin, pads_end, auto_pad)
    except ValueError as error:
        raise args.error(str(error)) from error


def pooled(args: Arguments, window: Callable[[], Window], *, least: int = 1) -> Shape:
    """The shape of the result of pooling input 0, [N, C, spatial...], with a window.

    N and C are kept. If the rank of the input is unknown, it is taken from the window. There must
    be at least `least` windows on each axis.

    Raises:
        InferenceError: when the attributes from which `window` is made contradict each other.
    """
    try:
        made = window()
    except ValueError as error:
        raise args.error(str(error)) from error
    shape = args.shape(0)
    if shape.dims is None:
        return Shape.of_rank(2 + len(made.kernel))
    return Shape((*shape.dims[:2], *spatial_dims(args, made, shape.dims[2:], least=least)))


def filter_window(
    args: Arguments,
    kernel: Sequence[Dim],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    pads_end: Sequence[int],
    auto_pad: str,
) -> Window | None:
    """The `Window` of a filter, or None if its size is unknown.

    Raises:
        InferenceError: when the attributes contradict each other.
    """
    sizes = [dim for dim in kernel if isinstance(dim, int)]
    if len(sizes) != len(kernel):
        return None
    return checked_window(args, sizes, strides, dilations, pads_begin, pads_end, auto_pad)


def spatial_dims(
    args: Arguments, window: Window | None, sizes: Sequence[Dim], *, least: int = 1
) -> list[Dim]:
    """The number of windows on each axis; unknown if the axis size or the window is unknown.

    Raises:
        InferenceError: when fewer than `least` windows fit, or the ranks differ.
    """
    if window is None:
        return [UNKNOWN_DIM] * len(sizes)
    if len(window.kernel) != len(sizes):
        raise args.error(
            "the window has a different number of axes than the data",
            f"{len(sizes)} spatial axes",
            f"{len(window.kernel)}",
        )
    result: list[Dim] = []
    for axis, size in enumerate(sizes):
        if not isinstance(size, int):
            result.append(UNKNOWN_DIM)
            continue
        pads = window.pads(axis, size)
        if size + sum(pads) >= LARGEST_SIZE:
            raise args.error(
                f"padding makes spatial axis {axis} too large",
                f"less than {LARGEST_SIZE} elements with padding",
                f"{size} elements and padding {pads}",
            )
        count = window.outputs(axis, size)
        if count < least:
            raise args.error(
                f"the window is larger than spatial axis {axis}",
                f"at least {window.extent(axis)} elements with padding",
                f"{size} elements and padding {pads}",
            )
        result.append(count)
    return result


def transposed_dims(
    args: Arguments,
    window: Window | None,
    sizes: Sequence[Dim],
    output_padding: Sequence[int],
    placement: Placement,
) -> list[Dim]:
    """The output sizes of a transposed convolution for which no output shape is given.

    `placement` computes the size of one axis (see `irloop.kernels.geometry.onnx_placement`).

    Raises:
        InferenceError: when a size is not positive, or the ranks differ.
    """
    if window is None:
        return [UNKNOWN_DIM] * len(sizes)
    extras = tuple(output_padding) or (0,) * len(sizes)
    if len(window.kernel) != len(sizes) or len(extras) != len(sizes):
        raise args.error(
            "the window or the output padding has a different number of axes than the data",
            f"{len(sizes)} spatial axes",
            f"{len(window.kernel)} and {len(extras)}",
        )
    result: list[Dim] = []
    for axis, size in enumerate(sizes):
        if not isinstance(size, int):
            result.append(UNKNOWN_DIM)
            continue
        count = placement(axis, size, extras[axis], window, None)[1]
        if count < 1 and size > 0:
            raise args.error(
                f"padding leaves nothing of spatial axis {axis}", "a positive size", str(count)
            )
        result.append(max(count, 0))
    return result


def same_dim(args: Arguments, message: str, left: Dim, right: Dim) -> Dim:
    """The dimension that two operands share.

    Raises:
        InferenceError: when both are known and differ; `message` is its text.
    """
    if isinstance(left, int) and isinstance(right, int) and left != right:
        raise args.error(message, str(left), str(right))
    return left if isinstance(left, int) else right


def ranks_agree(args: Arguments, data: Shape, filters: Shape, extra: int = 0) -> None:
    """Check that the ranks of the data and of the filter match.

    The data must have a spatial axis, and the filter must have the data's rank plus `extra`.

    Raises:
        InferenceError: when known ranks do not match.
    """
    for shape, least in ((data, 3), (filters, 3 + extra)):
        if shape.rank is not None and shape.rank < least:
            raise args.error("no spatial axis", f"rank {least} or more", f"rank {shape.rank}")
    if data.rank is None or filters.rank is None:
        return
    if filters.rank != data.rank + extra:
        raise args.error(
            "the filter has a different rank than the data",
            f"rank {data.rank + extra}",
            f"rank {filters.rank}",
        )
