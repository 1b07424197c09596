"""Defines passes that rewrite single nodes or matches of a pattern, and runs them over a graph."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from irloop.errors import PassError
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.walk import all_graphs, count_nodes, node_path, owners
from irloop.passes.base import Pass, PassConfig, failures_named
from irloop.passes.match_rewriter import MatchRewriter, copy_info
from irloop.passes.pattern import Match, Pattern
from irloop.passes.session import Session

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["BackwardGraphRewrite", "GraphRewrite", "LocalPass", "MatcherPass", "NodePass"]


#: Maximum number of changes that a rewrite may make per node of the model; a rewrite that makes
#: more never ends.
CHANGES_PER_NODE = 100
#: Number of changes that a rewrite may make in any model, even a small one.
FEWEST_CHANGES = 10_000


class Trial(NamedTuple):
    """What a pass does at single nodes of a model."""

    item: LocalPass
    #: The types of nodes at which the pass is tried; None for any type.
    types: tuple[type[Op], ...] | None
    match: Callable[[Node], Match | None]
    rewrite: Callable[[Match, MatchRewriter], bool]

    def at(self, node: Node) -> Match | None:
        """Return the match at a node, or None if the pass does not apply there."""
        with failures_named(self.item.name, node):
            return self.match(node)

    def rewritten(self, match: Match, rewriter: MatchRewriter) -> bool:
        """Rewrite a match; return whether the root of the match was replaced.

        If the root was replaced, nodes that nothing reads any more are erased.
        """
        root = match.root
        touched = [*match.nodes, *(v.producer for v in root.inputs if v is not None)]
        with failures_named(self.item.name, root):
            replaced = self.rewrite(match, rewriter)
        if replaced:
            _tidy(match, touched, rewriter)
        return replaced


class LocalPass(Pass):
    """The base of passes that are tried at one node after the other, by a `GraphRewrite`."""

    #: How often each pass found a node to rewrite when this pass last ran on its own.
    matches: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def trial(self, model: Model) -> Trial:
        """Return what this pass does at the nodes of a model; each run calls this once."""

    def run(self, model: Model, config: PassConfig) -> bool:
        rewrite = GraphRewrite([self], name=self.name)
        self.matches = rewrite.matches
        return rewrite.run(model, config)


class NodePass(LocalPass):
    """A pass that rewrites nodes of some operations, one at a time."""

    #: The operations whose nodes are tried.
    operations: tuple[type[Op], ...]

    def applies(self, node: Node) -> bool:
        """Return whether to rewrite a node of these operations: by default, each of them."""
        return True

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return any(issubclass(kind, self.operations) for kind in kinds)

    @abstractmethod
    def rewrite(self, node: Node, w: NodeWriter) -> Value | Sequence[Value] | None:
        """Return the values that replace the outputs of `node`, or None.

        `w` emits operations before the node. If the result is None, the pass leaves the node, or
        has changed the graph itself by `w.rewriter`.
        """

    def trial(self, model: Model) -> Trial:
        from irloop.passes.writers import writer_at

        def match(node: Node) -> Match | None:
            return Match(node, [node]) if self.applies(node) else None

        def rewrite(match: Match, rewriter: MatchRewriter) -> bool:
            node = match.root
            made = self.rewrite(node, writer_at(model, rewriter, node, node.name))
            if made is not None:
                rewriter.replace_node(node, (made,) if isinstance(made, Value) else made)
            return node.graph is None

        return Trial(self, self.operations, match, rewrite)


class MatcherPass(LocalPass):
    """A pass with one pattern, which rewrites each match.

    The root of a match is the node at which the pattern was tried. If `rewrite` returns True, it
    has replaced the root, and no other matcher is tried at that node. `rewrite` may also edit other
    nodes and return False.
    """

    @abstractmethod
    def pattern(self) -> Pattern:
        """Return the pattern of the nodes that `rewrite` changes.

        Each run of the pass calls this once.
        """

    @abstractmethod
    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        """Change the graph at this match; True when the root was replaced."""

    def apply(self, node: Node) -> bool:
        """Try the pass at one node of a graph; True when it changed the graph.

        Only this node is tried, not its bodies or nodes that the pass inserts. The types of the
        whole model are inferred first, so that predicates can ask for them.

        Raises:
            PassError: when the code of the pass raises an exception that is not irloop's.
        """
        *_, outermost = (node, *owners(node))
        assert node.graph is not None, "the node was erased"
        assert outermost.graph is not None
        rewriter = Session(outermost.graph).rewriter(node.graph)
        trial = self._trial()
        match = trial.at(node)
        if match is None:
            return False
        return trial.rewritten(match, rewriter) or rewriter.modified

    def trial(self, model: Model) -> Trial:
        return self._trial()

    def _trial(self) -> Trial:
        pattern = self.pattern()
        return Trial(self, pattern.root_types, pattern.match, self.rewrite)


class GraphRewrite(Pass):
    """Visits nodes in topological order and tries its matchers in the order given.

    Parameters come first and results last; the bodies of a node are visited before the node itself.
    At each node, matchers are tried until the `rewrite` of one of them returns True; the nodes that
    it inserted are visited next. Matchers whose pattern has a type at its root are tried at nodes
    of that type only.

    After a rewrite that returns True, nodes that only the replaced nodes read are erased, and so
    are inserted nodes without consumers. Inserted nodes that remain get the runtime information of
    the matched nodes that were removed.
    """

    name = "graph_rewrite"
    backward = False

    def __init__(
        self, matchers: Sequence[LocalPass], *, name: str = "", recurse: bool = True
    ) -> None:
        if name:
            # Several rewrites may differ only in their matchers; the name tells them apart.
            self.name = name  # type: ignore[misc]
        self.matchers = list(matchers)
        self.recurse = recurse
        self.matches: dict[str, int] = {}

    def run(self, model: Model, config: PassConfig) -> bool:
        for matcher in self.matchers:
            matcher.require_dialect(model)
        self.matches.clear()
        enabled = [item for item in self.matchers if not config.is_disabled(item)]
        if not enabled:
            return False
        dispatch = _Dispatch(item.trial(model) for item in enabled)
        if not any(map(dispatch, _operations(model.graph))):
            return False  # no matcher would visit a node, so do not infer the types
        run = _Run(self, dispatch, config, model)
        return run.visit_graph(model.graph)


def _operations(root: Graph) -> Iterable[Op]:
    """Return one operation of each type that occurs in a graph or its bodies."""
    by_type: dict[type[Op], Op] = {}
    for graph in all_graphs(root):
        for node in (*graph.parameters, *graph.nodes, *graph.results):
            by_type.setdefault(type(node.op), node.op)
    return by_type.values()


class BackwardGraphRewrite(GraphRewrite):
    """Visits nodes from the results to the parameters and tries its matchers in the order given.

    In everything else it works as `GraphRewrite`, which visits the nodes in the opposite order.
    """

    name = "backward_graph_rewrite"
    backward = True


class _Dispatch:
    """The trials, keyed by the types of nodes that they can match."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._all = list(trials)
        self._by_type: dict[type[Op], list[Trial]] = {}

    def __call__(self, op: Op) -> list[Trial]:
        kind = type(op)
        trials = self._by_type.get(kind)
        if trials is None:
            trials = [
                trial for trial in self._all if trial.types is None or issubclass(kind, trial.types)
            ]
            self._by_type[kind] = trials
        return trials


class _Run:
    """One run of a rewrite over one model."""

    def __init__(
        self, rewrite: GraphRewrite, dispatch: _Dispatch, config: PassConfig, model: Model
    ) -> None:
        self._rewrite = rewrite
        self._dispatch = dispatch
        self._config = config
        self._session = Session.of(model, config.facts)
        self._changes_left = max(FEWEST_CHANGES, CHANGES_PER_NODE * count_nodes(model.graph))

    def visit_graph(self, graph: Graph) -> bool:
        rewriter = self._session.rewriter(graph)
        changed = False
        queue = deque([*graph.parameters, *graph.nodes, *graph.results])
        if self._rewrite.backward:
            queue.reverse()
        while queue:
            node = queue.popleft()
            if node.graph is not graph:
                continue
            if self._rewrite.recurse:
                for body in node.bodies:
                    changed |= self.visit_graph(body.graph)
            candidates = self._dispatch(node.op)
            if candidates:
                self._visit_node(node, candidates, rewriter)
                made = rewriter.take_inserted()
                queue.extendleft(made if self._rewrite.backward else reversed(made))
        return changed or rewriter.modified

    def _visit_node(self, node: Node, candidates: list[Trial], rewriter: MatchRewriter) -> None:
        counts = self._rewrite.matches
        for trial in candidates:
            transformation, match = trial.item, trial.at(node)
            if match is None or self._config.skips(transformation, node):
                continue
            counts[transformation.name] = counts.get(transformation.name, 0) + 1
            self._count_down(transformation, node)
            if trial.rewritten(match, rewriter):
                return

    def _count_down(self, matcher: LocalPass, node: Node) -> None:
        self._changes_left -= 1
        if self._changes_left < 0:
            raise PassError(
                f"pass {matcher.name} never finishes: it keeps matching its own output, most "
                f"recently {node.op.label} {node_path(node)!r}",
                code="PAS002",
                location=node.location,
                fix="exclude the nodes that the pass creates from its pattern",
            )


def _tidy(match: Match, touched: list[Node], rewriter: MatchRewriter) -> None:
    """Erase the nodes that nothing reads after a match has been rewritten.

    Inserted nodes that remain get the runtime information of the matched nodes that are gone.
    """
    rewriter.erase_unread([*rewriter.inserted, *touched])
    gone = [node for node in match.nodes if node.graph is None and node.info]
    if not gone:
        return
    for node in rewriter.inserted:
        copy_info([*gone, node], node)
