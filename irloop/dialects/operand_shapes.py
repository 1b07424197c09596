"""Checks the shapes of inputs against the pattern that an operation declares in `Op.shapes`.

A pattern such as ``N ? H W, R 4, R, (), (1)`` has one part for each input. The words of a part are
dimensions: a number, ? for any size, or a name, which stands for one size in all inputs. The word
``...`` is any number of dimensions, and ``B...`` stands for the same ones in all inputs. ``()`` is
a scalar; parentheses around a dimension mean that the input may also be a scalar; ``*`` is any
shape.
"""

from __future__ import annotations

from typing import Any

from irloop.dialects.attributes import operands_of
from irloop.graph.arguments import Arguments
from irloop.graph.op import Op
from irloop.graph.record import Record

__all__ = ["check_shapes"]


class _Pattern(Record):
    """The shape of one input: the words before and after `rest`, the word with dots."""

    text: str
    before: tuple[str, ...]
    rest: str
    after: tuple[str, ...]
    or_scalar: bool

    def fits(self, rank: int) -> bool:
        """Return whether a shape of this rank can match."""
        fixed = len(self.before) + len(self.after)
        if self.or_scalar and not rank:
            return True
        return rank >= fixed if self.rest else rank == fixed

    def pairs(self, dims: tuple[Any, ...]) -> list[tuple[str, Any]]:
        """Each word with its dimension, or with all dimensions that dots stand for."""
        if self.or_scalar and not dims:
            return []
        end = len(dims) - len(self.after)
        matched = list(zip(self.before, dims, strict=False))
        if self.rest not in ("", "..."):
            matched.append((self.rest, dims[len(self.before) : end]))
        return matched + list(zip(self.after, dims[end:], strict=True))


def _pattern(text: str) -> _Pattern | None:
    if text == "*":
        return None
    or_scalar = text[0] == "(" and text != "()"
    words = text.strip("()").split()
    dots = [at for at, word in enumerate(words) if word.endswith("...")]
    if not dots:
        return _Pattern(text, tuple(words), "", (), or_scalar)
    at = dots[0]
    return _Pattern(text, tuple(words[:at]), words[at], tuple(words[at + 1 :]), or_scalar)


_KNOWN: dict[type[Op], list[tuple[str, _Pattern | None]]] = {}


def _patterns(cls: type[Op]) -> list[tuple[str, _Pattern | None]]:
    """The name and the pattern of each input; None for an input of any shape."""
    if cls not in _KNOWN:
        texts = [text.strip() for text in cls.shapes.split(",")] if cls.shapes else []
        names = [operand.name for operand in operands_of(cls)[0]]
        _KNOWN[cls] = [(name, _pattern(text)) for name, text in zip(names, texts, strict=False)]
    return _KNOWN[cls]


def check_shapes(args: Arguments, cls: type[Op]) -> None:
    """Check the known shapes of the inputs of a node.

    Raises:
        InferenceError: when a shape does not match its pattern, or contradicts another input.
    """
    bound: dict[str, Any] = {}
    for position, (name, pattern) in enumerate(_patterns(cls)):
        dims = args.shape(position).dims if pattern and args.has(position) else None
        if dims is None or pattern is None:
            continue
        if not pattern.fits(len(dims)):
            raise args.error(f"{name!r} has a wrong rank", pattern.text, str(args.shape(position)))
        for word, dim in pattern.pairs(dims):
            if word == "?" or not _is_known(dim):
                continue
            wanted = int(word) if word.isdigit() else bound.setdefault(word, dim)
            if dim != wanted:
                text = pattern.text if word.isdigit() else f"{pattern.text} with {word} {wanted}"
                found = str(args.shape(position))
                raise args.error(f"{name!r} has a wrong shape", text, found)


def _is_known(dim: Any) -> bool:
    return all(map(_is_known, dim)) if isinstance(dim, tuple) else isinstance(dim, int)
