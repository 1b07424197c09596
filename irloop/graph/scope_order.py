"""Sorts the nodes of a graph so that the nodes of one scope follow each other where they can.

Exporters and optimisers write nodes in any executable order, for example all nodes first that read
constants only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from irloop.graph.model import Node
from irloop.graph.op import Parameter, Result

__all__ = ["DEEPEST", "Scope", "by_scope"]

Scope = tuple[str, ...]

#: Scopes are told apart down to this depth.
DEEPEST = 12

_SEPARATOR = re.compile(r"[/.]")


def by_scope(nodes: Sequence[Node]) -> list[tuple[Node, Scope]]:
    """The nodes, which come in an executable order, in another one, each with its scope.

    The next node is one that can be executed and shares as many scopes as possible with the
    previous one; of several, the first in the given order. A node that depends on no input of the
    graph comes directly before its first reader, and belongs to the scope of that reader.

    A scope ends with the last part of the node's own name; it is empty for inputs and outputs of
    the graph.
    """
    sorter = _Sorter(nodes)
    return [(nodes[at], sorter.scopes[at]) for at in sorter.sorted()]


def _named(node: Node) -> Scope:
    if isinstance(node.op, Parameter | Result):
        return ()
    return tuple(part for part in _SEPARATOR.split(node.name, DEEPEST + 1) if part)[: DEEPEST + 1]


class _Sorter:
    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._places = {node: at for at, node in enumerate(nodes)}
        self._sources = [
            sorted(
                {self._places[v.producer] for v in node.inputs if v and v.producer in self._places}
            )
            for node in nodes
        ]
        self._readers: list[list[int]] = [[] for _ in nodes]
        self._rooted = [isinstance(node.op, Parameter) for node in nodes]
        for place, sources in enumerate(self._sources):
            self._rooted[place] |= any(self._rooted[source] for source in sources)
            for source in sources:
                self._readers[source].append(place)
        self.scopes = [_named(node) for node in nodes]
        self._adopt()
        self._waiting = [sum(self._rooted[s] for s in sources) for sources in self._sources]
        #: The nodes that can be executed, by each scope that contains them.
        self._ready: dict[Scope, list[int]] = {}
        self._done = [False] * len(nodes)

    def _adopt(self) -> None:
        """Give nodes without a scope the one that the nodes before and after them share.

        Tools that change models name their nodes without the scopes of the others.
        """
        before: list[Scope] = []
        for own, sources in zip(self.scopes, self._sources, strict=True):
            before.append(own[:-1] or (before[sources[0]] if sources else ()))
        after = list(before)
        for place in reversed(range(len(self._nodes))):
            own, readers = self.scopes[place], self._readers[place]
            if not own or not readers:
                after[place] = own[:-1]
                continue
            around = after[readers[0]]
            after[place] = own[:-1] or around
            if not self._rooted[place] and not _shared(own, self.scopes[readers[0]]):
                self.scopes[place] = (*around, own[-1])
            elif len(own) == 1:
                self.scopes[place] = (*_shared(before[place], around), *own)

    def sorted(self) -> Iterator[int]:
        """Yield the position of every node once."""
        for place, node in enumerate(self._nodes):
            if isinstance(node.op, Parameter):
                yield from self._take(place)
        current: int | None = None
        while (current := self._next(current)) is not None:
            yield from self._take(current)
        for place in range(len(self._nodes)):
            if not self._done[place]:
                yield from self._take(place)

    def _next(self, current: int | None) -> int | None:
        for scope in _prefixes(() if current is None else self.scopes[current]):
            heap = self._ready.get(scope, [])
            while heap:
                at = heappop(heap)
                if not self._done[at]:
                    return at
        return None

    def _take(self, at: int) -> Iterator[int]:
        """Yield a position, and before it what it reads and nothing else has read yet."""
        pending = [(at, False)]
        while pending:
            last, is_fed = pending.pop()
            if self._done[last]:
                continue
            if not is_fed:
                pending.append((last, True))
                pending += [(s, False) for s in reversed(self._sources[last]) if not self._done[s]]
                continue
            self._done[last] = True
            yield last
            self._release(last)

    def _release(self, done: int) -> None:
        if not self._rooted[done]:
            return
        for reader in self._readers[done]:
            self._waiting[reader] -= 1
            if self._waiting[reader] or isinstance(self._nodes[reader].op, Result):
                continue
            for scope in _prefixes(self.scopes[reader]):
                heappush(self._ready.setdefault(scope, []), reader)


def _prefixes(scope: Scope) -> list[Scope]:
    """A scope and those around it, innermost first; the last one is the whole graph."""
    return [scope[:length] for length in range(len(scope), -1, -1)]


def _shared(first: Scope, second: Scope) -> Scope:
    for length, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return first[:length]
    return first[: len(second)]
