"""Rotary embeddings of ONNX Runtime."""

from __future__ import annotations

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.types import ValueType

__all__ = ["RotaryEmbedding", "rotated"]


def rotated(s: Steps, x: Term, cos: Term, sin: Term, *, interleaved: bool) -> Term:
    """Rotate pairs in [batch, heads, positions, size] by angles [..., positions, size / 2].

    With `interleaved` the elements of a pair are neighbours; without it, one is in the first half
    and the other in the second. Elements beyond twice the number of angles are not changed.
    """
    half = cos.dim(-1, "the number of angles")
    size = x.dim(3, "the size of a head")
    turned, rest = x, None
    if 2 * half < size:
        turned, rest = s.split(x, 3, [2 * half, size - 2 * half])
    if interleaved:
        pairs = s.reshape(turned, [0, 0, -1, half, 2])
        real, imaginary = (s.squeeze(part, 4) for part in s.split(pairs, 4, [1, 1]))
    else:
        real, imaginary = s.split(turned, 3, [half, half])
    first = real * cos - imaginary * sin
    second = imaginary * cos + real * sin
    if interleaved:
        stacked = s.concat(4, s.unsqueeze(first, 4), s.unsqueeze(second, 4))
        moved = s.reshape(stacked, [0, 0, -1, 2 * half])
    else:
        moved = s.concat(3, first, second)
    return moved if rest is None else s.concat(3, moved, rest)


class RotaryEmbedding(ContribOp, type="RotaryEmbedding", inputs=4):
    """Rotates pairs of elements of each head by the angles of its position.

    Inputs: x [batch, positions, heads * size] or [batch, heads, positions, size], the position
    numbers [batch, positions] or only the first position number [1], cosines and sines of the
    angles of all positions.
    """

    operands = "x: T, position_ids: i64, cos: T, sin: T -> T where T: bf16 | f16 | f32"

    interleaved: int = 0
    is_packed_batching: int = 0
    num_heads: int = 0
    rotary_embedding_dim: int = 0
    scale: float = 1.0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 2, 3)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Term, places: Term, cos: Term, sin: Term) -> Term:
        if self.is_packed_batching:
            raise CannotDecomposeError("its batch is ragged (is_packed_batching)")
        heads = x
        if x.rank == 3:
            size = 2 * cos.dim(1, "the number of angles")
            width = x.dim(2, "the last dimension")
            if self.rotary_embedding_dim:
                size = width // max(self.num_heads, 1)
            heads = s.transpose(s.reshape(x, [0, 0, width // size, size]), (0, 2, 1, 3))
        rows = places
        if places.rank == 1:
            rows = s.unsqueeze(s.range(0, s.size(heads, 2)) + places, 0)
        angles = [s.unsqueeze(s.gather(item, rows, 0), 1) for item in (cos, sin)]
        turned = rotated(s, heads, *angles, interleaved=bool(self.interleaved))
        if x.rank == 4:
            return turned
        return s.reshape(s.transpose(turned, (0, 2, 1, 3)), [0, 0, x.dim(2, "the last dimension")])
