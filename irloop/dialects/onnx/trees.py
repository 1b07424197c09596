"""Ensembles of decision trees (domain ai.onnx.ml)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.features import MlOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.tensor import Tensor
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.trees import Forest

__all__ = [
    "TreeEnsemble",
    "TreeEnsembleClassifier1",
    "TreeEnsembleClassifier3",
    "TreeEnsembleRegressor1",
    "TreeEnsembleRegressor3",
    "classified",
    "known_transform",
    "rows_of",
]

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def rows_of(args: Arguments) -> Dim:
    """The number of rows in input 0: N for [N, F], 1 for [F].

    Raises:
        InferenceError: for a wrong rank.
    """
    dims = args.shape(0).dims
    if dims is None:
        return UNKNOWN_DIM
    if len(dims) not in (1, 2):
        raise args.error("rows have the wrong rank", "[N, F]", str(args.shape(0)))
    return dims[0] if len(dims) == 2 else 1


def known_transform(args: Arguments, name: str) -> None:
    """Refuse an unknown post_transform.

    Raises:
        InferenceError: when the name is unknown.
    """
    if name not in TRANSFORMS:
        raise args.error("post_transform is not known", ", ".join(TRANSFORMS), name, kind="range")


def classified(args: Arguments, labels: Sequence[int] | Sequence[str]) -> list[ValueType]:
    """The types of a classifier's outputs: labels [N] and scores [N, classes].

    Raises:
        InferenceError: when there are no labels, or input 0 does not hold rows of numbers.
    """
    inference.numeric(args)
    if not labels:
        raise args.error("a classifier needs labels of one type")
    rows = rows_of(args)
    element = ElementType.STRING if isinstance(labels[0], str) else ElementType.I64
    types: list[ValueType] = [
        TensorType(element, Shape((rows,))),
        TensorType(ElementType.F32, Shape((rows, max(len(labels), 2)))),
    ]
    return types[: args.n_outputs]


class TreeEnsemble(MlOp, type="TreeEnsemble", since=5, inputs=1):
    """Leaves of decision trees, aggregated for each target (TreeEnsemble-5).

    The input is rows [N, F], the output scores [N, targets]. Inner nodes and leaves are in separate
    lists. Each branch of an inner node has an index and a flag, which tells whether the index is
    that of a leaf or of an inner node. A node may test whether a feature is a member of a set.
    `membership_values` holds all these sets, one after the other, each ended by a NaN.
    """

    leaf_targetids: tuple[int, ...]
    leaf_weights: Tensor
    nodes_falseleafs: tuple[int, ...]
    nodes_falsenodeids: tuple[int, ...]
    nodes_featureids: tuple[int, ...] = attribute(least=0)
    nodes_modes: Tensor
    nodes_splits: Tensor
    nodes_trueleafs: tuple[int, ...]
    nodes_truenodeids: tuple[int, ...]
    tree_roots: tuple[int, ...]
    aggregate_function: int = 1
    membership_values: Tensor | None = None
    n_targets: int | None = attribute(default=None, least=1)
    nodes_hitrates: Tensor | None = None
    nodes_missing_value_tracks_true: tuple[int, ...] = ()
    post_transform: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        if not 0 <= self.aggregate_function < len(AGGREGATES):
            raise args.error(
                "aggregate_function is not known",
                "0 to 3",
                str(self.aggregate_function),
                kind="range",
            )
        if not 0 <= self.post_transform < len(TRANSFORMS):
            raise args.error(
                "post_transform is not known", "0 to 4", str(self.post_transform), kind="range"
            )
        if self.n_targets is None:
            # The standard gives no default, and ONNX Runtime refuses the model.
            raise args.error("n_targets is missing", "the number of targets", "no attribute")
        self._require_equal_lengths(args)
        self._require_links(args)
        return [TensorType(args.element(0), Shape((rows_of(args), self._targets())))]

    def _require_equal_lengths(self, args: Arguments) -> None:
        """Check that all lists of nodes are equally long, and all lists of leaves are equally long.

        Raises:
            InferenceError: when a list has the wrong length.
        """
        nodes = len(self.nodes_featureids)
        for name in ("falseleafs", "falsenodeids", "trueleafs", "truenodeids"):
            count = len(getattr(self, f"nodes_{name}"))
            if count != nodes:
                raise args.error(f"nodes_{name} has the wrong length", str(nodes), str(count))
        tracks = len(self.nodes_missing_value_tracks_true)
        if tracks not in (0, nodes):
            message = "nodes_missing_value_tracks_true has the wrong length"
            raise args.error(message, f"{nodes}, or none", str(tracks))
        leaves = len(self.leaf_targetids)
        if self.leaf_weights.count != leaves:
            found = str(self.leaf_weights.count)
            raise args.error("leaf_weights has the wrong length", str(leaves), found)

    def _require_links(self, args: Arguments) -> None:
        """Check that branches lead to nodes and leaves that exist, and leaves to targets.

        Raises:
            InferenceError: when a node, leaf or target does not exist, or nodes form a cycle.
        """
        branches = (
            (self.nodes_truenodeids, self.nodes_trueleafs),
            (self.nodes_falsenodeids, self.nodes_falseleafs),
        )
        children: list[tuple[int, ...]] = [()] * len(self.nodes_featureids)
        for ids, flags in branches:
            for node, (child, is_leaf) in enumerate(zip(ids, flags, strict=True)):
                if not is_leaf:
                    children[node] += (child,)
                elif not 0 <= child < len(self.leaf_targetids):
                    raise args.error(
                        "a branch leads to a leaf that does not exist",
                        f"at most {len(self.leaf_targetids) - 1}",
                        str(child),
                        kind="range",
                    )
        require_trees(args, children, self.tree_roots)
        wrong = next((at for at in self.leaf_targetids if not 0 <= at < self._targets()), None)
        if wrong is not None:
            expected = f"0 to {self._targets() - 1}"
            message = "a leaf names a target that does not exist"
            raise args.error(message, expected, str(wrong), kind="range")

    def _targets(self) -> int:
        if self.n_targets is not None:
            return self.n_targets
        return max(self.leaf_targetids, default=-1) + 1

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.trees.ensemble(
            self.forest,
            how=AGGREGATES[self.aggregate_function],
            base=kernels.labels.array_of(()),
            transform=TRANSFORMS[self.post_transform],
        )

    def forest(self) -> Forest:
        """The trees as tables; raises ValueError if the lengths of the lists do not match."""
        members = self.membership_values
        return kernels.trees.of_lists(
            roots=self.tree_roots,
            modes=self.nodes_modes.numpy(),
            features=self.nodes_featureids,
            splits=self.nodes_splits.numpy(),
            true=(self.nodes_truenodeids, self.nodes_trueleafs),
            false=(self.nodes_falsenodeids, self.nodes_falseleafs),
            tracks=self.nodes_missing_value_tracks_true,
            members=None if members is None else members.numpy(),
            leaf_weights=self.leaf_weights.numpy(),
            leaf_targets=self.leaf_targetids,
            targets=self._targets(),
        )


class _Numbered(MlOp):
    """Base of tree ensembles whose nodes are identified by tree number and node number."""

    base_values: tuple[float, ...] = ()
    nodes_falsenodeids: tuple[int, ...] = ()
    nodes_featureids: tuple[int, ...] = ()
    nodes_hitrates: tuple[float, ...] = ()
    nodes_missing_value_tracks_true: tuple[int, ...] = ()
    nodes_modes: tuple[str, ...] = ()
    nodes_nodeids: tuple[int, ...] = ()
    nodes_treeids: tuple[int, ...] = ()
    nodes_truenodeids: tuple[int, ...] = ()
    nodes_values: tuple[float, ...] = ()
    post_transform: str = "NONE"

    def require_links(self, args: Arguments) -> None:
        """Check that the branches of all nodes lead to nodes of the same tree.

        Raises:
            InferenceError: when lists differ in length, a node does not exist, or nodes form a
                cycle.
        """
        lists = (self.nodes_treeids, self.nodes_modes, self.nodes_truenodeids)
        for items in (*lists, self.nodes_falsenodeids):
            if len(items) != len(self.nodes_nodeids):
                expected, found = str(len(self.nodes_nodeids)), str(len(items))
                raise args.error("the lists of nodes differ in length", expected, found)
        keys = zip(self.nodes_treeids, self.nodes_nodeids, strict=True)
        numbers = {key: number for number, key in enumerate(keys)}
        links = zip(*lists, self.nodes_falsenodeids, strict=True)
        require_trees(
            args,
            [
                ()
                if mode == "LEAF"
                else (numbers.get((tree, true), -1), numbers.get((tree, false), -1))
                for tree, mode, true, false in links
            ],
        )

    def numbers(self, name: str) -> Any:
        """Return the numbers of an attribute.

        They are read from the tensor `<name>_as_tensor`, in double precision, if it is present.
        """
        tensor = getattr(self, f"{name}_as_tensor", None)
        if isinstance(tensor, Tensor):
            return tensor.numpy().reshape(-1)
        return kernels.labels.array_of(getattr(self, name))

    def numbered(self, kind: str, targets: int) -> Forest:
        """Build the trees from the attributes of the operation.

        `kind` is "target" or "class": the values of the leaves are in the attributes whose names
        begin with it, such as target_weights. `targets` is the number of outputs per row.
        """
        return kernels.trees.of_numbers(
            nodes=(self.nodes_treeids, self.nodes_nodeids),
            modes=self.nodes_modes,
            features=self.nodes_featureids,
            splits=self.numbers("nodes_values"),
            true=self.nodes_truenodeids,
            false=self.nodes_falsenodeids,
            tracks=self.nodes_missing_value_tracks_true,
            voters=(getattr(self, f"{kind}_treeids"), getattr(self, f"{kind}_nodeids")),
            vote_targets=getattr(self, f"{kind}_ids"),
            vote_weights=self.numbers(f"{kind}_weights"),
            targets=targets,
        )


class TreeEnsembleRegressor1(_Numbered, type="TreeEnsembleRegressor", since=1, inputs=1):
    """Votes of leaves, aggregated for each target, as f32 (TreeEnsembleRegressor-1)."""

    aggregate_function: str = "SUM"
    n_targets: int | None = None
    target_ids: tuple[int, ...] = ()
    target_nodeids: tuple[int, ...] = ()
    target_treeids: tuple[int, ...] = ()
    target_weights: tuple[float, ...] = ()

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        if self.aggregate_function not in AGGREGATES:
            raise args.error(
                "aggregate_function is not known",
                ", ".join(AGGREGATES),
                self.aggregate_function,
                kind="range",
            )
        known_transform(args, self.post_transform)
        self.require_links(args)
        return [TensorType(ElementType.F32, Shape((rows_of(args), self._targets())))]

    def _targets(self) -> int:
        if self.n_targets is not None:
            return self.n_targets
        return max(self.target_ids, default=-1) + 1

    def forest(self) -> Forest:
        """The trees as tables; raises ValueError if the lengths of the lists do not match."""
        return self.numbered("target", self._targets())

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.trees.ensemble(
            self.forest,
            how=self.aggregate_function,
            base=self.numbers("base_values"),
            transform=self.post_transform,
            dtype=ElementType.F32.numpy(),
        )


class TreeEnsembleRegressor3(
    TreeEnsembleRegressor1, type="TreeEnsembleRegressor", since=3, inputs=1
):
    """Version 1 plus attributes in double precision (TreeEnsembleRegressor-3, 5).

    The base values, hit rates, node values and target weights can also be tensors of doubles, in
    attributes such as `nodes_values_as_tensor`.
    """

    base_values_as_tensor: Tensor | None = None
    nodes_hitrates_as_tensor: Tensor | None = None
    nodes_values_as_tensor: Tensor | None = None
    target_weights_as_tensor: Tensor | None = None


class TreeEnsembleClassifier1(
    _Numbered, type="TreeEnsembleClassifier", since=1, inputs=1, outputs=2
):
    """The label with the most votes of leaves, and the scores as f32 (TreeEnsembleClassifier-1).

    There is a special case: two labels, and all leaves vote for the same one of them. The sum of
    the votes is then always the score of the second label, even if the leaves vote for the first.
    The result is the second label if this score is above 0.5 (above 0 if there are negative
    weights), and the first label otherwise.
    """

    class_ids: tuple[int, ...] = ()
    class_nodeids: tuple[int, ...] = ()
    class_treeids: tuple[int, ...] = ()
    class_weights: tuple[float, ...] = ()
    classlabels_int64s: tuple[int, ...] = ()
    classlabels_strings: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[int, ...] | tuple[str, ...]:
        """The class labels."""
        return self.classlabels_int64s or self.classlabels_strings

    def infer(self, args: Arguments) -> list[ValueType]:
        known_transform(args, self.post_transform)
        self.require_links(args)
        return classified(args, self.labels)

    def forest(self) -> Forest:
        """The trees as tables; raises ValueError if the lengths of the lists do not match."""
        return self.numbered("class", len(self.labels))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        labels = kernels.labels.array_of(self.labels)
        run = kernels.trees.classifier(
            self.forest,
            labels=labels,
            base=self.numbers("base_values"),
            transform=self.post_transform,
        )
        return run if n_outputs > 1 else lambda x: run(x)[0]


class TreeEnsembleClassifier3(
    TreeEnsembleClassifier1, type="TreeEnsembleClassifier", since=3, inputs=1, outputs=2
):
    """Version 1 plus attributes in double precision (TreeEnsembleClassifier-3, 5).

    The base values, class weights, hit rates and node values can also be tensors of doubles, in
    attributes such as `nodes_values_as_tensor`.
    """

    base_values_as_tensor: Tensor | None = None
    class_weights_as_tensor: Tensor | None = None
    nodes_hitrates_as_tensor: Tensor | None = None
    nodes_values_as_tensor: Tensor | None = None


def require_trees(
    args: Arguments, children: Sequence[tuple[int, ...]], roots: Sequence[int] | None = None
) -> None:
    """Check that the branches of trees lead to existing nodes and form no cycles.

    `children` holds, for each node, the indices of the nodes that it leads to. `roots` holds the
    indices of the root nodes; if it is None, any node may be a root.

    Raises:
        InferenceError: when an index does not belong to a node, or nodes form a cycle.
    """
    count = len(children)
    starts = range(count) if roots is None else roots
    for number in (*starts, *(child for found in children for child in found)):
        if not 0 <= number < count:
            raise args.error(
                "a branch leads to a node that does not exist",
                f"a node from 0 to {count - 1}",
                str(number),
                kind="range",
            )
    done: set[int] = set()
    for start in starts:
        _require_no_cycle(args, children, start, done)


def _require_no_cycle(
    args: Arguments, children: Sequence[tuple[int, ...]], start: int, done: set[int]
) -> None:
    above: set[int] = set()
    stack = [(start, False)]
    while stack:
        node, is_left = stack.pop()
        if is_left:
            above.discard(node)
            done.add(node)
        elif node in above:
            raise args.error("the nodes of a tree form a cycle", "a tree", f"node {node}")
        elif node not in done:
            above.add(node)
            stack.append((node, True))
            stack += [(child, False) for child in children[node]]
