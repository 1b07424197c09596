"""Interpolation in OpenVINO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import RESIZE_MODES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Resized
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.resize import Resampling

__all__ = ["Interpolate", "Interpolate1", "Interpolate11", "Interpolation"]

MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "linear_onnx": "linear",
    "cubic": "cubic",
    "bilinear_pillow": "bilinear_pillow",
    "bicubic_pillow": "bicubic_pillow",
}


def _padded(dim: Dim, low: int, high: int) -> Dim:
    return dim + low + high if isinstance(dim, int) else dim


#: Element types that Interpolate-4 and Interpolate-11 resize, and those of sizes and axes.
_IMAGES = "f16 | bf16 | f32 | f64 | i8 | u8 | i32 | i64"
_SIZES = "i32 | i64 | u32 | u64"


class Interpolation(OpenVinoOp):
    """Base of all versions of Interpolate: the data is padded with zeros, then resized."""

    def how(self) -> Resampling:
        """The attributes in the form that the kernel takes."""
        raise NotImplementedError(self.label)

    def pads(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The number of zeros before and after each axis; axes without an entry are not padded."""
        return (), ()

    def by_scales(self) -> bool:
        """Return whether an input holds scales, from which the new sizes are computed.

        If not, an input holds the new sizes.
        """
        return False

    def _resized(
        self, args: Arguments, axes: tuple[int, ...] | None, wanted: tuple[Dim, ...] | None
    ) -> list[ValueType]:
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        if axes is None:
            return [TensorType(element, Shape.of_rank(len(dims)))]
        if any(not 0 <= axis < len(dims) for axis in axes):
            raise args.error(
                "an axis is out of range", f"0 to {len(dims) - 1}", str(axes), kind="range"
            )
        low, high = self.pads()
        result = [
            _padded(dim, low[at] if at < len(low) else 0, high[at] if at < len(high) else 0)
            for at, dim in enumerate(dims)
        ]
        if wanted is not None and len(wanted) != len(axes):
            raise args.error(
                "there must be one size or scale per axis",
                f"{len(axes)} numbers",
                str(len(wanted)),
            )
        for index, axis in enumerate(axes):
            result[axis] = UNKNOWN_DIM if wanted is None else wanted[index]
        return [TensorType(element, Shape(tuple(result)))]

    def _sizes_of(
        self, args: Arguments, axes: tuple[int, ...] | None, position: int
    ) -> tuple[Dim, ...] | None:
        """Compute the new sizes of `axes` from the constant scales in input `position`.

        A size is unknown if the old size is. Returns None if the scales, the axes or the rank of
        the data are unknown.
        """
        scales, dims = args.constant(position), args.shape(0).dims
        if scales is None or dims is None or axes is None or scales.size != len(axes):
            return None
        low, high = self.pads()
        sizes: list[Dim] = []
        for axis, scale in zip(axes, scales.reshape(-1).tolist(), strict=True):
            at = axis % len(dims)
            dim = _padded(
                dims[at], low[at] if at < len(low) else 0, high[at] if at < len(high) else 0
            )
            known = isinstance(dim, int)
            sizes.append(
                kernels.resize.counts_of_openvino([dim], [scale])[0]
                if known and isinstance(dim, int)
                else UNKNOWN_DIM
            )
        return tuple(sizes)


class Interpolate1(Interpolation, type="Interpolate", since=1, inputs=2):
    """Resizes `axes` of the data to the sizes in input 1 (Interpolate-1).

    The mode nearest uses asymmetric coordinates, rounded up on an axis that shrinks and down on
    others; linear and cubic align the outer elements if `align_corners` is set.
    """

    meanings = (Resized(1, data=0),)

    expands = True

    operands = "data: any, output size: integer -> any"
    shapes = "*, ?"

    axes: tuple[int, ...]
    mode: str = attribute(words=RESIZE_MODES)
    align_corners: bool = True
    antialias: bool = False
    pads_begin: tuple[int, ...] = attribute(default=(), least=0)
    pads_end: tuple[int, ...] = attribute(default=(), least=0)

    def pads(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self._spread(self.pads_begin), self._spread(self.pads_end)

    def _spread(self, pads: tuple[int, ...]) -> tuple[int, ...]:
        # Zeros mean no padding. Files usually have a single 0, whatever the rank.
        return () if not any(pads) else pads

    def how(self) -> Resampling:
        mode = MODES[self.mode.lower()]
        coordinates = "align_corners" if self.align_corners else "asymmetric"
        if mode == "nearest":
            coordinates = "asymmetric"
        return kernels.resize.Resampling(mode, coordinates, "simple")

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.mode.lower() not in MODES:
            raise args.error("mode is unknown", ", ".join(MODES), self.mode, kind="range")
        return self._resized(args, self.axes, args.dims(1))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        import numpy as np

        low, high = self.pads()
        run = kernels.resize.openvino_resize(self.how(), low, high, by_scales=False)
        axes = np.array(self.axes)
        return lambda data, sizes: run(data, sizes, None, axes)


class _Attributes(Interpolation):
    """Base of Interpolate-4 and later, with their attributes."""

    mode: str = attribute(default="nearest", words=RESIZE_MODES)
    shape_calculation_mode: str = attribute(default="sizes", words=("sizes", "scales"))
    coordinate_transformation_mode: str = attribute(
        default="half_pixel",
        words=(
            "half_pixel",
            "pytorch_half_pixel",
            "asymmetric",
            "tf_half_pixel_for_nn",
            "align_corners",
        ),
    )
    nearest_mode: str = attribute(
        default="round_prefer_floor",
        words=("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"),
    )
    antialias: bool = False
    pads_begin: tuple[int, ...] = attribute(default=(), least=0)
    pads_end: tuple[int, ...] = attribute(default=(), least=0)
    cube_coeff: float = -0.75

    def pads(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.pads_begin, self.pads_end

    def by_scales(self) -> bool:
        return self.shape_calculation_mode.lower() == "scales"

    def how(self) -> Resampling:
        antialias = self.antialias and self.mode.lower() == "linear"
        return kernels.resize.Resampling(
            MODES[self.mode.lower()],
            self.coordinate_transformation_mode.lower(),
            self.nearest_mode.lower(),
            self.cube_coeff,
            antialias,
            triangle=antialias,
        )

    def _check(self, args: Arguments) -> None:
        if self.mode.lower() not in MODES:
            raise args.error("mode is unknown", ", ".join(MODES), self.mode, kind="range")


class Interpolate(_Attributes, type="Interpolate", since=4, inputs=(3, 4)):
    """Resizes data along axes (Interpolate-4); inputs data, sizes, scales, optional axes."""

    meanings = (
        Resized(1, data=0),
        Resized(2, data=0),
        Axes(3, data=0),
    )

    expands = True

    operands = (
        f"data: T, sizes: {_SIZES}, scales: f16 | bf16 | f32, axes?: {_SIZES} -> T "
        f"where T: {_IMAGES}"
    )
    shapes = "*, ?, ?, ?"

    def infer(self, args: Arguments) -> list[ValueType]:
        self._check(args)
        axes = args.ints(3) if args.has(3) else inference.all_axes(args)
        wanted = self._sizes_of(args, axes, 2) if self.by_scales() else args.dims(1)
        return self._resized(args, axes, wanted)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        low, high = self.pads()
        return kernels.resize.openvino_resize(self.how(), low, high, by_scales=self.by_scales())


class Interpolate11(_Attributes, type="Interpolate", since=11, inputs=(2, 3)):
    """Resizes data along axes (Interpolate-11); inputs data, sizes or scales, optional axes."""

    meanings = (
        Resized(1, data=0),
        Axes(2, data=0),
    )

    expands = True

    operands = (
        f"data: T, sizes or scales: {_SIZES} | f16 | bf16 | f32, axes?: {_SIZES} -> T "
        f"where T: {_IMAGES}"
    )
    shapes = "*, ?, ?"

    def infer(self, args: Arguments) -> list[ValueType]:
        self._check(args)
        check = inference.floating if self.by_scales() else inference.integers
        check(args, 1)
        axes = args.ints(2) if args.has(2) else inference.all_axes(args)
        wanted = self._sizes_of(args, axes, 1) if self.by_scales() else args.dims(1)
        return self._resized(args, axes, wanted)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        low, high = self.pads()
        run = kernels.resize.openvino_resize(self.how(), low, high, by_scales=self.by_scales())
        if self.by_scales():
            return lambda data, scales, axes=None: run(data, None, scales, axes)
        return lambda data, sizes, axes=None: run(data, sizes, None, axes)
