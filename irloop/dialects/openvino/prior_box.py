"""Prior boxes in OpenVINO, computed from the (height, width) of the feature map and the image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.prior_box import Priors

__all__ = ["PriorBox", "PriorBox8", "PriorBoxClustered", "Priored", "SizedPriors"]


def _check_variance(args: Arguments, variance: tuple[float, ...]) -> None:
    if len(variance) not in (0, 1, 4):
        raise args.error(
            "there must be one variance, or one per coordinate", "1 or 4", str(len(variance))
        )


class Priored(OpenVinoOp):
    """Base of the versions of PriorBox and PriorBoxClustered.

    The result is f32 [2, 4 * h * w * boxes]: row 0 has the boxes, row 1 their variances.
    """

    operands = "map size: integer, image size: integer -> float"
    shapes = "?, ?"

    def boxes(self) -> int:
        """The number of boxes per cell of the feature map."""
        raise NotImplementedError(self.label)

    def infer(self, args: Arguments) -> list[ValueType]:
        layer = args.dims(0)
        if args.constant(0) is not None and args.constant(1) is not None:
            # OpenVINO computes the boxes of constants when it reads them, and needs one type then.
            inference.same_element(args)
        count: Dim = UNKNOWN_DIM
        if layer is not None:
            if len(layer) != 2:
                raise args.error(
                    "the size of the feature map is not a height and a width", "2", str(len(layer))
                )
            height, width = layer
            if isinstance(height, int) and isinstance(width, int):
                count = 4 * height * width * self.boxes()
        return [TensorType(ElementType.F32, Shape((2, count)))]


class SizedPriors(Priored):
    """Base of versions with boxes of given sizes and aspect ratios."""

    min_size: tuple[float, ...] = ()
    max_size: tuple[float, ...] = ()
    aspect_ratio: tuple[float, ...] = ()
    density: tuple[float, ...] = ()
    fixed_ratio: tuple[float, ...] = ()
    fixed_size: tuple[float, ...] = ()
    clip: bool = False
    flip: bool = False
    step: float = 0.0
    offset: float = 0.5
    variance: tuple[float, ...] = ()
    scale_all_sizes: bool = True

    def ratios_last(self) -> bool:
        """Return whether a cell's box from `max_size` precedes its boxes of other aspect ratios."""
        return True

    def priors(self) -> Priors:
        """The attributes in the form that the kernel takes."""
        return kernels.prior_box.Priors(
            self.min_size,
            self.max_size,
            self.aspect_ratio,
            self.density,
            self.fixed_ratio,
            self.fixed_size,
            self.flip,
            self.scale_all_sizes,
            self.ratios_last(),
            self.clip,
            self.step,
            self.offset,
            self.variance,
        )

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_variance(args, self.variance)
        densities, sizes = len(self.density), len(self.fixed_size)
        if densities < sizes:
            raise args.error(
                "there must be one density per fixed size", f"{sizes} densities", str(densities)
            )
        for number in (*self.aspect_ratio, *self.fixed_ratio):
            if not 0 < number < math.inf:
                raise args.error("a ratio of sides is not positive", "above 0", str(number))
        for number in self.density:
            if not 1 <= number < math.inf:
                raise args.error("a density is below 1", "1 or more", str(number))
        return super().infer(args)

    def boxes(self) -> int:
        return kernels.prior_box.count_of(self.priors())

    def kernel(self, n_outputs: int = 1) -> Kernel:
        priors, run = self.priors(), kernels.prior_box.prior_boxes
        return lambda layer, image: run(priors, layer.tolist(), image.tolist())


class PriorBox(SizedPriors, type="PriorBox", since=1, inputs=2):
    """Boxes of several sizes and ratios around every cell of a feature map (PriorBox-1)."""


class PriorBox8(SizedPriors, type="PriorBox", since=8, inputs=2):
    """Boxes of several sizes and ratios around every cell of a feature map (PriorBox-8).

    `min_max_aspect_ratios_order` chooses the order of the boxes of a cell.
    """

    min_max_aspect_ratios_order: bool = True

    def ratios_last(self) -> bool:
        return self.min_max_aspect_ratios_order


class PriorBoxClustered(Priored, type="PriorBoxClustered", since=1, inputs=2):
    """Boxes of given widths and heights around every cell (PriorBoxClustered-1)."""

    width: tuple[float, ...] = ()
    height: tuple[float, ...] = ()
    clip: bool = False
    step: float = 0.0
    step_w: float = 0.0
    step_h: float = 0.0
    offset: float = 0.0
    variance: tuple[float, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_variance(args, self.variance)
        widths, heights = len(self.width), len(self.height)
        if widths != heights:
            raise args.error(
                "there must be one height per width", f"{widths} heights", str(heights)
            )
        return super().infer(args)

    def boxes(self) -> int:
        return len(self.width)

    def steps(self) -> tuple[float, float] | None:
        """Return the vertical and the horizontal step, or None if both are 0.

        With None, the step along each axis is the image size divided by the feature map size. If
        only one of the two is 0, it remains 0, as in OpenVINO.
        """
        down, along = self.step_h or self.step, self.step_w or self.step
        return (down, along) if down or along else None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.prior_box.clustered_boxes
        steps = self.steps()
        return lambda layer, image: run(
            self.width,
            self.height,
            steps,
            self.offset,
            self.variance,
            layer.tolist(),
            image.tolist(),
            clip=self.clip,
        )
