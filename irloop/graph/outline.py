"""The outline of a graph: its nodes in groups, by the scopes in their names and by repeated blocks.

People see from it what a large model is: stem, 12 layers, head. Exporters write names such as
``/encoder/layer.3/attention/MatMul``; the consecutive nodes of one scope form a group. Where the
same sub-graph follows several times, it is one group with several copies. All work is linear in the
number of nodes: scopes and groups nest only to a fixed depth, and each level is looked at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from irloop.graph.model import Node
from irloop.graph.op import Constant, Op
from irloop.graph.repeats import Run, runs
from irloop.graph.scope_order import DEEPEST, Scope, by_scope

__all__ = ["Group", "Item", "members", "outline"]

#: A scope with fewer nodes is no group unless it was one layer of an old IR, and neither is a
#: repetition that hides fewer nodes.
SMALLEST, HIDDEN = 3, 8

#: More items than this beside each other are put into parts of about `PART`.
WIDEST, PART = 2000, 200

#: Repetitions are nested at most this deep within a scope.
ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive nodes as one box, or several copies of the same block of nodes.

    `copies` holds the nodes and groups of each copy in order; a scope has one. `names` holds the
    scope of each copy, which may be empty. Copies agree in operations, attributes and inner edges.
    """

    names: tuple[str, ...]
    copies: tuple[tuple[Item, ...], ...]


Item = Node | Group


def members(item: Item) -> Iterator[Node]:
    """Yield the nodes of a node or group, in order."""
    pending = [item]
    while pending:
        last = pending.pop()
        if isinstance(last, Node):
            yield last
            continue
        for copy in reversed(last.copies):
            pending.extend(reversed(copy))


def outline(nodes: Sequence[Node]) -> list[Item]:
    """Group the nodes of one graph: its inputs, its operations in an executable order, its outputs.

    Constants are left out. The order of the outline is executable, too; scopes are kept together
    where they can be.
    """
    return _Outline(by_scope(nodes)).items()


class _Outline:
    """The nodes of a graph with what each level of groups needs to know about them."""

    def __init__(self, nodes: Sequence[tuple[Node, Scope]]) -> None:
        self._nodes = [node for node, _ in nodes]
        self._scopes = [scope for _, scope in nodes]
        self._places = {node: at for at, node in enumerate(self._nodes)}
        self._kinds = _numbered([_kind(node) for node in self._nodes])
        self._alive = self._alive_before()
        self._blocks: dict[Hashable, int] = {}

    def items(self) -> list[Item]:
        """The outline of the graph."""
        return self._parted(self._folded(self._scoped(0, len(self._nodes), 0)))

    def _alive_before(self) -> list[int]:
        """For each node, how many values earlier nodes compute and this or a later one reads."""
        change = [0] * (len(self._nodes) + 2)
        for place, node in enumerate(self._nodes):
            for value in node.outputs:
                readers = [self._places[user] for user, _ in value.uses if user in self._places]
                if readers:
                    change[place + 1] += 1
                    change[max(readers) + 1] -= 1
        alive, count = [], 0
        for each in change:
            count += each
            alive.append(count)
        return alive

    def _scoped(self, start: int, end: int, depth: int) -> list[Item]:
        """The nodes from `start` to `end`, in groups by the part `depth` of their names."""
        items: list[Item] = []
        position = start
        while position < end:
            stop = self._end_of_scope(position, end, depth)
            inside = self._nodes[position:stop]
            if _is_small(inside) or depth == DEEPEST:
                items += inside
            elif stop - position == end - start:
                # The part of the name is common to all, so it separates nothing.
                items += self._scoped(position, stop, depth + 1)
            else:
                content = self._parted(self._folded(self._scoped(position, stop, depth + 1)))
                items.append(_scope(self._title(position, stop, depth), content))
            position = stop
        return items

    def _end_of_scope(self, start: int, end: int, depth: int) -> int:
        """Where the scope that contains the node `start` ends; the next node if it has none."""
        scope = self._scopes[start][depth : depth + 1]
        stop = start + 1
        while scope and stop < end and self._scopes[stop][depth : depth + 1] == scope:
            stop += 1
        return stop

    def _title(self, start: int, end: int, depth: int) -> str:
        """The parts of names from `depth` on that all nodes from `start` to `end` share."""
        parts = self._scopes[start]
        shared = depth + 1
        while shared < min(len(parts), DEEPEST) and all(
            self._scopes[at][shared : shared + 1] == parts[shared : shared + 1]
            for at in range(start + 1, end)
        ):
            shared += 1
        # In "/layer1/layer1.0/conv" the second part repeats the first.
        return "/".join(dict.fromkeys(parts[depth:shared]))

    def _folded(self, items: list[Item]) -> list[Item]:
        """The items with repetitions in a row as groups: short blocks first."""
        for _ in range(ROUNDS):
            level = _Level(items, [self._token(item) for item in items])
            repetitions = self._repetitions(level)
            if not repetitions:
                break
            items, done = [], 0
            for run in repetitions:
                items += [*level.items[done : run.start], _repeated(level, run)]
                done = run.end
            items += level.items[done:]
        return items

    def _parted(self, items: list[Item]) -> list[Item]:
        """The items in parts if there are more than people or browsers can look at.

        Parts end where few values are passed on.
        """
        while len(items) > WIDEST:
            level = _Level(items, [])
            parts: list[Item] = []
            start = 0
            while start < len(items):
                near = range(start + 3 * PART // 4, min(start + 5 * PART // 4, len(items)))
                stop = min(near, key=lambda end: self._alive[self._place(level, end)], default=0)
                stop = stop or len(items)
                parts.append(Group((f"part {len(parts) + 1}",), (tuple(items[start:stop]),)))
                start = stop
            items = parts
        return items

    def _repetitions(self, level: _Level) -> list[Run]:
        repetitions: list[Run] = []
        taken = [False] * len(level.items)
        for run in sorted(runs(level.tokens), key=lambda run: (run.period, -level.size(run), run)):
            copies = self._copies(level, run)
            if copies is None or any(taken[copies.start : copies.end]):
                continue
            taken[copies.start : copies.end] = [True] * (copies.end - copies.start)
            repetitions.append(copies)
        return sorted(repetitions)

    def _token(self, member: Item) -> int:
        if isinstance(member, Node):
            return self._kinds[self._places[member]]
        nodes = list(members(member))
        start = self._places[nodes[0]]
        block = self._block(start, start + len(nodes))
        return -1 - self._blocks.setdefault(block, len(self._blocks))

    def _block(self, start: int, end: int) -> Hashable:
        """The operations of consecutive nodes, and the edges between them."""
        return tuple(self._kinds[start:end]), self._edges(start, end)

    def _edges(self, start: int, end: int) -> Hashable:
        return tuple(
            tuple(
                (self._places[value.producer] - start, value.index)
                if value is not None and start <= self._places.get(value.producer, -1) < end
                else None
                for value in self._nodes[at].inputs
            )
            for at in range(start, end)
        )

    def _copies(self, level: _Level, run: Run) -> Run | None:
        """The part of a run that consists of equal copies; None if it is not worth a group.

        Copies begin where the fewest values are passed on, as between two layers.
        """
        spare = (run.end - run.start) % run.period
        starts = range(run.start, run.start + spare + 1)
        start = min(starts, key=lambda at: (self._alive[self._place(level, at)], at))
        stops = range(start, run.end - run.period + 1, run.period)
        edges = [self._edges(*self._span(level, at, at + run.period)) for at in stops]
        first = best = 0
        longest = 1
        for step in range(1, len(edges)):
            first = first if edges[step] == edges[step - 1] else step
            if step - first + 1 > longest:
                best, longest = first, step - first + 1
        begin = start + best * run.period
        copies = Run(begin, begin + longest * run.period, run.period)
        hidden = level.size(copies) * (longest - 1) // longest
        return copies if longest > 1 and hidden >= HIDDEN else None

    def _place(self, level: _Level, at: int) -> int:
        return self._places[level.firsts[at]]

    def _span(self, level: _Level, start: int, end: int) -> tuple[int, int]:
        first = self._place(level, start)
        return first, first + level.before[end] - level.before[start]


def _is_small(nodes: Sequence[Node]) -> bool:
    """Return whether nodes are too few for a group; those that replace a layer of an old IR are two
    or more.
    """
    layers = {node.location.layer_id for node in nodes}
    is_layer = len(nodes) > 1 and len(layers) == 1 and None not in layers
    return len(nodes) < SMALLEST and not is_layer


def _scope(title: str, content: list[Item]) -> Group:
    """A scope as a group; one that consists of a single group takes the place of that group."""
    (only, *others) = content
    if others or not isinstance(only, Group):
        return Group((title,), (tuple(content),))
    names = tuple(f"{title}/{name}" if name else title for name in only.names)
    return Group(names, only.copies)


def _repeated(level: _Level, run: Run) -> Group:
    names, copies = [], []
    for at in range(run.start, run.end, run.period):
        copy = tuple(level.items[at : at + run.period])
        name = ""
        if len(copy) == 1 and isinstance(copy[0], Group) and len(copy[0].copies) == 1:
            (name,), (copy,) = copy[0].names, copy[0].copies
        names.append(name)
        copies.append(copy)
    return Group(tuple(names), tuple(copies))


class _Level:
    """Items beside each other: their tokens, first nodes, and how many nodes are before each."""

    def __init__(self, items: list[Item], tokens: list[int]) -> None:
        self.items = items
        self.tokens = tokens
        self.firsts = [next(members(item)) for item in items]
        self.before = [0]
        for item in items:
            count = 1 if isinstance(item, Node) else sum(1 for _ in members(item))
            self.before.append(self.before[-1] + count)

    def size(self, run: Run) -> int:
        """The number of nodes in the full periods of a run."""
        whole = (run.end - run.start) // run.period * run.period
        return self.before[run.start + whole] - self.before[run.start]


def _kind(node: Node) -> Hashable:
    """What must agree in two copies of a node: the operation, its attributes, and its constants."""
    constants = tuple(
        value is not None and isinstance(value.producer.op, Constant) for value in node.inputs
    )
    bodies = tuple((body.label, len(body.graph), body.graph.kinds) for body in node.bodies)
    return _hashable(node.op), constants, len(node.outputs), bodies


def _hashable(op: Op) -> Hashable:
    try:
        hash(op)
    except TypeError:
        # Attributes of unknown operations may be lists; two such operations never agree.
        return op.label, id(op)
    return op


def _numbered(kinds: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(kind, len(numbers)) for kind in kinds]
