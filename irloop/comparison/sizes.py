"""Chooses sizes for the unknown dimensions of a model's inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from irloop.errors import UsageError
from irloop.graph.model import Model, Value
from irloop.graph.record import Record
from irloop.graph.types import DynamicDim, TensorType, tensor_within

__all__ = [
    "IMAGE",
    "RANK",
    "SIZES",
    "Place",
    "Sizes",
    "Variable",
    "groups_of",
    "image_axes",
    "key_of",
    "other_sizes",
    "placed",
    "require_dimensions",
    "single_axes",
    "sizes_of",
]

#: Sizes to try for unknown dimensions, in this order, until the model runs.
SIZES = (2, 3, 1, 4, 5, 7, 8, 16, 32, 64, 224)

#: Sizes to try for height, width and depth of images.
IMAGE_SIZES = (2, 1, 8, 32, 64, 224, 640)

#: Sizes to try for a batch of images, which stays small.
BATCHES = (2, 1)

#: The largest supported ratio of the size of an image to that of its smallest feature map.
MOST_STRIDE = 32

#: Maximum number of variables that are tried one by one with another size.
MOST_ALONE = 32

#: Ranks to try for inputs of unknown rank.
RANKS = (2, 1, 3, 4, 0)

#: The key of the unknown rank in `Sizes`.
RANK = 0

#: The key in `Sizes` that all unnamed sizes of images share.
IMAGE = -1

#: An axis of an input, as the position of the input and the axis.
Place = tuple[int, int]

#: Sizes, keyed by dimension or by axis of an input; the size of an axis overrides that of its
#: dimension.
Sizes = Mapping[DynamicDim | int | Place, int]


def image_axes(type: TensorType) -> range:
    """The axes of height, width and depth if a tensor may be a batch of images or volumes.

    Otherwise the range is empty.
    """
    dims = type.shape.dims or ()
    if len(dims) not in (4, 5):
        return range(0)
    channels = [isinstance(dim, int) and dim <= 4 for dim in dims]
    last = channels[-1] and not channels[1]
    return range(1, len(dims) - 1) if last else range(2, len(dims))


def key_of(dim: DynamicDim, image: bool) -> DynamicDim | int:
    """Return the key under which `Sizes` stores the size of a dimension.

    This is the dimension itself. With `image`, however, the key of every dimension that has neither
    a name nor bounds is IMAGE.
    """
    return IMAGE if image and dim == DynamicDim() else dim


def _dimension_names(model: Model) -> set[str]:
    """The names of unknown dimensions of the inputs of a model."""
    keys = (key for key, _ in _unknown(model))
    return {key.symbol for key in keys if isinstance(key, DynamicDim) and key.symbol}


def require_dimensions(sizes: Mapping[str, int] | None, models: Sequence[Model]) -> None:
    """Refuse `sizes` if it names a dimension that no input of the models has.

    Raises:
        UsageError: naming the dimension.
    """
    known = set().union(*map(_dimension_names, models))
    for name in sizes or {}:
        if name != "?" and name not in known:
            raise UsageError(
                f"no input has a dimension called {name!r}",
                expected=", ".join([*sorted(known), "? for dimensions without a name"]),
                found=name,
            )


def sizes_of(
    models: Sequence[Model], fixed: Mapping[str, int] | None = None
) -> Iterator[dict[DynamicDim | int | Place, int]]:
    """Yield assignments of sizes to the unknown dimensions of the inputs, the likeliest first.

    `fixed` fixes dimensions by name; its key "?" fixes the dimensions without a name.
    """
    named = dict(fixed or {})
    unknown = dict.fromkeys(pair for model in models for pair in _unknown(model))
    images = {key for key, image in unknown if image}
    others = {key for key, _ in unknown} - images
    ranks = RANKS if any(_has_unknown_rank(model) for model in models) else RANKS[:1]
    pairs = [(size, size) for size in (SIZES if others else SIZES[:1])]
    if images:
        batches = BATCHES if others else BATCHES[:1]
        strided = [2 * stride for stride in map(_total_stride, models) if stride > 1]
        image_sizes = dict.fromkeys((*strided[:1], *IMAGE_SIZES))
        pairs = [(batch, size) for size in image_sizes for batch in batches] + pairs[2:]
    seen = []
    for rank in ranks:
        for other, image in pairs:
            sizes: dict[DynamicDim | int | Place, int] = {RANK: rank}
            sizes |= {key: _sized(key, other, named) for key in others}
            sizes |= {key: _sized(key, image, named) for key in images}
            if sizes not in seen:
                seen.append(sizes)
                yield sizes


def placed(model: Model, sizes: Sizes) -> dict[DynamicDim | int | Place, int]:
    """Return a copy of `sizes` with an additional entry for each unknown axis of the inputs.

    The key is the position of the input and the axis: (0, 1) is axis 1 of input 0. The value is the
    size that `sizes` has for the dimension on this axis. If `sizes` already has an entry for the
    axis, that entry stays.
    """
    extended = dict(sizes)
    for index, value in enumerate(model.graph.inputs):
        type = tensor_within(value.type)
        image = image_axes(type)
        for axis, dim in enumerate(type.shape.dims or ()):
            if isinstance(dim, DynamicDim):
                extended.setdefault((index, axis), sizes[key_of(dim, axis in image)])
    return extended


def other_sizes(
    sizes: Sizes, groups: Sequence[Variable], fixed: Mapping[str, int] | None = None
) -> Iterator[dict[DynamicDim | int | Place, int]]:
    """Yield assignments of sizes to unknown dimensions, each different from `sizes`.

    The first assignments change every dimension; after them, each assignment changes only one group
    of axes. `sizes` maps every unknown axis, as the pair (input, axis), to its size, as `placed`
    returns it. `groups` are the axes that change together. `fixed` maps names of dimensions to
    required sizes; the name "?" means all dimensions without a name.
    """
    named = dict(fixed or {})
    keys = [key for key in sizes if isinstance(key, DynamicDim) or key == IMAGE]

    def changed(change: Callable[[int, int], int]) -> dict[DynamicDim | int | Place, int]:
        resized = dict(sizes)
        for at, group in enumerate(groups):
            resized |= {place: group.fit(change(sizes[place], at)) for place in group.places}
        return resized | {key: _sized(key, change(sizes[key], len(groups)), named) for key in keys}

    changes: list[Callable[[int, int], int]] = [
        lambda size, at: size + 1 + at,
        lambda size, _: size + 1,
        lambda size, _: size * 2,
        *(
            lambda size, at, only=only: size * 2 if at == only else size
            for only in range(min(len(groups), MOST_ALONE))
        ),
    ]
    seen = [dict(sizes)]
    for change in changes:
        resized = changed(change)
        if resized not in seen:
            seen.append(resized)
            yield resized


def _total_stride(model: Model) -> int:
    """Return the largest product of strides along a path through the model, at most 32.

    If convolutions and pooling shrink an image by a factor of 16 in total, and the model joins
    feature maps of different sizes, then the image size usually has to be a multiple of 16.
    """
    factors: dict[Value, int] = {}
    for node in model.graph.nodes:
        strides = getattr(node.op, "strides", None) or ()
        own = max((step for step in strides if isinstance(step, int)), default=1)
        given = max((factors.get(value, 1) for value in node.inputs if value), default=1)
        for value in node.outputs:
            factors[value] = min(given * max(own, 1), MOST_STRIDE)
    return max(factors.values(), default=1)


def _sized(key: DynamicDim | int, size: int, named: Mapping[str, int]) -> int:
    dim = key if isinstance(key, DynamicDim) else DynamicDim()
    wanted = named.get(dim.symbol or "?", size)
    wanted = max(wanted, dim.low)
    return wanted if dim.high is None else min(wanted, dim.high)


def _has_unknown_rank(model: Model) -> bool:
    types = [value.type for value in model.graph.inputs]
    return any(isinstance(item, TensorType) and item.shape.dims is None for item in types)


def _unknown(model: Model) -> Iterator[tuple[DynamicDim | int, bool]]:
    """Yield (key, is_image) for each dimension of unknown size of the model's inputs.

    `is_image` is True if the dimension may be the height, width or depth of an image. Dimensions
    with equal keys are given the same size. An input of unknown rank yields one pair: the key of
    dimensions without name and bounds, and False.
    """
    for value in model.graph.inputs:
        tensor = tensor_within(value.type)
        if tensor.shape.dims is None:
            yield DynamicDim(), False
        image = image_axes(tensor)
        for at, dim in enumerate(tensor.shape.dims or ()):
            if isinstance(dim, DynamicDim):
                yield key_of(dim, at in image), at in image


class Variable(Record):
    """Axes of inputs that have the same size, and the bounds of this size.

    `named` is set if a symbol names the size.
    """

    places: tuple[Place, ...]
    low: int = 1
    high: int | None = None
    named: bool = False

    def given(self, sizes: Sizes, size: int) -> dict[DynamicDim | int | Place, int]:
        """A copy of `sizes` in which all axes of this variable have the size `size`."""
        return dict(sizes) | dict.fromkeys(self.places, size)

    def fit(self, size: int) -> int:
        """The size within the bounds that is nearest to `size`."""
        return max(self.low, size if self.high is None else min(size, self.high))


def groups_of(model: Model, fixed: Mapping[str, int] | None = None) -> list[Variable]:
    """Return the unknown sizes of a model's inputs, each with all axes that have this size.

    Axes with the same symbol have the same size. So do unnamed axes at the same position of inputs
    with the same element type and declared shape. Dimensions that are `fixed` by name are left
    out; the name "?" in `fixed` fixes all unnamed dimensions.
    """
    names = set(fixed or {})
    members: dict[object, list[tuple[Place, DynamicDim]]] = {}
    for index, value in enumerate(model.graph.inputs):
        type = tensor_within(value.type)
        for axis, dim in enumerate(type.shape.dims or ()):
            if isinstance(dim, DynamicDim) and (dim.symbol or "?") not in names:
                members.setdefault(dim.symbol or (type, axis), []).append(((index, axis), dim))
    groups = []
    for key, pairs in members.items():
        low = max(1, *(dim.low for _, dim in pairs))
        high = min((dim.high for _, dim in pairs if dim.high is not None), default=None)
        places = tuple(place for place, _ in pairs)
        groups.append(Variable(places, low, high, named=isinstance(key, str)))
    return groups


def single_axes(groups: Sequence[Variable]) -> list[Variable]:
    """Split each unnamed group of several axes into one variable per axis."""
    return [
        replace(group, places=(place,))
        for group in groups
        if not group.named and len(group.places) > 1
        for place in group.places
    ]
