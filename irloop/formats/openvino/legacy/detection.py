"""Layers of versions 2 to 7 that propose and choose boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from irloop.dialects.openvino import detection as today
from irloop.dialects.openvino import elementwise, nms, proposals, reduction
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer, product
from irloop.formats.openvino.legacy.steps import F32, I32, Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    from irloop.kernels.prior_box import Priors

    Array = np.ndarray[Any, np.dtype[Any]]

#: How boxes are encoded; the engine of then took all other words for `CORNER`.
CENTER_SIZE, CORNER = "caffe.PriorBoxParameter.CENTER_SIZE", "caffe.PriorBoxParameter.CORNER"

#: The largest number of elements of boxes that are computed while reading.
LARGEST_BOXES = 1 << 22
#: The distance from 1 to the next number of f32, and its smallest normal number.
EPSILON, SMALLEST = 2.0**-23, 2.0**-126
#: How many variances boxes may have.
VARIANCES = (0, 1, 4)


class Boxed(LegacyLayer):
    """The base of layers whose output is boxes around the cells of a feature map.

    The sizes of the feature map and of the image are known, so that the boxes are a constant.
    """

    variance: tuple[float, ...] = ()
    is_real: ClassVar[bool] = False

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        layer, _ = self._places(inputs)
        count = 4 * product(layer) * self.boxes()
        is_usual = count <= LARGEST_BOXES and len(self.variance) in VARIANCES
        return [(1, 2, count)] if is_usual else None

    def _places(self, inputs: Dims2) -> tuple[Dims, Dims]:
        """The sizes of the feature map and of the image."""
        if any(len(dims) != 4 for dims in inputs):
            raise LayerFault(
                "needs a feature map and an image",
                expected="two inputs of 4 dimensions",
                found=" and ".join(str(list(dims)) for dims in inputs),
            )
        if 0 in (*inputs[0][2:], *inputs[1][2:]):
            raise LayerFault("has an image or a feature map of size 0")
        return inputs[0][2:], inputs[1][2:]

    def boxes(self) -> int:
        """The number of boxes of a cell."""
        raise NotImplementedError

    def _computed(self, layer: Dims, image: Dims) -> Array:
        raise NotImplementedError

    def build(self, s: Steps, data: Value, image: Value) -> Value:
        layer, size = self._places([s.dims(data), s.dims(image)])
        count = 4 * product(layer) * self.boxes()
        if count > LARGEST_BOXES:
            raise LayerFault(
                "has more boxes than irloop computes",
                code="IRL405",
                expected=f"at most {LARGEST_BOXES // 4}",
                found=str(count // 4),
            )
        found = self._computed(layer, size)
        return s.constant(found.reshape(1, 2, count), F32)


class PriorBox(Boxed, type="PriorBox", inputs=2):
    """Boxes of several sizes and ratios around every cell."""

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
    scale_all_sizes: bool = True

    def boxes(self) -> int:
        return len(self._elements())

    def _elements(self) -> list[Any]:
        from irloop.kernels.prior_box import element_boxes

        return element_boxes(self._priors())

    def _priors(self) -> Priors:
        from irloop.kernels.prior_box import Priors

        if len(self.density) < len(self.fixed_size):
            raise LayerFault("has fixed sizes without a density", code="IRL405")
        if any(item <= 0 for item in (*self.aspect_ratio, *self.fixed_ratio)):
            raise LayerFault("has an aspect ratio of 0 or less", code="IRL405")
        if any(not 1 <= item <= 64 for item in self.density):
            raise LayerFault("has a density out of range", code="IRL405", expected="1 to 64")
        return Priors(
            self.min_size,
            self.max_size,
            self.aspect_ratio,
            self.density,
            self.fixed_ratio,
            self.fixed_size,
            self.flip,
            self.scale_all_sizes,
            True,
            self.clip,
            self.step,
            self.offset,
            self.variance,
        )

    def _computed(self, layer: Dims, image: Dims) -> Array:
        import numpy as np

        height, width = layer
        rows, columns = image
        down, along = (self.step, self.step) if self.step else (rows / height, columns / width)
        offset = self.offset if self.step else 0.5
        y = ((np.arange(height) + offset) * down)[:, None]
        x = (np.arange(width) + offset) * along
        parts = []
        for shift_x, shift_y, half_width, half_height, clipped in self._elements():
            left, top = x + shift_x - half_width, y + shift_y - half_height
            right, bottom = x + shift_x + half_width, y + shift_y + half_height
            sides = (left / columns, top / rows, right / columns, bottom / rows)
            box = np.stack(np.broadcast_arrays(*sides), axis=-1)
            if clipped:
                box[..., :2] = np.maximum(box[..., :2], 0)
                box[..., 2:] = np.minimum(box[..., 2:], 1)
            parts.append(box)
        flat = np.stack(parts, axis=2).reshape(-1) if parts else np.zeros(0)
        if self.clip:
            flat = np.clip(flat, 0, 1)
        # The engine of then counted fixed ratios once, and wrote no variances for the others.
        written = min(4 * height * width * self._counted(), flat.size)
        return np.stack((flat, _variances(self.variance, written, flat.size)))

    def _counted(self) -> int:
        """The number of boxes of a cell, as the engine of then counted them."""
        from irloop.kernels.prior_box import aspect_ratios

        ratios = len(aspect_ratios(self._priors()))
        count = ratios * len(self.min_size)
        if not self.scale_all_sizes:
            count = ratios + len(self.min_size) - 1
        if self.fixed_size:
            count = ratios * len(self.fixed_size)
        more = sum(int(item) ** 2 - 1 for item in self.density)
        return count + more * (len(self.fixed_ratio) or ratios) + len(self.max_size)


class PriorBoxClustered(Boxed, type="PriorBoxClustered", inputs=2):
    """Boxes of given widths and heights around every cell."""

    width: tuple[float, ...] = ()
    height: tuple[float, ...] = ()
    clip: bool = False
    step: float = 0.0
    step_w: float = 0.0
    step_h: float = 0.0
    img_w: float = 0.0
    img_h: float = 0.0
    offset: float = 0.5

    def boxes(self) -> int:
        if len(self.width) != len(self.height):
            raise LayerFault(
                "has another number of widths than heights",
                code="IRL405",
                expected=f"{len(self.width)} heights",
                found=str(len(self.height)),
            )
        return len(self.width)

    def _computed(self, layer: Dims, image: Dims) -> Array:
        from irloop.kernels.prior_box import clustered_boxes

        image_sizes = (self.img_h or image[0], self.img_w or image[1])
        steps = (self.step_h or self.step, self.step_w or self.step)
        if not any(steps):
            steps = (image_sizes[0] / layer[0], image_sizes[1] / layer[1])
        priors = clustered_boxes(
            self.width,
            self.height,
            steps,
            self.offset,
            (),
            layer,
            image_sizes,  # type: ignore[arg-type]
            clip=self.clip,
        )
        # Of a single variance the engine of then wrote one number a box, one after the other.
        written = priors.shape[1] // (4 if len(self.variance) < 2 else 1)
        priors[1] = _variances(self.variance, written, priors.shape[1])
        return priors


def _variances(variance: tuple[float, ...], written: int, count: int) -> Array:
    """The row of variances: `written` numbers, and zeros behind them."""
    import numpy as np

    if len(variance) not in VARIANCES:
        raise LayerFault(
            "has a wrong number of variances",
            code="IRL405",
            expected="1 or 4",
            found=str(len(variance)),
        )
    row = np.zeros(count, np.float32)
    pattern = np.array(variance or (0.1,), np.float32)
    row[:written] = np.tile(pattern, -(-written // len(pattern)))[:written]
    return row


class DetectionOutput(LegacyLayer, type="DetectionOutput", inputs=(3, 5)):
    """The boxes with the highest scores that do not overlap each other.

    Rows are (image, class, score, x1, y1, x2, y2); the row after the last has the image -1. The
    engine of then ignored `eta`, which lowers the threshold after each box.
    """

    num_classes: int = attribute(least=1)
    background_label_id: int = attribute(default=0, least=0)
    top_k: int = -1
    keep_top_k: int = -1
    variance_encoded_in_target: bool = False
    nms_threshold: float  # type: ignore[misc]
    confidence_threshold: float = -3.4028234663852886e38
    code_type: str = CORNER
    share_location: bool = True
    clip: bool = False
    clip_before_nms: bool = False
    clip_after_nms: bool = False
    decrease_label_id: bool = False
    normalized: bool = True
    input_height: int = 1
    input_width: int = 1
    objectness_score: float = 0.0

    def build(self, s: Steps, *values: Value) -> Value:
        op = today.DetectionOutput1(
            num_classes=self.num_classes,
            keep_top_k=(self.keep_top_k,),
            nms_threshold=self.nms_threshold,
            background_label_id=self.background_label_id,
            top_k=self.top_k,
            variance_encoded_in_target=self.variance_encoded_in_target,
            code_type=CENTER_SIZE if self.code_type == CENTER_SIZE else CORNER,
            share_location=self.share_location,
            confidence_threshold=self.confidence_threshold,
            clip_before_nms=self.clip_before_nms or self.clip,
            clip_after_nms=self.clip_after_nms,
            decrease_label_id=self.decrease_label_id,
            normalized=self.normalized,
            input_height=self.input_height,
            input_width=self.input_width,
            objectness_score=self.objectness_score,
        )
        if s.rank(values[2]) != 3 or any(s.rank(value) < 2 for value in values):
            raise LayerFault(
                "needs locations and scores of each image, and prior boxes of 3 dimensions",
                found=" and ".join(str(list(s.dims(value))) for value in values),
            )
        flat = [s.shaped(value, (s.dims(value)[0], product(s.dims(value)[1:]))) for value in values]
        # Encoded variances need no plane of their own; the engine of then did not look at it.
        boxes = 1 if self.variance_encoded_in_target else s.dims(values[2])[1]
        flat[2] = s.cut(values[2], (0, 0, 0), (s.dims(values[2])[0], boxes, s.dims(values[2])[2]))
        return s(op, *flat)

    def fault_of_then(self, layer: Layer) -> str:
        if self.decrease_label_id and not self.share_location:
            return (
                "compares the boxes of one class; the engine of 2020 compared those of other "
                "classes if decrease_label_id was set without share_location"
            )
        has_items = len(layer.inputs) > 2 and layer.inputs[2].dims[:1] not in ((), ("1",))
        if not has_items or self.variance_encoded_in_target:
            return ""
        return (
            "takes the variances of each batch item; the engine of 2020 took the prior boxes for "
            "the variances of all items but the first"
        )


class Proposal(LegacyLayer, type="Proposal", inputs=3, outputs=2):
    """The regions with the highest scores that do not overlap each other.

    The row after the last region has the item -1, the others behind it are 0. The image is that of
    the first batch item for all of them.
    """

    base_size: int
    pre_nms_topn: int = attribute(least=1)
    post_nms_topn: int = attribute(least=1, most=1 << 24)
    nms_thresh: float
    feat_stride: int
    min_size: int
    ratio: tuple[float, ...]
    scale: tuple[float, ...]
    clip_before_nms: bool = True
    clip_after_nms: bool = False
    normalize: bool = False
    box_size_scale: float = 1.0
    box_coordinate_scale: float = 1.0
    framework: str = ""

    def build(self, s: Steps, scores: Value, deltas: Value, image: Value) -> tuple[Value, ...]:
        op = proposals.Proposal(
            base_size=self.base_size,
            pre_nms_topn=self.pre_nms_topn,
            post_nms_topn=self.post_nms_topn,
            nms_thresh=self.nms_thresh,
            feat_stride=self.feat_stride,
            ratio=self.ratio,
            scale=self.scale,
            min_size=self.min_size,
            clip_before_nms=self.clip_before_nms,
            clip_after_nms=self.clip_after_nms,
            normalize=self.normalize,
            box_size_scale=self.box_size_scale,
            box_coordinate_scale=self.box_coordinate_scale,
            # Other words, even in other case, were the default.
            framework=self.framework if self.framework == "tensorflow" else "",
        )
        dims = s.dims(image)
        first = s.cut(image, (0,) * len(dims), (1, *dims[1:])) if len(dims) > 1 else image
        size = s.shaped(first, (product(s.dims(first)),))
        rows, kept = s.emit(op, scores, deltas, size).outputs
        if len(s.outputs) < 2:
            return (rows,)
        # OpenVINO of today leaves the scores behind the last region as they are in its memory.
        boxes = s.cut(rows, (0, 1), (s.dims(rows)[0], 5))
        largest = s(reduction.ReduceMax(keep_dims=False), s(elementwise.Abs(), boxes), s.i64([1]))
        is_used = s.greater(largest, s.number(0.0))
        return rows, s.select(is_used, kept, s.number(0.0))


class NonMaxSuppression(LegacyLayer, type="NonMaxSuppression", inputs=(2, 5)):
    """The rows (item, class, box) of boxes that do not overlap others of a higher score.

    The declared output has room for all; rows behind the last one are -1.
    """

    center_point_box: bool = False
    sort_result_descending: bool = True
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, boxes: Value, scores: Value, *limits: Value) -> Value:
        rows = s.out()[0]
        if s.rank(boxes) != 3 or s.rank(scores) != 3:
            raise LayerFault("needs boxes and scores of 3 dimensions")
        numbers = [s.shaped(value, ()) for value in limits]
        # The engine of then took the first box of a class before it looked at the limit, and
        # without limits it took all.
        most = s.i64(s.dims(boxes)[1])
        if numbers:
            most = s(elementwise.Maximum(), s.whole(numbers[0]), s.i64(1))
        overlap = s.real(numbers[1]) if len(numbers) > 1 else s.number(1.0)
        # A box went if its overlap was above the limit; today it goes at the limit, too.
        above = s.multiply(overlap, s.number(1 + EPSILON))
        overlap = s(elementwise.Maximum(), above, s.number(SMALLEST))
        least = s.real(numbers[2]) if len(numbers) > 2 else s.number(0.0)
        op = nms.NonMaxSuppression5(
            box_encoding="center" if self.center_point_box else "corner",
            sort_result_descending=self.sort_result_descending,
            output_type=ElementType.I32,
        )
        found = s.emit(op, s.real(boxes), s.real(scores), most, overlap, least).outputs[0]
        room = s.spread(s.constant(-1, I32), (rows, 3))
        return s.first(s.concat([found, room], 0), (rows, 3))
