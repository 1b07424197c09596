"""Attention and rotary embeddings in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference, shapes, windows
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Lengths
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
)

__all__ = ["Attention", "Attention23", "Attention24", "LinearAttention", "RotaryEmbedding"]


class _Attention(OnnxOp):
    is_causal: int = 0
    kv_num_heads: int = 0
    q_num_heads: int = 0
    qk_matmul_output_mode: int = 0
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: ElementType | None = None

    def windows(self) -> tuple[int, int]:
        """How many positions a query attends to before and after its own; -1 means no bound."""
        return -1, -1

    def _heads(self, args: Arguments, position: int) -> tuple[Dim, ...] | None:
        """The shape [batch, heads, positions, size] of a query, key or value."""
        dims = args.shape(position).dims
        if dims is None:
            return None
        heads = self.q_num_heads if position == 0 else self.kv_num_heads
        if len(dims) == 4:
            return dims
        if len(dims) != 3:
            raise args.error(f"input {position} has the wrong rank", "3 or 4", str(len(dims)))
        if heads < 1:
            raise args.error("3 dimensions need q_num_heads and kv_num_heads")
        size: Dim = UNKNOWN_DIM
        if isinstance(dims[2], int):
            if dims[2] % heads:
                raise args.error(
                    f"the last axis of input {position} cannot be divided into heads",
                    f"a multiple of {heads}",
                    str(dims),
                )
            size = dims[2] // heads
        return (dims[0], heads, dims[1], size)

    def _present(self, args: Arguments, fresh: tuple[Dim, ...] | None, past: int) -> Shape:
        if fresh is None:
            return Shape.of_rank(4)
        places = fresh[2]
        if args.has(past):
            known = args.shape(past).dims
            if known is None:
                return Shape((*fresh[:2], UNKNOWN_DIM, fresh[3]))
            if len(known) != 4:
                raise args.error(f"input {past} has the wrong rank", "4", str(len(known)))
            for axis in (0, 1, 3):
                windows.same_dim(
                    args,
                    f"input {past} differs from axis {axis} of what follows it",
                    known[axis],
                    fresh[axis],
                )
            places = shapes.total((places, known[2]))
        return Shape((*fresh[:2], places, fresh[3]))

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2)
        if self.qk_matmul_output_mode not in (0, 1, 2, 3):
            raise args.error(
                "qk_matmul_output_mode is not known",
                "0 to 3",
                str(self.qk_matmul_output_mode),
                kind="range",
            )
        if self.scale is not None and not self.scale > 0:
            # Query and key are multiplied by the square root of the scale.
            raise args.error("scale is out of range", "more than 0", str(self.scale), kind="range")
        if args.has(3) and args.rank(3) == 0:
            raise args.error("the mask is a scalar", "rank 2 to 4", "rank 0")
        if args.has(4) != args.has(5):
            raise args.error("one of past_key and past_value is given without the other")
        element = args.element(0)
        query, key, value = (self._heads(args, position) for position in range(3))
        keys, values = self._present(args, key, 4), self._present(args, value, 5)
        inference.require_within(args, 6, 0, keys.dim(2), "a number of keys")
        if query is not None and key is not None:
            windows.same_dim(args, "query and key differ in their batch", query[0], key[0])
            windows.same_dim(args, "query and key differ in their head size", query[3], key[3])
        if key is not None and value is not None:
            windows.same_dim(args, "key and value differ in length", key[2], value[2])
            windows.same_dim(
                args, "past key and value differ in length", keys.dim(2), values.dim(2)
            )
        if query is None:
            rank = args.rank(1)
            result = UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank)
            scores = Shape.of_rank(4)
        else:
            size = UNKNOWN_DIM if value is None else value[3]
            result = Shape((*query[:3], size))
            if args.rank(0) == 3:
                heads = query[1]
                known = isinstance(heads, int) and isinstance(size, int)
                joined = heads * size if isinstance(heads, int) and isinstance(size, int) else 0
                result = Shape((query[0], query[2], joined if known else UNKNOWN_DIM))
            scores = Shape((*query[:3], keys.dim(2)))
        types: list[ValueType] = [
            TensorType(element, result),
            TensorType(args.element(1), keys),
            TensorType(args.element(2), values),
            TensorType(element, scores),
        ]
        return types[: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        left, right = self.windows()
        precision = self.softmax_precision
        run = kernels.attention.attention(
            kernels.attention.Attention(
                self.is_causal != 0,
                self.q_num_heads,
                self.kv_num_heads,
                self.scale,
                self.softcap,
                None if precision is None else precision.numpy(),
                self.qk_matmul_output_mode,
                left,
                right,
            )
        )
        if n_outputs == 1:
            return lambda *inputs: run(*inputs)[0]
        return lambda *inputs: run(*inputs)[:n_outputs]


class Attention23(_Attention, type="Attention", since=23, inputs=(3, 6), outputs=None):
    """softmax(Q @ K^T * scale + mask) @ V with a cache (Attention-23).

    Inputs: query, key, value, mask, past key, past value. Outputs: the result, present keys,
    present values, scores.
    """


class Attention24(_Attention, type="Attention", since=24, inputs=(3, 7), outputs=None):
    """softmax(Q @ K^T * scale + mask) @ V with a cache (Attention-24).

    The inputs are those of Attention-23, and optionally the number of valid keys of each batch
    item.
    """

    shapes = "*, *, *, *, *, *, ?"

    meanings = (Lengths(6, data=1, axis=-2),)


class Attention(_Attention, type="Attention", since=25, inputs=(3, 7), outputs=None):
    """softmax(Q @ K^T * scale + mask) @ V with a cache (Attention-25).

    The inputs are those of Attention-24. The attributes for the window limit the keys around each
    query.
    """

    shapes = "*, *, *, ... ?, *, *, ?"

    meanings = (Lengths(6, data=1, axis=-2),)

    left_window_size: int = -1
    right_window_size: int = -1

    def windows(self) -> tuple[int, int]:
        return self.left_window_size, self.right_window_size


class RotaryEmbedding(OnnxOp, type="RotaryEmbedding", since=23, inputs=(3, 4)):
    """Rotates pairs of elements by the angle of their position (RotaryEmbedding-23).

    The data are [B, H, S, D] or [B, S, H * D]. The cosines and the sines are [B, S, D / 2]. If
    there is a fourth input with positions [B, S], they are tables [positions, D / 2] instead.
    """

    interleaved: int = 0
    num_heads: int = attribute(default=0, least=0)
    rotary_embedding_dim: int = attribute(default=0, least=0)

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2)
        rank = args.rank(0)
        if rank not in (None, 3, 4):
            raise args.error("data has the wrong rank", "3 or 4", str(rank))
        if rank == 3 and self.num_heads < 1:
            raise args.error("3 dimensions need num_heads")
        wanted = 3 if not args.has(3) else 2
        for position in (1, 2):
            if args.rank(position) not in (None, wanted):
                raise args.error(
                    f"input {position} has the wrong rank", str(wanted), str(args.rank(position))
                )
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.attention.rotary_embedding(
            interleaved=self.interleaved != 0,
            size=self.rotary_embedding_dim,
            heads=self.num_heads,
        )


class LinearAttention(OnnxOp, type="LinearAttention", since=27, inputs=(3, 6), outputs=2):
    """Linear attention, which updates and reads a state in each step (LinearAttention-27).

    `update_rule` is linear, gated (the state decays first), delta (the update is corrected) or
    gated_delta (both).

    Inputs: query, key, value [B, T, heads * size], past state [B, heads, D, E], decay, beta.
    Outputs: values and the present state. `chunk_size` is only a hint and does not change the
    result.
    """

    q_num_heads: int
    kv_num_heads: int
    chunk_size: int = 64
    scale: float = 0.0
    update_rule: str = "gated_delta"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1, 2)
        known = ("linear", "gated", "delta", "gated_delta")
        if self.update_rule not in known:
            raise args.error(
                "update_rule is not known", ", ".join(known), self.update_rule, kind="range"
            )
        if min(self.kv_num_heads, self.q_num_heads) < 1 or self.q_num_heads % self.kv_num_heads:
            raise args.error(
                "q_num_heads is not a multiple of kv_num_heads",
                f"a multiple of {self.kv_num_heads}",
                str(self.q_num_heads),
            )
        self._check_inputs(args)
        query, value = args.shape(0).dims, args.shape(2).dims
        batch, steps = (UNKNOWN_DIM, UNKNOWN_DIM) if query is None else query[:2]
        width = self._size(query, self.q_num_heads)
        size = self._size(value, self.kv_num_heads)
        key = width * self.kv_num_heads if isinstance(width, int) else UNKNOWN_DIM
        lasts = {1: key, 2: UNKNOWN_DIM, 4: UNKNOWN_DIM, 5: UNKNOWN_DIM}
        for position in filter(args.has, lasts):
            inference.require_shape(args, position, (batch, steps, lasts[position]))
        if args.has(3):
            inference.require_shape(args, 3, (batch, self.kv_num_heads, width, size))
        joined = size * self.q_num_heads if isinstance(size, int) else UNKNOWN_DIM
        kept = args.element(3) if args.has(3) else args.element(0)
        types: list[ValueType] = [
            TensorType(args.element(0), Shape((batch, steps, joined))),
            TensorType(kept, Shape((batch, self.kv_num_heads, width, size))),
        ]
        return types[: args.n_outputs]

    def _check_inputs(self, args: Arguments) -> None:
        for position in range(3):
            if args.rank(position) not in (None, 3):
                raise args.error(
                    f"input {position} has the wrong rank", "3", str(args.rank(position))
                )
        uses = {4: ("decay", "gated"), 5: ("beta", "delta")}
        for position, (name, word) in uses.items():
            if args.has(position) != (word in self.update_rule):
                needs = "needs" if word in self.update_rule else "does not use"
                raise args.error(f"update_rule {self.update_rule} {needs} {name}")

    def _size(self, dims: tuple[Dim, ...] | None, heads: int) -> Dim:
        last = UNKNOWN_DIM if dims is None else dims[2]
        return last // heads if isinstance(last, int) else UNKNOWN_DIM

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.attention.linear_attention(
            rule=self.update_rule,
            query_heads=self.q_num_heads,
            key_heads=self.kv_num_heads,
            scale=self.scale,
        )
        return run if n_outputs > 1 else lambda *inputs: run(*inputs)[0]
