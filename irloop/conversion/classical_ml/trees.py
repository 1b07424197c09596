"""Converts decision trees to OpenVINO: all rows descend one level of all trees at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.conversion.classical_ml.linear_models import label_of_two, labelled, transformed
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx import trees as onnx
from irloop.dialects.openvino import activation, comparison, elementwise, gather
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from irloop.kernels.trees import MODES, Forest

__all__: list[str] = []

LEAF, MEMBER = MODES.index("LEAF"), MODES.index("BRANCH_MEMBER")

#: Maximum number of levels of a tree; the graph of a deeper one would be too large to be useful.
DEEPEST = 64

#: The comparisons of a node, in the order of their numbers.
_COMPARISONS: tuple[Callable[[], Op], ...] = (
    comparison.LessEqual,
    comparison.Less,
    comparison.GreaterEqual,
    comparison.Greater,
    comparison.Equal,
    comparison.NotEqual,
)


class _Descent:
    """Emits the evaluation of a forest: all trees descend in parallel, one level at a time."""

    def __init__(self, c: Import, build: Callable[[], Forest], x: Value) -> None:
        try:
            self.forest = build()
        except (ValueError, IndexError) as error:
            raise c.refuse(f"its trees contradict each other: {error}") from None
        self.c = c
        rows = c.unsqueeze(x, [0]) if needed_rank(c, x) == 1 else x
        wide = element_of(x) is ElementType.F64
        self.x = c.convert(rows, ElementType.F64 if wide else ElementType.F32)
        if c.opset < 6:
            raise c.refuse(
                "it needs GatherElements, which OpenVINO has since opset6", "write opset6 or newer"
            )
        inner = self.forest.modes[self.forest.modes != LEAF]
        #: The numbers of the comparison modes that occur in the forest.
        self.modes: list[int] = sorted({int(mode) for mode in inner})

    def table(self, items: Any, nodes: Value, like: Value | None = None) -> Value:
        """Gather from a constant of `items`, which has an entry for each node of the forest.

        `nodes` holds the numbers of the nodes to look up. The result has the element type of
        `like`, or i64 if that is None.
        """
        element = ElementType.I64 if like is None else element_of(like)
        return self.c.gather(self.c.constant(np.asarray(items), element), nodes, 0)

    def depth(self) -> int:
        """The number of levels of the deepest tree.

        Raises:
            RefusedError: when a tree has a cycle, or is too deep.
        """
        forest, level, steps = self.forest, self.forest.roots, 0
        while len(level := level[forest.modes[level] != LEAF]):
            level = np.unique(np.concatenate((forest.true[level], forest.false[level])))
            steps += 1
            if steps > DEEPEST:
                raise self.c.refuse(f"its trees are more than {DEEPEST} levels deep")
        return steps

    def leaves(self) -> Value:
        """The leaf that each row reaches in each tree: [N, trees]."""
        c, forest = self.c, self.forest
        own, leaf = np.arange(len(forest.modes)), forest.modes == LEAF
        true, false = (np.where(leaf, own, way) for way in (forest.true, forest.false))
        features = np.where(leaf, 0, forest.features)
        count = c.sizes_of(self.x, [0])
        shape = c.concat([count, c.i64([len(forest.roots)])], 0)
        nodes = c.broadcast(c.i64(forest.roots.tolist()), shape)
        for _ in range(self.depth()):
            value = c(gather.GatherElements(axis=1), self.x, self.table(features, nodes))
            holds = self._holds(nodes, value)
            nodes = c.select(holds, self.table(true, nodes), self.table(false, nodes))
        return nodes

    def _holds(self, nodes: Value, value: Value) -> Value:
        c, forest = self.c, self.forest
        holds = self._compared(self.modes[0], nodes, value)
        if len(self.modes) > 1:
            mode = self.table(np.where(forest.modes == LEAF, 0, forest.modes), nodes)
            for number in self.modes[1:]:
                other = self._compared(number, nodes, value)
                holds = c.select(c.equal(mode, c.i64(number)), other, holds)
        if forest.tracks.any():
            tracked = c.equal(self.table(forest.tracks.astype(np.int64), nodes), c.i64(1))
            missing = c(comparison.NotEqual(), value, value)
            holds = c(comparison.LogicalOr(), holds, c(comparison.LogicalAnd(), tracked, missing))
        return holds

    def _compared(self, mode: int, place: Value, value: Value) -> Value:
        """Compare each value with the split value of its node.

        If `mode` is MEMBER, test instead whether the set of the node contains the value.
        """
        if mode != MEMBER:
            split = self.table(self.forest.splits, place, value)
            return self.c(_COMPARISONS[mode](), value, split)
        nodes, members = self.forest.members
        widest = int(np.bincount(nodes, minlength=1).max())
        # Smaller sets are padded with NaN, which equals no value.
        sets = np.full((len(self.forest.modes), max(widest, 1)), np.nan, members.dtype)
        for node in np.unique(nodes):
            own = members[nodes == node]
            sets[node, : len(own)] = own
        hits = self.c.equal(self.c.unsqueeze(value, [2]), self.table(sets, place, value))
        return self.c.reduce("Or", hits, [2], keep=False)

    def scores(self, how: str, base: Any) -> Value:
        """Emit the scores [N, targets] of the rows.

        The leaves that a row reaches in all trees are combined as `how` demands: SUM, AVERAGE, MIN
        or MAX. Then `base` is added, a number for each target; it may be None or empty.
        """
        c, forest, leaves = self.c, self.forest, self.leaves()
        if how in ("SUM", "AVERAGE"):
            votes = self.table(forest.weights, leaves, self.x)
            kind = "Sum" if how == "SUM" else "Mean"
            total = c.reduce(kind, votes, [1], keep=False)
        else:
            worst = np.inf if how == "MIN" else -np.inf
            weights = self.table(np.where(forest.votes, forest.weights, worst), leaves, self.x)
            voted = self.table(forest.votes.astype(np.float32), leaves, self.x)
            best = c.reduce(how.capitalize(), weights, [1], keep=False)
            any_vote = c.reduce("Max", voted, [1], keep=False)
            zero = c.scalar(0.0, best)
            total = c.select(c.greater(any_vote, zero), best, zero)
        if base is None or not len(base):
            return total
        return c.add(total, c.constant(np.asarray(base), element_of(total)))


@imports(onnx.TreeEnsemble)
def import_ensemble(c: Import, op: onnx.TreeEnsemble, x: Value) -> Value:
    """Write TreeEnsemble as operations that descend all trees at once, level by level.

    For each level, Gather looks up the feature, the split value and both children of the current
    nodes in tables, and a Select chooses a child. At the end, a Reduce* combines the leaves of all
    trees.
    """
    scores = _Descent(c, op.forest, x).scores(onnx.AGGREGATES[op.aggregate_function], None)
    scores = transformed(c, scores, onnx.TRANSFORMS[op.post_transform])
    return c.convert(scores, element_of(x))


@imports(onnx.TreeEnsembleRegressor1, onnx.TreeEnsembleRegressor3)
def import_regressor(c: Import, op: onnx.TreeEnsembleRegressor1, x: Value) -> Value:
    """Write TreeEnsembleRegressor with the operations for TreeEnsemble; the result is f32."""
    scores = _Descent(c, op.forest, x).scores(op.aggregate_function, op.numbers("base_values"))
    return c.convert(transformed(c, scores, op.post_transform), ElementType.F32)


@imports(onnx.TreeEnsembleClassifier1, onnx.TreeEnsembleClassifier3)
def import_classifier(c: Import, op: onnx.TreeEnsembleClassifier1, x: Value) -> list[Value]:
    """Write TreeEnsembleClassifier: compute the scores, and choose the label.

    The scores are computed as for TreeEnsemble. TopK finds the class with the highest score, and
    Gather its label. If there are two classes, and the leaves vote for only one of them, Greater
    compares the score of this class with 0 or 0.5 instead.
    """
    descent = _Descent(c, op.forest, x)
    scores = descent.scores("SUM", op.numbers("base_values"))
    voted = np.flatnonzero(descent.forest.votes.any(axis=0))
    if len(op.labels) == 2 and len(voted) == 1:
        scores = c.gather(scores, c.i64(voted.tolist()), 1)
        share = bool((descent.forest.weights >= 0).all())
        labels = label_of_two(c, scores, op.labels, 0.5 if share else 0.0)
        scores = _scores_of_both_labels(c, scores, share=share, how=op.post_transform)
    else:
        labels = labelled(c, scores, op.labels)
        scores = transformed(c, scores, op.post_transform)
    return [labels, c.convert(scores, ElementType.F32)][: len(c.node.outputs)]


def _scores_of_both_labels(c: Import, score: Value, *, share: bool, how: str) -> Value:
    """Compute the scores of both labels of a classifier from the score of the second label.

    The score of the first label is 1 - score with `share`, else -score. With `how` LOGISTIC and
    without `share`, a Sigmoid turns both into probabilities.
    """
    other = c.subtract(c.scalar(1.0, score), score) if share else c(elementwise.Negative(), score)
    both = c.concat([other, score], 1)
    return c(activation.Sigmoid(), both) if how == "LOGISTIC" and not share else both
