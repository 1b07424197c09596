"""Resizing in ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Portion, Resized
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.resize import Resampling

__all__ = [
    "Resize",
    "Resize10",
    "Resize11",
    "Resize13",
    "Upsample",
    "Upsample1",
    "Upsample9",
    "resize_since",
]


def _asymmetric(mode: str) -> Resampling:
    """Return the settings of a resize with asymmetric coordinates.

    In mode "nearest", a coordinate is rounded down if the axis grows and up if it shrinks. Every
    other mode means linear interpolation.
    """
    return kernels.resize.Resampling(
        "nearest" if mode == "nearest" else "linear", "asymmetric", "simple"
    )


#: The values that an attribute of Resize may have in any of its versions.
_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
#: Scales must be more than 0; this is the smallest f32.
_LEAST_SCALE = 2.0**-149

#: Modes of Upsample and Resize-10 in ONNX Runtime. The standard has only the first two.
_MODES = ("nearest", "linear", "cubic")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


class Upsample1(OnnxOp, type="Upsample", since=1, inputs=1):
    """Enlarges images [N,C,H,W] (Upsample-1)."""

    expands = True

    width_scale: float
    height_scale: float
    mode: str = "nearest"

    def how(self) -> Resampling:
        """The attributes in the form that the kernel takes."""
        return _asymmetric(self.mode)

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        if rank not in (None, 4):
            raise args.error("its data is not an image", "[N, C, H, W]", str(args.shape(0)))
        return [TensorType(args.element(0), Shape.of_rank(4))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        import numpy as np

        scales = np.array([1, 1, self.height_scale, self.width_scale], dtype=np.float32)
        run = kernels.resize.onnx_resize(self.how(), (), "stretch")
        return lambda data: run(data, None, scales)


class Upsample(OnnxOp, type="Upsample", since=7, inputs=1):
    """Enlarges data by `scales`, one per axis (Upsample-7)."""

    expands = True

    scales: tuple[float, ...]
    mode: str = attribute(default="nearest", words=_MODES)

    def how(self) -> Resampling:
        """Return the attributes as the settings of the resize kernel."""
        return _asymmetric(self.mode)

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        if rank not in (len(self.scales), None):
            raise args.error("there must be one scale per axis", str(rank), str(len(self.scales)))
        shape = UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        import numpy as np

        scales = np.array(self.scales, dtype=np.float32)
        run = kernels.resize.onnx_resize(self.how(), (), "stretch")
        return lambda data: run(data, None, scales)


def _counts_of(sizes: Sequence[int], scales: Any) -> list[Dim]:
    """Compute the output sizes floor(size * scale) in f32.

    `scales` is a constant: an array, or an object with the method `tolist` if NumPy is not loaded.
    """
    import numpy as np

    numbers = np.array(scales.tolist(), np.float32).reshape(-1)
    return list(kernels.resize.counts_of_scales(sizes, numbers))


class _ByScales(OnnxOp):
    """Base of Upsample-9 and Resize-10, which take the scales as input 1.

    Coordinates are asymmetric: the position in the input is the output position / scale.
    """

    meanings = (Resized(1, data=0),)

    #: The smallest valid scale.
    least: ClassVar[float] = _LEAST_SCALE

    mode: str = attribute(default="nearest", words=_MODES)

    def how(self) -> Resampling:
        """Return the attributes as the settings of the resize kernel."""
        return _asymmetric(self.mode)

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_within(args, 1, self.least, math.inf, "a scale")
        dims, scales = args.shape(0).dims, args.constant(1)
        element = args.element(0)
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        sizes = args.shape(0).static()
        if scales is None or sizes is None:
            return [TensorType(element, Shape.of_rank(len(dims)))]
        if scales.size != len(dims):
            raise args.error("there must be one scale per axis", str(len(dims)), str(scales.size))
        return [TensorType(element, Shape(tuple(_counts_of(sizes, scales))))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.resize.onnx_resize(self.how(), (), "stretch")
        return lambda data, scales: run(data, None, scales)


class Upsample9(_ByScales, type="Upsample", since=9, until=9, inputs=2):
    """Enlarges data by the scales in input 1, one per axis (Upsample-9)."""

    expands = True
    least = 1.0


class Resize10(_ByScales, type="Resize", since=10, inputs=2):
    """Resizes data by the scales in input 1, one per axis (Resize-10)."""

    expands = True


class Resize11(OnnxOp, type="Resize", since=11, inputs=(1, 4)):
    """Resizes data; inputs data, region, and scales, sizes or both (Resize-11).

    The region (starts and ends in 0..1) is used by tf_crop_and_resize.
    """

    meanings = (
        Portion(1),
        Resized(2, data=0),
        Resized(3, data=0),
    )

    expands = True

    mode: str = "nearest"
    coordinate_transformation_mode: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0

    def chosen_axes(self) -> tuple[int, ...]:
        """The axes to which sizes or scales apply; empty for all."""
        return ()

    def policy(self) -> str:
        """The policy by which a resize keeps the aspect ratio; "stretch" does not keep it."""
        return "stretch"

    def widens(self) -> bool:
        """Return whether antialiasing widens the filter on axes that shrink."""
        return False

    def how(self) -> Resampling:
        """The attributes in the form that the kernel takes."""
        return kernels.resize.Resampling(
            self.mode,
            self.coordinate_transformation_mode,
            self.nearest_mode,
            self.cubic_coeff_a,
            self.widens() and self.mode != "nearest",
            self.exclude_outside != 0,
            extrapolation=self.extrapolation_value,
        )

    def infer(self, args: Arguments) -> list[ValueType]:
        element, dims = args.element(0), args.shape(0).dims
        if self.mode not in ("nearest", "linear", "cubic"):
            raise args.error("mode is unknown", "nearest, linear or cubic", self.mode, kind="range")
        if self.coordinate_transformation_mode not in _COORDINATES:
            raise args.error(
                "coordinate_transformation_mode is unknown",
                ", ".join(_COORDINATES),
                self.coordinate_transformation_mode,
                kind="range",
            )
        if self.nearest_mode not in _ROUNDINGS:
            expected = ", ".join(_ROUNDINGS)
            raise args.error("nearest_mode is unknown", expected, self.nearest_mode, kind="range")
        for position in (2, 3):
            inference.require_rank(args, position, 1)
        if not args.has(2) and not args.has(3):
            raise args.error("neither scales nor sizes are given", "input 2 or input 3", "none")
        counts = [args.shape(position).count() for position in (2, 3) if args.has(position)]
        if dims != () and not any(count != 0 for count in counts):
            raise args.error("scales and sizes are empty", "one scale or size per axis", "none")
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        for axis in self.chosen_axes():
            inference.axis_in(args, axis, len(dims))
        axes = [axis % len(dims) for axis in self.chosen_axes()] or list(range(len(dims)))
        if len(set(axes)) != len(axes):
            raise args.error("an axis is named twice", "axes that differ", str(self.chosen_axes()))
        result = list(Shape.of_rank(len(dims)).dims or ())
        for axis in range(len(dims)):
            if axis not in axes:
                result[axis] = dims[axis]
        known = self._counts(args, axes)
        for axis, count in zip(axes, known or (), strict=False):
            result[axis] = count
        return [TensorType(element, Shape(tuple(result)))]

    def _counts(self, args: Arguments, axes: list[int]) -> list[Dim] | None:
        """Return the new sizes of the axes, or None if they are not known.

        Raises:
            InferenceError: when there is not one size or scale per axis.
        """
        inference.require_within(args, 2, _LEAST_SCALE, math.inf, "a scale")
        inference.require_within(args, 3, 1, math.inf, "a size")
        wanted = args.dims(3) if args.has(3) else None
        scales = args.constant(2) if args.has(2) else None
        count = len(wanted) if wanted else int(scales.size) if scales is not None else len(axes)
        for position in (2, 3):
            length = args.shape(position).count() if args.has(position) else None
            count = count if length is None or length in (0, len(axes)) else length
        if args.has(3) and wanted is None and args.shape(3).count() is None:
            # ONNX Runtime takes an unknown number of sizes for 0.
            raise args.error("the number of sizes is unknown", str(len(axes)), "any number")
        if count not in (0, len(axes)):
            raise args.error("there must be one size or scale per axis", str(len(axes)), str(count))
        if wanted and self.policy() == "stretch":
            return list(wanted)
        shape = args.shape(0)
        sizes = [shape.dim(axis) for axis in axes]
        known = [size for size in sizes if isinstance(size, int)]
        if len(known) != len(sizes):
            return None
        if wanted:
            numbers = [size for size in wanted if isinstance(size, int)]
            if len(numbers) != len(wanted):
                return None
            plans = kernels.resize.onnx_plans(
                known, range(len(known)), None, numbers, self.policy(), ()
            )
            return [plan.count for plan in plans]
        if scales is None or not scales.size:
            return None
        return _counts_of(known, scales)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.resize.onnx_resize(self.how(), self.chosen_axes(), self.policy())


class Resize13(Resize11, type="Resize", since=13, inputs=(1, 4)):
    """Resizes data; inputs data, region, and either scales or sizes, not both (Resize-13)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        if all(args.has(position) and args.shape(position).count() != 0 for position in (2, 3)):
            raise args.error("scales and sizes are both given", "one of them", "both")
        return super().infer(args)


class Resize(Resize13, type="Resize", since=18, inputs=(1, 4)):
    """Resizes all axes, or those in `axes`, with optional antialiasing (Resize-18, 19).

    The inputs are those of Resize-11: data, region, and either scales or sizes.
    `keep_aspect_ratio_policy` tells whether sizes are limits for a common scale.
    """

    antialias: int = 0
    axes: tuple[int, ...] = ()
    keep_aspect_ratio_policy: str = attribute(
        default="stretch", words=("stretch", "not_larger", "not_smaller")
    )

    def chosen_axes(self) -> tuple[int, ...]:
        return self.axes

    def policy(self) -> str:
        return self.keep_aspect_ratio_policy

    def widens(self) -> bool:
        return self.antialias != 0


def resize_since(opset: int) -> type[Resize11]:
    """Return the class of Resize in an opset from 11 on."""
    return next(cls for cls in (Resize, Resize13, Resize11) if cls.since <= opset)
