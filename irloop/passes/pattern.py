"""Patterns, which are small graphs of operation types that match a value and its producers.

    x = any_input()
    scale = wrap_type(ov.Constant)
    product = wrap_type(ov.Multiply, x, scale, where=consumers(1))

Attributes are matched only by predicates. A pattern used twice must match the same value twice.
Commutative operations are also tried with swapped operands.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

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
    """A match of a pattern, which maps each pattern to the value that it matched: ``match[x]``."""

    __slots__ = ("_bound", "_values", "_why", "nodes", "root")

    def __init__(self, root: Node, nodes: Iterable[Node] = ()) -> None:
        #: The node on which the whole pattern was tried.
        self.root = root
        #: The nodes that typed patterns matched, the root first.
        self.nodes = list(nodes)
        self._values: dict[Pattern, Value] = {}
        self._bound: list[Pattern] = []
        self._why = (-1, "no node was tried")

    def __getitem__(self, pattern: Pattern) -> Value:
        return self._values[pattern]

    def __contains__(self, pattern: Pattern) -> bool:
        return pattern in self._values

    def node(self, pattern: Pattern) -> Node:
        """The node that produces the value matched by `pattern`."""
        return self._values[pattern].producer

    @property
    def reason(self) -> str:
        """The reason why the match failed, for the attempt that got furthest."""
        return self._why[1]

    def bind(self, pattern: Pattern, value: Value) -> bool:
        """Bind `pattern` to `value`; False if it is bound to another value."""
        known = self._values.get(pattern)
        if known is None:
            self._values[pattern] = value
            self._bound.append(pattern)
            return True
        if known is value:
            return True
        return self.fail("%r matched %r before, and now should match %r", pattern, known, value)

    def fail(self, reason: str, *details: object) -> bool:
        """Return False, to report that the pattern does not match.

        A match that explains failures also records the reason, unless an earlier attempt matched
        more values. `reason` is a format with % placeholders, which `details` fill; it is formatted
        only when it is recorded, because most failures never are.
        """
        return False

    def mark(self) -> tuple[int, int]:
        """Return the state of the match, to which `back_to` returns if an alternative fails."""
        return len(self._bound), len(self.nodes)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Undo the bindings since `mark`."""
        while len(self._bound) > mark[0]:
            del self._values[self._bound.pop()]
        del self.nodes[mark[1] :]


class _Explained(Match):
    """A match that records why it failed."""

    __slots__ = ()

    def fail(self, reason: str, *details: object) -> bool:
        depth = len(self._values)
        if depth >= self._why[0]:
            self._why = (depth, reason % details)
        return False


class Pattern(ABC):
    """Base class of patterns: conditions on a value and the operations that compute it.

    `match` tests a node, and records in a `Match` what the pattern has found.
    """

    #: The operation types of a possible root; None means any type.
    root_types: tuple[type[Op], ...] | None = None

    def match(self, node: Node) -> Match | None:
        """Try the pattern on the first output of `node`.

        If `node` has no outputs, only a pattern of `wrap_type` or `either` can match: it tests the
        node itself.
        """
        found = Match(node)
        return found if self.accept_root(node, found) else None

    def accept_root(self, node: Node, match: Match) -> bool:
        """Return whether `node` matches as the root of the pattern.

        The default tests the first output of `node`, and fails if it has none.
        """
        if not node.outputs:
            return match.fail("%r has no output", node)
        return self.accept(node.outputs[0], match)

    @abstractmethod
    def accept(self, value: Value, match: Match) -> bool:
        """Return whether `value` matches; the bindings are recorded in `match`."""


class _AnyInput(Pattern):
    def __init__(self, where: Predicate | None) -> None:
        self._where = where

    def accept(self, value: Value, match: Match) -> bool:
        if self._where is not None and not self._where(value):
            return match.fail("%r does not have %s", value, self._where.text)
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
        self.types = types
        self.root_types = types
        self._inputs = inputs
        self._where = where

    def match(self, node: Node) -> Match | None:
        return super().match(node) if isinstance(node.op, self.types) else None

    def accept_root(self, node: Node, match: Match) -> bool:
        if node.outputs:
            return self.accept(node.outputs[0], match)
        if not isinstance(node.op, self.types):
            return match.fail("%r is not %r", node, self)
        return self._accept_node(node, match)

    def accept(self, value: Value, match: Match) -> bool:
        node = value.producer
        if not isinstance(node.op, self.types):
            return match.fail("%r is not %r", node, self)
        if self._where is not None and not self._where(value):
            return match.fail("%r does not have %s", node, self._where.text)
        mark = match.mark()
        if match.bind(self, value) and self._accept_node(node, match):
            return True
        match.back_to(mark)
        return False

    def _accept_node(self, node: Node, match: Match) -> bool:
        match.nodes.append(node)
        if not self._inputs:
            return True
        values = node.inputs
        if None in values:
            values = tuple(item for item in values if item is not None)
        if len(values) != len(self._inputs):
            return match.fail("%r has %d inputs, not %d", node, len(values), len(self._inputs))
        mark = match.mark()
        if self._accept_inputs(values, match):
            return True
        if not node.op.commutative or len(values) != 2:
            return False
        match.back_to(mark)
        return self._accept_inputs(values[::-1], match)

    def _accept_inputs(self, values: tuple[Any, ...], match: Match) -> bool:
        # A plain loop is used, because rewrites spend most of their time here.
        for pattern, value in zip(self._inputs, values, strict=True):
            if not pattern.accept(value, match):
                return False
        return True

    def __repr__(self) -> str:
        return "|".join(item.type or item.__name__ for item in self.types)


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

    def accept_root(self, node: Node, match: Match) -> bool:
        if node.outputs:
            return self.accept(node.outputs[0], match)
        return any(pattern.accept_root(node, match) for pattern in self._patterns)

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
    """A pattern that matches every value or, with `where`, every value that satisfies it."""
    return _AnyInput(where)


def wrap_type(
    types: type[Op] | tuple[type[Op], ...], *inputs: Pattern, where: Predicate | None = None
) -> Pattern:
    """Matches the output of a node of one of `types`.

    Without `inputs` the node may have any inputs. Otherwise its inputs must match these patterns
    one by one; omitted inputs of the node do not count. As the root of a pattern it also matches a
    node without outputs, such as a Result.
    """
    return _WrapType(types if isinstance(types, tuple) else (types,), inputs, where)


def optional(
    types: type[Op] | tuple[type[Op], ...], inner: Pattern, where: Predicate | None = None
) -> Pattern:
    """Matches `inner`, with or without a node of one of `types` after it.

    `where` restricts the node of one of `types`. If there is such a node, the match binds the
    returned pattern to the output of the node. If there is none, the returned pattern is not in the
    match.
    """
    return _Optional(types if isinstance(types, tuple) else (types,), inner, where)


def either(*patterns: Pattern) -> Pattern:
    """Return a pattern that matches wherever at least one of `patterns` matches.

    The patterns are tried in order; the first pattern that matches provides the match.
    """
    return _Either(patterns)


def explain_match(pattern: Pattern, node: Node) -> str:
    """Return the reason why `pattern` does not match at `node`, or "matches" if it matches."""
    found = _Explained(node)
    return "matches" if pattern.accept_root(node, found) else found.reason
