"""Lists the changes between two models of one format, apart from names.

Nodes that compute the same from the same inputs are equal, whatever their names. Other nodes are
matched by name, then by their readers; unmatched nodes were added or removed. Bodies, port maps and
weights are compared too. Nothing is run; `compare` finds out whether the results differ.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any

from irloop.comparison.causes import weights
from irloop.comparison.causes.wire_comparison import Wires
from irloop.diagnostics import SHOWN_ROWS, html_table, html_text, one_line
from irloop.errors import UsageError
from irloop.formats.openvino.wire_places import WirePlaces
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant, Parameter, UnknownOp
from irloop.graph.tensor import Tensor
from irloop.graph.walk import node_path
from irloop.progress import counted

__all__ = ["Change", "ModelDiff", "diff"]

#: The kinds of change, in the order of a report. Models that differ only by "renamed" count as
#: equal.
KINDS = ("model", "metadata", "input", "output", "changed", "added", "removed", "renamed")


@dataclass(frozen=True, slots=True)
class Change:
    """One change: its kind, its path and a message.

    The path of a node in the body of a loop or branch begins with the operation that has the body,
    as in ``Loop_7/body/Mul_4``. It is a path in the newer model; only for a removed part, it is a
    path in the older one.
    """

    kind: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind:<8} {self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """All changes between two models. `same` is true if only names of inner nodes have changed."""

    changes: tuple[Change, ...]

    @property
    def same(self) -> bool:
        """Return whether nothing but names of inner nodes has changed."""
        return all(change.kind == "renamed" for change in self.changes)

    def __str__(self) -> str:
        counts = Counter(change.kind for change in self.changes)
        words = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        head = "the same" if self.same else "different"
        return "\n".join([f"{head}: {words}" if words else head, *map(_line, self.changes)])

    def _repr_html_(self) -> str:
        """The changes as a table, for notebooks."""
        head = html_text(str(self).partition("\n")[0])
        if not self.changes:
            return f"<p><b>{head}</b></p>"
        rows = ((item.kind, item.path, item.message) for item in self.changes[:SHOWN_ROWS])
        more = len(self.changes) - SHOWN_ROWS
        tail = f"<p>and {more} more</p>" if more > 0 else ""
        table = html_table(("change", "place", "what"), rows)
        return f"<p><b>{head}</b></p>{table}{tail}"

    def to_dict(self) -> dict[str, Any]:
        """The changes as plain data, for JSON."""
        listed = [
            {"kind": item.kind, "path": item.path, "message": item.message} for item in self.changes
        ]
        return {"same": self.same, "changes": listed}


def _line(change: Change) -> str:
    return one_line(f"  {change}")


def diff(first: Model, second: Model, *, metadata: bool = False) -> ModelDiff:
    """List the changes from `first` to `second`.

    With `metadata`, changes of metadata and of runtime information of nodes are listed, too.

    Raises:
        UsageError: when the two are of different formats.
    """
    if first.dialect != second.dialect:
        raise UsageError(
            "only models of one format can be compared node by node",
            expected=first.dialect,
            found=second.dialect,
            fix="'irloop check' compares the results of two models of any format",
        )
    changes = [*_heads(first, second)]
    if metadata:
        changes += _metadata_changes("", first.metadata, second.metadata)
    files = [model.source if model.dialect == "openvino" else None for model in (first, second)]
    differ = _Differ(first.graph, second.graph, _Files(files[0], files[1]), metadata=metadata)
    changes += differ.changes()
    return ModelDiff(tuple(sorted(changes, key=lambda change: KINDS.index(change.kind))))


def _heads(first: Model, second: Model) -> Iterator[Change]:
    if first.version != second.version:
        yield Change("model", "version", f"{first.version} -> {second.version}")
    for domain in sorted({*first.opsets, *second.opsets}):
        old, new = first.opsets.get(domain), second.opsets.get(domain)
        if old != new:
            yield Change("model", f"opset {domain or 'ai.onnx'}", f"{old} -> {new}")
    for kind, old_nodes, new_nodes in (
        ("input", first.graph.parameters, second.graph.parameters),
        ("output", first.graph.results, second.graph.results),
    ):
        if len(old_nodes) != len(new_nodes):
            yield Change(kind, "number", f"{len(old_nodes)} -> {len(new_nodes)}")
        for old_node, new_node in zip(old_nodes, new_nodes, strict=False):
            yield from _border(kind, old_node, new_node)


def _metadata_changes(
    path: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[Change]:
    for name in sorted({*old, *new}, key=str):
        before, after = old.get(name, "absent"), new.get(name, "absent")
        if before != after:
            yield Change("metadata", f"{path} {name}".strip(), f"{before} -> {after}")


def _border(kind: str, old: Node, new: Node) -> Iterator[Change]:
    if old.name != new.name:
        yield Change(kind, new.name, f"was called {old.name!r}")
    types = [str(_value_of(node).type) for node in (old, new)]
    if types[0] != types[1]:
        yield Change(kind, new.name, f"{types[0]} -> {types[1]}")


def _value_of(node: Node) -> Value:
    value = node.outputs[0] if node.outputs else node.inputs[0]
    assert value is not None
    return value


class _Files:
    """Finds the line numbers of port map entries in the files of the two models.

    `old` and `new` are the paths of the files, or None. They are parsed at the first access to
    `places`.
    """

    def __init__(self, old: str | None, new: str | None) -> None:
        self._files = (old, new)

    @cached_property
    def places(self) -> tuple[WirePlaces, WirePlaces]:
        return WirePlaces.of(self._files[0]), WirePlaces.of(self._files[1])


class _Differ:
    """Matches the nodes of two graphs and describes their differences."""

    def __init__(self, old: Graph, new: Graph, files: _Files, *, metadata: bool) -> None:
        self._old, self._new = old, new
        self._files = files
        self._metadata = metadata
        self._partner: dict[Node, Node] = {}
        self._taken: set[Node] = set()
        for pair in _parameters(old, new):
            self._pair(*pair)
        places = {node: at for at, node in enumerate(new.parameters)}
        same = {left: places[right] for left, right in self._partner.items()}
        self._prints = {**_fingerprints(old, same), **_fingerprints(new, places)}
        # Match nodes with equal fingerprints, first those that also have equal names.
        for key in (lambda node: (self._prints[node], node.name), self._prints.__getitem__):
            self._match_by(key)
        self._match_named()
        self._match_read()
        self._match_read(other_type=True)

    def changes(self) -> Iterator[Change]:
        """Every change, in the order of the newer graph; removed nodes come last."""
        former = {new: old for old, new in self._partner.items()}
        for node in self._new.nodes:
            old = former.get(node)
            if old is None:
                yield Change("added", node_path(node), node.op.label)
            else:
                yield from self._between(old, node)
        if self._metadata:
            for left, right in self._partner.items():
                yield from _metadata_changes(node_path(right), left.info, right.info)
        # A difference in the results of a body is reported at the wires that read these results.
        results = () if self._new.owner else zip(self._old.results, self._new.results, strict=False)
        for index, (left, right) in enumerate(results):
            if not self._same_source(left.inputs[0], right.inputs[0]):
                message = _sources_in_words(left.inputs[0], right.inputs[0])
                yield Change("changed", f"{node_path(right)} (result {index})", message)
        for node in self._old.nodes:
            if node not in self._partner:
                yield Change("removed", node_path(node), node.op.label)

    def _pair(self, old: Node, new: Node) -> None:
        self._partner[old] = new
        self._taken.add(new)

    def _match_by(self, key: Callable[[Node], Any]) -> None:
        free: dict[Any, deque[Node]] = {}
        for node in self._new.nodes:
            if self._is_free(node):
                free.setdefault(key(node), deque()).append(node)
        for node in self._old.nodes:
            candidates = free.get(key(node)) if self._is_free(node) else None
            if candidates:
                self._pair(node, candidates.popleft())

    def _match_named(self) -> None:
        names = [
            Counter(node.name for node in graph.nodes if self._is_free(node))
            for graph in (self._old, self._new)
        ]
        named = {node.name: node for node in self._new.nodes if self._is_free(node)}
        for node in self._old.nodes:
            once = names[0][node.name] == names[1][node.name] == 1
            other = named.get(node.name)
            if self._is_free(node) and once and other and other.op.type == node.op.type:
                self._pair(node, other)

    def _match_read(self, *, other_type: bool = False) -> None:
        """Match nodes of the same type that feed corresponding inputs of matched nodes.

        For example, if two Adds are matched and input 0 of each comes from a MatMul, the two
        MatMuls are matched. The nodes that feed the results of the graphs are matched in the same
        way.

        With `other_type`, the types may differ if the numbers of inputs and outputs are equal. A
        Tanh that became a Sigmoid is then reported as one change.
        """
        pending = [*zip(self._old.results, self._new.results, strict=False)]
        pending += self._partner.items()
        while pending:
            old, new = pending.pop()
            for left, right in zip(old.inputs, new.inputs, strict=False):
                if left is None or right is None:
                    continue
                pair = (left.producer, right.producer)
                fits = pair[0].op.type == pair[1].op.type or (other_type and _are_alike(*pair))
                if (
                    fits
                    and left.index == right.index
                    and self._is_free(pair[0])
                    and self._is_free(pair[1])
                ):
                    self._pair(*pair)
                    pending.append(pair)

    def _is_free(self, node: Node) -> bool:
        return node not in self._partner and node not in self._taken

    def _same_source(self, left: Value | None, right: Value | None) -> bool:
        if left is None or right is None:
            return left is right
        return self._partner.get(left.producer) is right.producer and left.index == right.index

    def _between(self, old: Node, new: Node) -> Iterator[Change]:
        path = node_path(new)
        if old.name != new.name and not isinstance(new.op, Constant):
            yield Change("renamed", path, f"was called {old.name!r}")
        if self._prints[old] == self._prints[new]:
            # Names of inner nodes may still differ.
            yield from self._bodies(old, new, path)
            return
        if isinstance(old.op, Constant) and isinstance(new.op, Constant):
            yield Change("changed", path, weights.distance(old.op.tensor, new.op.tensor))
            return
        for message in (*_operations(old, new), *self._inputs(old, new)):
            yield Change("changed", path, message)
        yield from self._bodies(old, new, path)

    def _inputs(self, old: Node, new: Node) -> Iterator[str]:
        if len(old.inputs) != len(new.inputs):
            yield f"{len(old.inputs)} inputs -> {len(new.inputs)}"
        for at, (left, right) in enumerate(zip(old.inputs, new.inputs, strict=False)):
            if not self._same_source(left, right):
                yield f"input {at} {_sources_in_words(left, right)}"

    def _bodies(self, old: Node, new: Node, path: str) -> Iterator[Change]:
        if _are_exchanged(old.bodies, new.bodies):
            yield Change("changed", path, "the branches are exchanged")
            return
        labels = {body.label: body for body in old.bodies}
        for body in new.bodies:
            before = labels.pop(body.label, None)
            if before is None:
                yield Change("added", f"{path}/{body.label}", "a body")
                continue
            inner = _Differ(before.graph, body.graph, self._files, metadata=self._metadata)
            yield from self._wires((old, before), (new, body), inner)
            yield from inner.changes()
        for label in labels:
            yield Change("removed", f"{path}/{label}", "a body")

    def _wires(
        self, old: tuple[Node, Body], new: tuple[Node, Body], inner: _Differ
    ) -> Iterator[Change]:
        """Compare the port maps and results of two versions of a body; yield the changes.

        `old` and `new` are the two versions of the loop or branch, each as a node with one of its
        bodies. `inner` is the comparison of these bodies, which has matched their values.
        """
        ports = old[1].ports, new[1].ports
        if ports[0] == ports[1] and all(
            inner._same_source(left.inputs[0], right.inputs[0])
            for left, right in zip(old[1].graph.results, new[1].graph.results, strict=False)
        ):
            return

        def same(left: Value | None, right: Value | None) -> bool:
            return self._same_source(left, right) or inner._same_source(left, right)

        nodes, bodies = (old[0], new[0]), (old[1], new[1])
        wires = Wires.between(nodes, bodies, self._files.places, same)
        path = f"{node_path(new[0])}/{new[1].label}"
        for found in wires.all():
            message = f"`{found.name}` {found.second}; in the old model it {found.first}"
            yield Change("changed", path, message)
        for kind, left, right in zip(
            ("inputs", "outputs"),
            (ports[0].inputs, ports[0].outputs),
            (ports[1].inputs, ports[1].outputs),
            strict=True,
        ):
            if len(left) != len(right):
                message = f"the port map has {len(right)} {kind}, had {len(left)}"
                yield Change("changed", path, message)


def _are_alike(old: Node, new: Node) -> bool:
    """Return whether two nodes are similar enough to be versions of one node, whatever their types.

    They are if both have the same numbers of inputs and outputs, neither has a body, and neither is
    a Parameter or a Constant.
    """
    plain = not (old.bodies or new.bodies)
    inner = not isinstance(old.op, Parameter | Constant) and not isinstance(
        new.op, Parameter | Constant
    )
    counts = [(len(node.inputs), len(node.outputs)) for node in (old, new)]
    return plain and inner and counts[0] == counts[1]


def _parameters(old: Graph, new: Graph) -> list[tuple[Node, Node]]:
    """Return pairs of corresponding inputs (Parameter nodes) of two graphs.

    The inputs of two bodies correspond by name if the bodies have the same set of names. All other
    inputs correspond by position.
    """
    names = {node.name: node for node in new.parameters}
    by_name = [(node, names[node.name]) for node in old.parameters if node.name in names]
    inner = old.owner is not None and len({node.name for node in old.parameters}) == len(by_name)
    if inner and len(by_name) == len(old.parameters) == len(names) == len(new.parameters):
        return by_name
    return list(zip(old.parameters, new.parameters, strict=False))


def _sources_in_words(old: Value | None, new: Value | None) -> str:
    """Describe in words where an input gets its value in the new and in the old model.

    If both sources have the same name, the text names their nodes and the numbers of their outputs.
    """
    if old is None or new is None or old.name != new.name:
        return f"comes from {_named(new)}, was {_named(old)}"
    places = [f"output {value.index} of '{value.producer.name}'" for value in (new, old)]
    return f"comes from {places[0]}, was {places[1]}"


def _named(value: Value | None) -> str:
    return "nothing" if value is None else f"'{value.name}'"


def _attributes(node: Node) -> dict[str, Any]:
    if isinstance(node.op, UnknownOp):
        return dict(node.op.attributes)
    op: Any = node.op
    known = {item.name: getattr(op, item.name) for item in fields(op)}
    return {**known, **node.attributes}


def _operations(old: Node, new: Node) -> Iterator[str]:
    if old.op.label != new.op.label:
        yield f"{old.op.label} -> {new.op.label}"
    left, right = _attributes(old), _attributes(new)
    for name in sorted({*left, *right}):
        before, after = left.get(name, "absent"), right.get(name, "absent")
        if before != after:
            yield f"{name} {_change_in_words(before, after)}"


def _change_in_words(before: Any, after: Any) -> str:
    """Describe a change of an attribute; for a tensor, with the difference of its elements."""
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        return weights.distance(before, after)
    words = [
        item.type if isinstance(item, Tensor) else "none" if item is None else item
        for item in (before, after)
    ]
    words = [
        ", ".join(map(str, item)) if isinstance(item, tuple | list) else str(item) for item in words
    ]
    return f"{words[0]} -> {words[1]}"


def _fingerprints(graph: Graph, places: Mapping[Node, int] | None = None) -> dict[Node, bytes]:
    """Return a digest of how each node is computed from the parameters of the graph.

    Names do not affect the digests. A parameter is identified by its number in `places` or, by
    default, by its position.
    """
    prints: dict[Node, bytes] = {}
    for at, node in enumerate(graph.parameters):
        place = at if places is None else places.get(node)
        prints[node] = _digest(["parameter", str(place)])
    nodes: Iterable[Node] = graph.nodes
    if graph.owner is None:
        nodes = counted("nodes", nodes, len(graph), every=64)
    for node in nodes:
        prints[node] = _print_of(node, prints)
    return prints


def _print_of(node: Node, found: dict[Node, bytes]) -> bytes:
    if isinstance(node.op, Constant):
        return _digest(["constant"], [weights.digest(node.op.tensor)])
    attributes = sorted((name, repr(value)) for name, value in _attributes(node).items())
    inputs = [_source(value, found) for value in node.inputs]
    bodies = [_body_print(body) for body in node.bodies]
    return _digest([node.op.label, repr(attributes), str(len(node.outputs))], inputs + bodies)


def _source(value: Value | None, found: dict[Node, bytes]) -> bytes:
    return b"-" if value is None else found[value.producer] + str(value.index).encode()


def _are_exchanged(old: Sequence[Body], new: Sequence[Body]) -> bool:
    """Return whether the two branches of an If have been exchanged between `old` and `new`."""
    if len(old) != 2 or len(new) != 2 or [item.label for item in old] != [x.label for x in new]:
        return False
    before, after = ([_body_print(item, "") for item in bodies] for bodies in (old, new))
    return before != after and before == after[::-1]


def _body_print(body: Body, label: str | None = None) -> bytes:
    found = _fingerprints(body.graph)
    results = [_source(node.inputs[0], found) for node in body.graph.results]
    ports = body.ports
    wires = [sorted(map(repr, ports.inputs)), sorted(map(repr, ports.outputs))]
    texts = [
        body.label if label is None else label,
        repr(wires),
        repr((ports.iteration, ports.condition)),
    ]
    return _digest([*texts, str(len(body.graph.parameters))], results)


def _digest(texts: Sequence[str], parts: Iterable[bytes] = ()) -> bytes:
    state = blake2b(digest_size=20)
    for text in texts:
        state.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for part in parts:
        state.update(blake2b(part, digest_size=20).digest())
    return state.digest()
