"""Layers of versions 2 to 7 that pool regions and decode results."""

from __future__ import annotations

from typing import ClassVar, Literal

from irloop.dialects.openvino import ctc, region, roi
from irloop.formats.openvino.legacy.base import LegacyLayer
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute


class ROIPooling(LegacyLayer, type="ROIPooling", inputs=2):
    """Pools each region (item, x1, y1, x2, y2) to the same size."""

    pooled_h: int = attribute(default=0, least=0)
    pooled_w: int = attribute(default=0, least=0)
    spatial_scale: float  # type: ignore[misc]
    method: Literal["max", "bilinear"] = attribute(default="max")

    def build(self, s: Steps, x: Value, regions: Value) -> Value:
        op = roi.ROIPooling(
            pooled_h=self.pooled_h or s.out()[2],
            pooled_w=self.pooled_w or s.out()[3],
            spatial_scale=self.spatial_scale,
            method=self.method,
        )
        return s(op, x, s.shaped(regions, s.dims(regions)[:2]))


class PSROIPooling(LegacyLayer, type="PSROIPooling", inputs=(2, 3)):
    """Pools each region; each bin reads its own channels."""

    output_dim: int = attribute(least=1)
    spatial_scale: float
    group_size: int = attribute(default=1, least=1)
    mode: Literal["average", "bilinear", "bilinear_deformable"] = attribute(default="average")
    spatial_bins_x: int = attribute(default=1, least=1)
    spatial_bins_y: int = attribute(default=1, least=1)
    no_trans: bool = True
    trans_std: float = 1.0
    part_size: int = attribute(default=1, least=1)

    def build(self, s: Steps, x: Value, regions: Value, *moves: Value) -> Value:
        if self.mode != "bilinear_deformable":
            op = roi.PSROIPooling(
                self.output_dim,
                self.spatial_scale,
                self.group_size,
                self.mode,
                self.spatial_bins_x,
                self.spatial_bins_y,
            )
            return s(op, x, regions)
        deformable = roi.DeformablePSROIPooling(
            self.output_dim,
            self.spatial_scale,
            self.group_size,
            "bilinear_deformable",
            self.spatial_bins_x,
            self.spatial_bins_y,
            self.trans_std,
            self.part_size,
        )
        return s(deformable, x, regions, *(() if self.no_trans else moves))


class RegionYolo(LegacyLayer, type="RegionYolo", inputs=1):
    """Activates the predictions of YOLO; the declared output is flat or has the input's shape.

    Without softmax the mask lists the boxes; the engine of then activated none without a mask.
    """

    coords: int = attribute(default=4, least=0)
    classes: int = attribute(default=20, least=0)
    num: int = attribute(default=1, least=1)
    do_softmax: bool = True
    mask: tuple[int, ...] = ()

    def build(self, s: Steps, x: Value) -> Value:
        op = region.RegionYolo(
            coords=self.coords,
            classes=self.classes,
            num=self.num,
            axis=1,
            end_axis=3,
            do_softmax=self.do_softmax,
            mask=self.mask,
        )
        is_active = self.do_softmax or self.mask
        return s.shaped(s(op, x) if is_active else x, s.out())


class CTCGreedyDecoder(LegacyLayer, type="CTCGreedyDecoder", inputs=2):
    """The classes with the highest scores; repeats are always merged.

    A mask of 0 ends the sequence, but not at its first step.
    """

    is_real: ClassVar[bool] = True

    def build(self, s: Steps, x: Value, mask: Value) -> Value:
        time, items = s.dims(mask)[:2]
        first = s.spread(s.number(1.0), (1, items))
        rest = s.variadic_split(mask, 0, [1, time - 1])[1:] if time > 1 else ()
        return s(ctc.CTCGreedyDecoder(True), x, s.concat([first, *rest], 0))
