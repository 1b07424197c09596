"""DetectionOutput in OpenVINO, the last layer of SSD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irloop import kernels
from irloop.dialects import blocks, windows
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.detection import Detection

__all__ = ["Detecting", "DetectionOutput", "DetectionOutput1"]

_CODES = ("caffe.priorboxparameter.corner", "caffe.priorboxparameter.center_size")


class Detecting(OpenVinoOp):
    """Base of DetectionOutput, which maps offsets, scores and priors to rows [1, 1, rows, 7].

    The inputs are offsets [N, P * 4], scores [N, P * C] and priors [1 or N, 1 or 2, P * 4]. Inputs
    3 and 4 are optional: the scores [N, P * 2] and the offsets of a first stage of detection.

    A row is (item, class, score, x1, y1, x2, y2); a row with item -1 ends the list. Priors that are
    not `normalized` have 5 numbers, of which the first is ignored; the others are divided by the
    input's size.
    """

    operands = (
        "box logits: T, class scores: T, priors: float, first class scores?: T, "
        "first box logits?: T -> T where T: float"
    )

    keep_top_k: tuple[int, ...]
    nms_threshold: float = attribute(absent="0")
    background_label_id: int = 0
    top_k: int = -1
    variance_encoded_in_target: bool = False
    code_type: str = "caffe.PriorBoxParameter.CORNER"
    share_location: bool = True
    confidence_threshold: float = 0.0
    clip_after_nms: bool = False
    clip_before_nms: bool = False
    decrease_label_id: bool = False
    normalized: bool = False
    input_height: int = 1
    input_width: int = 1
    objectness_score: float = 0.0

    def classes(self) -> int | None:
        """The number of classes, if an attribute gives it."""
        return None

    def centred(self) -> bool:
        """Return whether offsets refer to centres and sizes, False when they refer to corners."""
        return self.code_type.lower() == _CODES[1]

    def rows(self, items: int, priors: int, classes: int) -> int:
        """The number of boxes in the result.

        Args:
            items: the size of the batch.
            priors: the number of prior boxes.
            classes: the number of classes.
        """
        if self.keep_top_k[0] > 0:
            return items * self.keep_top_k[0]
        return items * classes * (priors if self.top_k == -1 else self.top_k)

    def _rows(self, args: Arguments) -> Dim:
        items, scores, priors = (
            None if args.shape(at).dims is None else args.shape(at).dims for at in range(3)
        )
        if items is None or not isinstance(items[0], int):
            return UNKNOWN_DIM
        if self.keep_top_k[0] > 0:
            return self.rows(items[0], 0, 0)
        if scores is None or priors is None or not isinstance(priors[-1], int):
            return UNKNOWN_DIM
        count, classes = priors[-1] // (4 if self.normalized else 5), self.classes()
        if classes is None:
            if not isinstance(scores[-1], int) or not count:
                return UNKNOWN_DIM
            classes = scores[-1] // count
        return self.rows(items[0], count, classes)

    def infer(self, args: Arguments) -> list[ValueType]:
        if not self.keep_top_k:
            raise args.error("keep_top_k is empty", "one number")
        if self.code_type.lower() not in _CODES:
            expected = "caffe.PriorBoxParameter.CORNER or CENTER_SIZE"
            raise args.error("code_type is not known", expected, self.code_type, kind="range")
        for position, rank in ((0, 2), (1, 2), (2, 3), (3, 2), (4, 2)):
            if args.has(position) and args.rank(position) not in (None, rank):
                found = str(args.shape(position))
                raise args.error(f"input {position} has a wrong rank", str(rank), found)
        if args.has(3) != args.has(4):
            raise args.error(
                "scores of a first stage are given without its offsets", "3 or 5 inputs", "4"
            )
        self._check_sizes(args)
        return [TensorType(args.element(0), Shape((1, 1, self._rows(args), 7)))]

    def _check_sizes(self, args: Arguments) -> None:
        """Check that offsets, scores and priors have the same number of boxes."""
        items = args.shape(0).dim(0)
        windows.same_dim(args, "scores and offsets have another batch", items, args.shape(1).dim(0))
        if args.shape(2).dim(0) not in (1, UNKNOWN_DIM):
            windows.same_dim(args, "the priors have another batch", items, args.shape(2).dim(0))
        moves, scores = args.shape(0).dim(1), args.shape(1).dim(1)
        kinds, width = args.shape(2).dim(1), args.shape(2).dim(2)
        wanted = 1 if self.variance_encoded_in_target else 2
        if isinstance(kinds, int) and kinds != wanted:
            raise args.error(
                "axis 1 of the priors does not match variance_encoded_in_target",
                str(wanted),
                str(kinds),
            )
        if not isinstance(width, int):
            return
        count = blocks.divided(args, width, 4 if self.normalized else 5, "the numbers of priors")
        if not isinstance(count, int) or not count or not isinstance(scores, int):
            return
        classes = blocks.divided(args, scores, count, "the scores")
        if self.classes() not in (None, classes):
            raise args.error(
                "num_classes differs from the number of classes in the scores",
                str(classes),
                str(self.classes()),
            )
        sets = 1 if self.share_location else classes
        if isinstance(moves, int) and isinstance(sets, int) and moves != 4 * count * sets:
            raise args.error(
                "the offsets do not match the priors", str(4 * count * sets), str(moves)
            )

    def detection(self) -> Detection:
        """The attributes in the form that the kernel takes."""
        return kernels.detection.Detection(
            background=self.background_label_id,
            best=self.top_k,
            kept=self.keep_top_k[0],
            centred=self.centred(),
            shared=self.share_location,
            variances=not self.variance_encoded_in_target,
            overlap=self.nms_threshold,
            score=self.confidence_threshold,
            clip_before=self.clip_before_nms,
            clip_after=self.clip_after_nms,
            by_box=self.decrease_label_id,
            normalized=self.normalized,
            size=(self.input_height, self.input_width),
            objectness=self.objectness_score,
        )

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.detection.detect(self.detection(), self.rows)


class DetectionOutput1(Detecting, type="DetectionOutput", since=1, inputs=(3, 5)):
    """Selects boxes that overlap no selected box of a higher score (DetectionOutput-1)."""

    num_classes: int = attribute(default=0, needed=True)

    def classes(self) -> int | None:
        return self.num_classes


class DetectionOutput(Detecting, type="DetectionOutput", since=8, inputs=(3, 5)):
    """Selects boxes that overlap no selected box of a higher score (DetectionOutput-8).

    The number of classes follows from the shapes, where DetectionOutput-1 has an attribute.
    """
