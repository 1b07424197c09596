"""Region proposals in OpenVINO."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from irloop import kernels
from irloop.dialects import inference, windows
from irloop.dialects.openvino.base import INDICES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.proposals import Anchors

__all__ = [
    "ExperimentalDetectronGenerateProposalsSingleImage",
    "GenerateProposals",
    "Proposal",
    "Proposal1",
    "Proposing",
]


class Proposing(OpenVinoOp):
    """Base of Proposal: computes regions from scores, box offsets and the size of the image.

    With A anchor boxes for each of the H * W cells, the scores are [N, 2 A, H, W] and the offsets
    [N, 4 A, H, W]. The image size is (height, width, scale) or (height, width, scale of heights,
    scale of widths).

    The output [N * post_nms_topn, 5] has `post_nms_topn` rows for each item of the batch. A row is
    (item, x1, y1, x2, y2), where `item` is the index of the item. If fewer regions are found for an
    item, `item` is -1 in the row after the last region, and the other remaining elements are 0.
    """

    once_experimental: ClassVar[bool] = True
    base_size: int
    pre_nms_topn: int
    post_nms_topn: int = attribute(least=1)
    nms_thresh: float = attribute(absent="0")
    feat_stride: int = attribute(absent="1")
    ratio: tuple[float, ...]
    scale: tuple[float, ...]
    min_size: int = 1
    clip_before_nms: bool = True
    clip_after_nms: bool = False
    normalize: bool = False
    box_size_scale: float = 1.0
    box_coordinate_scale: float = 1.0
    framework: str = attribute(default="", words=("", "tensorflow"))

    def _rows(self, args: Arguments) -> Dim:
        items, scores = args.shape(0).dim(0), args.shape(0).dim(1)
        wanted = 2 * scores if isinstance(scores, int) else UNKNOWN_DIM
        message = "the box logits have a wrong number of channels"
        windows.same_dim(args, message, wanted, args.shape(1).dim(1))
        if args.shape(2).dim(0) not in (3, 4, UNKNOWN_DIM):
            raise args.error("the image shape is incomplete", "3 or 4 numbers", str(args.shape(2)))
        return items * self.post_nms_topn if isinstance(items, int) else UNKNOWN_DIM

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), Shape((self._rows(args), 5)))]

    def anchors(self) -> Anchors:
        """Return the attributes that determine the anchor boxes, as the kernel takes them."""
        return kernels.proposals.Anchors(
            self.base_size,
            self.ratio,
            self.scale,
            self.feat_stride,
            self.framework.lower() == "tensorflow",
        )

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.proposals.proposals(
            self.anchors(),
            kernels.proposals.Selection(
                self.pre_nms_topn, self.post_nms_topn, self.nms_thresh, self.min_size
            ),
            (self.box_coordinate_scale, self.box_size_scale),
            clip_before=self.clip_before_nms,
            clip_after=self.clip_after_nms,
            normalize=self.normalize,
            n_outputs=n_outputs,
        )


class Proposal1(Proposing, type="Proposal", since=1, inputs=3):
    """The regions with the highest scores that do not overlap each other (Proposal-1)."""

    operands = "class scores: float, box logits: float, image shape: float -> float"
    shapes = "N ? ? ?, N ? ? ?, ?"


class Proposal(Proposing, type="Proposal", since=4, inputs=3, outputs=2):
    """Like Proposal-1; output 1 [N * post_nms_topn] has the scores of the regions (Proposal-4)."""

    operands = (
        "class scores: float, box logits: float, image shape: float -> boxes: float, scores: float"
    )
    shapes = "N ? ? ?, N ? ? ?, ?"

    def infer(self, args: Arguments) -> list[ValueType]:
        rows, element = self._rows(args), args.element(0)
        return [TensorType(element, Shape((rows, 5))), TensorType(element, Shape((rows,)))]


class _Generating(OpenVinoOp):
    min_size: float = attribute(absent="0")
    nms_threshold: float = attribute(absent="0")
    post_nms_count: int = attribute(least=1)
    pre_nms_count: int


class ExperimentalDetectronGenerateProposalsSingleImage(
    _Generating,
    type="ExperimentalDetectronGenerateProposalsSingleImage",
    since=6,
    inputs=4,
    outputs=2,
):
    """Region proposals of one image.

    Inputs: image (height, width, scale), anchors [H * W * A, 4], offsets [4 A, H, W], scores
    [A, H, W], where A is the number of anchor boxes for each of the H * W cells. Outputs:
    post_nms_count boxes and their scores, padded with zeros
    (ExperimentalDetectronGenerateProposalsSingleImage-6).
    """

    operands = (
        "image size: T, anchors: T, deltas: T, scores: T -> boxes: T, scores: T "
        "where T: float | f4e2m1"
    )

    once_experimental: ClassVar[bool] = True

    def infer(self, args: Arguments) -> list[ValueType]:
        for position, rank in enumerate((1, 2, 3, 3)):
            inference.dims_of_rank(args, position, rank)
        element = args.element(0)
        return [
            TensorType(element, Shape.of(self.post_nms_count, 4)),
            TensorType(element, Shape.of(self.post_nms_count)),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.proposals.single_image_proposals(
            kernels.proposals.Selection(
                self.pre_nms_count, self.post_nms_count, self.nms_threshold, self.min_size
            )
        )


class GenerateProposals(_Generating, type="GenerateProposals", since=9, inputs=4, outputs=3):
    """Selects the boxes that most probably contain objects (GenerateProposals-9).

    Inputs are image sizes [N, 3 or 4], anchors [H, W, A, 4], offsets of the boxes from the anchors
    [N, 4 A, H, W], and scores [N, A, H, W], where A is the number of anchor boxes for each of the
    H * W cells. Outputs are the boxes [K, 4] and scores [K] of all images, and the number of boxes
    of each image [N].
    """

    operands = (
        "image sizes: number | small | boolean, anchors: number | small | boolean, "
        "deltas: number | small | boolean, scores: number | small | boolean "
        "-> boxes: number | small | boolean, scores: number | small | boolean, "
        "counts: i32 | i64"
    )

    pre_nms_count: int = attribute(least=1)
    normalized: bool = True
    nms_eta: float = attribute(default=1.0, least=1, most=1)
    roi_num_type: ElementType = attribute(default=ElementType.I64, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        items = inference.dims_of_rank(args, 0, 2)[0]
        for position in (1, 2, 3):
            inference.dims_of_rank(args, position, 4)
        element = args.element(0)
        return [
            TensorType(element, Shape.of(None, 4)),
            TensorType(element, Shape.of(None)),
            TensorType(self.roi_num_type, Shape((items,))),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.proposals.generate_proposals(
            kernels.proposals.Selection(
                self.pre_nms_count, self.post_nms_count, self.nms_threshold, self.min_size
            ),
            self.roi_num_type.numpy(),
            normalized=self.normalized,
        )
