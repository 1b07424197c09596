"""Connectionist temporal classification in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import INDICES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Lengths
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = ["CTCGreedyDecoder", "CTCGreedyDecoderSeqLen", "CTCLoss"]


def _scores(args: Arguments) -> tuple[Dim, Dim, Dim]:
    """The dimensions of the scores, input 0."""
    dims = args.shape(0).dims
    if dims is None:
        return (UNKNOWN_DIM, UNKNOWN_DIM, UNKNOWN_DIM)
    if len(dims) != 3:
        raise args.error("the scores have a wrong rank", "3", str(args.shape(0)))
    return (dims[0], dims[1], dims[2])


def _fits(args: Arguments, position: int, *wanted: Dim) -> None:
    """Refuse an input whose shape contradicts `wanted`."""
    found = args.shape(position)
    if found.refine(Shape(wanted)) is None:
        raise args.error(f"input {position} has a wrong shape", str(Shape(wanted)), str(found))


class CTCGreedyDecoder(OpenVinoOp, type="CTCGreedyDecoder", since=1, inputs=2):
    """Greedy decoding: scores [T, N, C], mask [T, N] to classes [N, T, 1, 1] (CTCGreedyDecoder-1).

    The last class is the blank; each sequence is padded with -1.
    """

    operands = "scores: float, sequence mask: float -> float"

    ctc_merge_repeated: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        time, items, _ = _scores(args)
        _fits(args, 1, time, items)
        return [TensorType(args.element(0), Shape((items, time, 1, 1)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.ctc.greedy(merge=self.ctc_merge_repeated)


class CTCGreedyDecoderSeqLen(
    OpenVinoOp, type="CTCGreedyDecoderSeqLen", since=6, inputs=(2, 3), outputs=2
):
    """Decodes scores [N, T, C] greedily into classes [N, T] and sequence lengths [N].

    The inputs are the scores, the lengths [N] of the score sequences, and the index of the blank
    class, by default the last class (CTCGreedyDecoderSeqLen-6).
    """

    meanings = (Lengths(1, data=0, axis=1),)

    operands = (
        "scores: float, sequence lengths: integer, "
        "blank index?: integer -> classes: i32 | i64, lengths: i32 | i64"
    )

    merge_repeated: bool = True
    classes_index_type: ElementType = attribute(default=ElementType.I32, words=INDICES)
    sequence_length_type: ElementType = attribute(default=ElementType.I32, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        items, time, _ = _scores(args)
        _fits(args, 1, items)
        return [
            TensorType(self.classes_index_type, Shape((items, time))),
            TensorType(self.sequence_length_type, Shape((items,))),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.ctc.greedy_by_length(
            self.classes_index_type.numpy(),
            self.sequence_length_type.numpy(),
            merge=self.merge_repeated,
        )


class CTCLoss(OpenVinoOp, type="CTCLoss", since=4, inputs=(4, 5)):
    """CTC loss [N] of logits [N, T, C], lengths [N], labels [N, T], label lengths [N] (CTCLoss-4).

    The last input, the blank, defaults to the last class.
    """

    meanings = (
        Lengths(1, data=0, axis=1),
        Lengths(3, data=2, axis=1),
    )

    operands = (
        "logits: float, logit lengths: integer, labels: integer, "
        "label lengths: integer, blank index?: integer -> float"
    )

    preprocess_collapse_repeated: bool = False
    ctc_merge_repeated: bool = True
    unique: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        items, time, _ = _scores(args)
        _fits(args, 1, items)
        _fits(args, 2, items, time)
        _fits(args, 3, items)
        return [TensorType(args.element(0), Shape((items,)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.ctc.loss(
            collapse=self.preprocess_collapse_repeated,
            merge=self.ctc_merge_repeated,
            unique=self.unique,
        )
