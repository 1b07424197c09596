"""Patterns: small graphs of types that a value's producers may fit.

    x = any_input()
    scale = wrap_type(ov.Constant)
    product = wrap_type(ov.Multiply, x, scale, where=consumers(1))

Attributes take part only through predicates. A pattern used twice has to meet the same value
twice. Operations that commute are tried with their operands swapped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.passes.predicates import Predicate

__all__ = [
    "Match",
    "Pattern",
    "any_input",
    "either",
    "explain_match",
    "optional",
    "wrap_type",
]


class Match:
    """Which value each pattern met. Index it by pattern: ``match[x]``."""

    def __init__(self) -> None:
        self._values: dict[Pattern, Value] = {}
        self.nodes: list[Node] = []
        self._why = (-1, "nothing was tried")

    def __getitem__(self, pattern: Pattern) -> Value:
        return self._values[pattern]

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self._values

    def node(self, pattern: Pattern) -> Node:
        """The node that makes the value `pattern` met."""
        return self._values[pattern].producer

    @property
    def root(self) -> Node:
        """The node the whole pattern was tried on."""
        return self.nodes[0]

    @property
    def reason(self) -> str:
        """Why the match failed, told for the attempt that came furthest."""
        return self._why[1]

    def bind(self, pattern: Pattern, value: Value) -> bool:
        """Note that `pattern` met `value`; False when it met another one before."""
        known = self._values.setdefault(pattern, value)
        if known is value:
            return True
        return self.fail(f"{pattern!r} met {known!r} before and now {value!r}")

    def fail(self, reason: str) -> bool:
        """Record why an attempt ended (the deepest one is told); always False."""
        depth = len(self._values)
        if depth >= self._why[0]:
            self._why = (depth, reason)
        return False

    def mark(self) -> tuple[dict[Pattern, Value], int]:
        """A point to come back to when an alternative fails."""
        return dict(self._values), len(self.nodes)

    def back_to(self, mark: tuple[dict[Pattern, Value], int]) -> None:
        """Forget what was bound since `mark`."""
        self._values = dict(mark[0])
        del self.nodes[mark[1] :]


class Pattern(ABC):
    """Something a value may match."""

    #: The types its root can have; None: any.
    root_types: tuple[type[Op], ...] | None = None

    def match(self, node: Node) -> Match | None:
        """Try the pattern on (the first output of) `node`."""
        found = Match()
        return found if node.outputs and self.accept(node.outputs[0], found) else None

    @abstractmethod
    def accept(self, value: Value, match: Match) -> bool:
        """Whether `value` fits, noting in `match` what met what."""


class _AnyInput(Pattern):
    def __init__(self, where: Predicate | None) -> None:
        self._where = where

    def accept(self, value: Value, match: Match) -> bool:
        if self._where is not None and not self._where(value):
            return match.fail(f"{value!r} has not {self._where.text}")
        return match.bind(self, value)

    def __repr__(self) -> str:
        return "any_input()"


class _WrapType(Pattern):
    def __init__(
        self,
        types: tuple[type[Op], ...],
        inputs: tuple[Pattern, ...],
        where: Predicate | None,
    ) -> None:
        self.root_types = types
        self._inputs = inputs
        self._where = where

    def accept(self, value: Value, match: Match) -> bool:
        node = value.producer
        assert self.root_types is not None
        if not isinstance(node.op, self.root_types):
            return match.fail(f"{node!r} is not {self!r}")
        if self._where is not None and not self._where(value):
            return match.fail(f"{node!r} has not {self._where.text}")
        mark = match.mark()
        if not match.bind(self, value):
            return False
        match.nodes.append(node)
        if not self._inputs:
            return True
        values = [item for item in node.inputs if item is not None]
        if len(values) != len(self._inputs):
            match.fail(f"{node!r} has {len(values)} inputs, not {len(self._inputs)}")
            match.back_to(mark)
            return False
        inner = match.mark()
        for order in _orders(node.op, values):
            if self._accept_inputs(order, match):
                return True
            match.back_to(inner)
        match.back_to(mark)
        return False

    def _accept_inputs(self, values: list[Value], match: Match) -> bool:
        pairs = zip(self._inputs, values, strict=True)
        return all(pattern.accept(value, match) for pattern, value in pairs)

    def __repr__(self) -> str:
        assert self.root_types is not None
        return "|".join(item.type or item.__name__ for item in self.root_types)


def _orders(op: Op, values: list[Value]) -> Iterable[list[Value]]:
    yield values
    if op.commutative and len(values) == 2:
        yield values[::-1]


class _Optional(Pattern):
    def __init__(
        self, types: tuple[type[Op], ...], inner: Pattern, where: Predicate | None
    ) -> None:
        self._inner = inner
        self._with = _WrapType(types, (inner,), where)
        if inner.root_types is not None:
            self.root_types = types + inner.root_types

    def accept(self, value: Value, match: Match) -> bool:
        mark = match.mark()
        if self._with.accept(value, match) and match.bind(self, value):
            return True
        match.back_to(mark)
        return self._inner.accept(value, match)

    def __repr__(self) -> str:
        return f"optional({self._with!r})"


class _Either(Pattern):
    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self._patterns = patterns
        roots = [pattern.root_types for pattern in patterns]
        if all(types is not None for types in roots):
            self.root_types = tuple(item for types in roots for item in types or ())

    def accept(self, value: Value, match: Match) -> bool:
        for pattern in self._patterns:
            mark = match.mark()
            if pattern.accept(value, match) and match.bind(self, value):
                return True
            match.back_to(mark)
        return False

    def __repr__(self) -> str:
        return "either(" + ", ".join(repr(item) for item in self._patterns) + ")"


def any_input(where: Predicate | None = None) -> Pattern:
    """Matches every value (that fulfils `where`)."""
    return _AnyInput(where)


def wrap_type(
    types: type[Op] | tuple[type[Op], ...], *inputs: Pattern, where: Predicate | None = None
) -> Pattern:
    """Matches the output of a node of one of `types`.

    Without `inputs` any number of inputs fits; with them exactly these, omitted ones left out.
    """
    return _WrapType(types if isinstance(types, tuple) else (types,), inputs, where)


def optional(
    types: type[Op] | tuple[type[Op], ...], inner: Pattern, where: Predicate | None = None
) -> Pattern:
    """Matches `inner`, with or without a node of one of `types` behind it.

    The pattern itself is bound only where that node is there.
    """
    return _Optional(types if isinstance(types, tuple) else (types,), inner, where)


def either(*patterns: Pattern) -> Pattern:
    """Matches the first of `patterns` that fits."""
    return _Either(patterns)


def explain_match(pattern: Pattern, node: Node) -> str:
    """Why `pattern` does not match at `node`, or "matches"."""
    found = Match()
    if not node.outputs:
        return f"{node!r} has no output"
    return "matches" if pattern.accept(node.outputs[0], found) else found.reason
