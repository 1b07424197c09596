"""String operations in ONNX, and the counting of n-grams."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    ElementType,
    Shape,
    TensorType,
    ValueType,
)

__all__ = [
    "RegexFullMatch",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
]

TEXT = ElementType.STRING


class StringConcat(OnnxOp, type="StringConcat", since=20, inputs=2):
    """Concatenates strings elementwise, with NumPy broadcasting (StringConcat-20)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.strings(args)
        return inference.broadcast(args, TEXT)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.text.concat


class RegexFullMatch(OnnxOp, type="RegexFullMatch", since=20, inputs=1):
    """True where the whole string matches an RE2 expression (RegexFullMatch-20)."""

    pattern: str | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.strings(args)
        if self.pattern is None:
            raise args.error("pattern is missing", "an expression", "no attribute")
        return [TensorType(ElementType.BOOLEAN, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if not kernels.text.can_match():
            raise NotImplementedError(
                f"{self.label}: google-re2 is not installed: pip install google-re2"
            )
        return kernels.text.full_match(self.pattern or "")


class StringSplit(OnnxOp, type="StringSplit", since=20, inputs=1, outputs=2):
    """Splits each string along a new last axis, and counts its parts (StringSplit-20).

    Strings with fewer parts are padded with empty strings. Without a delimiter strings are split at
    white space.
    """

    delimiter: str | None = None
    maxsplit: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.strings(args)
        dims = args.shape(0).dims
        parts = UNKNOWN_SHAPE if dims is None else Shape((*dims, UNKNOWN_DIM))
        types: list[ValueType] = [
            TensorType(TEXT, parts),
            TensorType(ElementType.I64, args.shape(0)),
        ]
        return types[: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.text.split(self.delimiter or "", self.maxsplit)
        return run if n_outputs > 1 else lambda x: run(x)[0]


class StringNormalizer(OnnxOp, type="StringNormalizer", since=10, inputs=1):
    """Removes stop words from [C] or [1, C] and changes the case (StringNormalizer-10).

    If no string remains, the result is one empty string. Case mapping is Unicode's, whatever the
    `locale`.
    """

    case_change_action: str = "NONE"
    is_case_sensitive: int = 0
    locale: str | None = None
    stopwords: tuple[str, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.strings(args)
        if self.case_change_action not in ("NONE", "LOWER", "UPPER"):
            raise args.error(
                "case_change_action is not known",
                "NONE, LOWER or UPPER",
                self.case_change_action,
                kind="range",
            )
        shape = args.shape(0)
        if shape.dims is None:
            return [TensorType(TEXT, UNKNOWN_SHAPE)]
        first = shape.dims[0] if len(shape.dims) == 2 else 1
        if len(shape.dims) not in (1, 2) or (isinstance(first, int) and first != 1):
            raise args.error("strings have the wrong shape", "[C] or [1, C]", str(shape))
        last = shape.dims[-1]
        kept = last if isinstance(last, int) and last > 0 and not self.stopwords else UNKNOWN_DIM
        return [TensorType(TEXT, Shape((*(1,) * (len(shape.dims) - 1), kept)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.text.normalizer(
            self.stopwords, case=self.case_change_action, sensitive=self.is_case_sensitive != 0
        )


class TfIdfVectorizer(OnnxOp, type="TfIdfVectorizer", since=9, inputs=1):
    """Counts or weights the n-grams of a pool in each row (TfIdfVectorizer-9).

    The items are [C] or [N, C]; the result is f32 [M] or [N, M], where M is the largest of
    `ngram_indexes` plus 1. Entry i of `ngram_counts` is the position in the pool at which the
    n-grams of length i + 1 start.
    """

    max_gram_length: int
    max_skip_count: int
    min_gram_length: int
    mode: str
    ngram_counts: tuple[int, ...]
    ngram_indexes: tuple[int, ...]
    pool_int64s: tuple[int, ...] = ()
    pool_strings: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        self._check(args)
        if self.pool_strings:
            inference.strings(args)
        shape = args.shape(0)
        if shape.dims is None:
            return [TensorType(ElementType.F32, UNKNOWN_SHAPE)]
        if len(shape.dims) not in (1, 2):
            raise args.error("the input has the wrong rank", "[C] or [N, C]", str(shape))
        width = max(self.ngram_indexes, default=-1) + 1
        return [TensorType(ElementType.F32, Shape((*shape.dims[:-1], width)))]

    def _check(self, args: Arguments) -> None:
        if self.mode not in ("TF", "IDF", "TFIDF"):
            raise args.error("mode is not known", "TF, IDF or TFIDF", self.mode, kind="range")
        if bool(self.pool_int64s) == bool(self.pool_strings):
            raise args.error("one of pool_int64s and pool_strings is needed")
        if self.weights and len(self.weights) != len(self.ngram_indexes):
            raise args.error(
                "there must be one weight per n-gram",
                str(len(self.ngram_indexes)),
                str(self.weights),
            )
        if not 1 <= self.min_gram_length <= self.max_gram_length <= len(self.ngram_counts):
            raise args.error(
                "min_gram_length and max_gram_length are out of range",
                f"1 <= min <= max <= {len(self.ngram_counts)}",
                f"{self.min_gram_length} to {self.max_gram_length}",
            )
        least = min((self.max_skip_count, *self.ngram_indexes))
        if least < 0:
            raise args.error(
                "max_skip_count or an entry of ngram_indexes is negative",
                "0 or more",
                str(least),
                kind="range",
            )
        if not self.ngram_indexes:
            raise args.error("ngram_indexes is empty", "one entry for each n-gram", "none")
        size = len(self.pool_strings or self.pool_int64s)
        ends = (*self.ngram_counts[1:], size)
        for length, (start, end) in enumerate(zip(self.ngram_counts, ends, strict=True), 1):
            if not 0 <= start <= end <= size or (end - start) % length:
                raise args.error(
                    "ngram_counts do not divide the pool into whole n-grams",
                    f"items of {length}-grams",
                    f"items {start} to {end} of {size}",
                    kind="range",
                )

    def kernel(self, n_outputs: int = 1) -> Kernel:
        pool = kernels.ngrams.Pool(
            self.pool_strings or self.pool_int64s,
            self.ngram_counts,
            self.ngram_indexes,
            self.weights,
        )
        lengths = range(self.min_gram_length, self.max_gram_length + 1)
        return kernels.ngrams.vectorizer(pool, lengths, self.max_skip_count, self.mode)
