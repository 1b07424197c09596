"""Evaluates ensembles of decision trees.

All rows of the data move down all trees at the same time, one level per step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.linear_models import chosen, of_two
from irloop.kernels.precision import unwarned
from irloop.kernels.scores import transformed
from irloop.kernels.work import spend_each

__all__ = ["MODES", "Forest", "classifier", "ensemble", "of_lists", "of_numbers"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: The comparisons of nodes, in the order of their codes; a leaf compares nothing.
MODES = (
    "BRANCH_LEQ",
    "BRANCH_LT",
    "BRANCH_GTE",
    "BRANCH_GT",
    "BRANCH_EQ",
    "BRANCH_NEQ",
    "BRANCH_MEMBER",
    "LEAF",
)
_MEMBER, _LEAF = 6, 7


@dataclass(frozen=True, slots=True)
class Forest:
    """An ensemble of decision trees, stored as arrays with one entry per node.

    Only `roots` has one entry per tree instead: the number of the root node. A node compares one
    feature of a row with the number in `splits`; `features` holds the index of the feature, and
    `modes` the index of the comparison in MODES. If the comparison holds, the next node is `true`,
    otherwise `false`. NaN also leads to `true` if `tracks` is set. `weights` [nodes, targets] holds
    the values that a leaf contributes, and `votes` [nodes, targets] tells to which targets it
    contributes. `members` holds the sets of the nodes that test membership, as two arrays: node
    members[0][i] has the value members[1][i] in its set.
    """

    roots: Array
    modes: Array
    features: Array
    splits: Array
    true: Array
    false: Array
    tracks: Array
    weights: Array
    votes: Array
    members: tuple[Array, Array]

    def leaves(self, x: Array) -> Array:
        """The leaf that each row of [N, F] reaches in each tree: [N, trees].

        Raises:
            ValueError: when a tree has a cycle, or a feature does not exist.
        """
        self._check(x)
        budget.reserve(24 * len(self.roots) * len(x), "descending in trees")
        nodes = np.tile(self.roots, (len(x), 1))
        for _ in range(len(self.modes) + 1):
            row, tree = np.nonzero(self.modes[nodes] != _LEAF)
            if not row.size:
                return nodes
            spend_each(row.size, 300, "descending in trees")
            budget.reserve(200 * row.size, "descending in trees")
            node = nodes[row, tree]
            holds = self._passes_test(node, x[row, self.features[node]])
            nodes[row, tree] = np.where(holds, self.true[node], self.false[node])
        raise ValueError("the nodes of a tree form a cycle")

    def _check(self, x: Array) -> None:
        inner = self.modes != _LEAF
        used = self.features[inner]
        if used.size and not 0 <= used.min() <= used.max() < x.shape[1]:
            raise ValueError(
                f"features {used.min()} to {used.max()} do not all exist in {x.shape[1]} features"
            )
        ends = np.concatenate((self.roots, self.true[inner], self.false[inner]))
        if ends.size and not 0 <= ends.min() <= ends.max() < len(self.modes):
            raise ValueError("a branch leads to a node that does not exist")

    def _passes_test(self, node: Array, value: Array) -> Array:
        split, mode = self.splits[node], self.modes[node]
        tests = (
            value <= split,
            value < split,
            value >= split,
            value > split,
            value == split,
            value != split,
            self._is_member(node, value),
        )
        chosen = np.choose(mode, tests)
        return np.asarray(chosen | (self.tracks[node] & np.isnan(value)))

    def _is_member(self, node: Array, value: Array) -> Array:
        nodes, values = self.members
        if not len(values):
            return np.zeros(node.shape, dtype=np.bool_)
        known, numbers = np.unique(values, return_inverse=True)
        place = np.searchsorted(known, value).clip(max=len(known) - 1)
        sets = nodes * len(known) + numbers
        hit = known[place] == value
        return np.asarray(np.isin(node * len(known) + place, sets) & hit)


def of_lists(
    *,
    roots: Sequence[int],
    modes: Array,
    features: Sequence[int],
    splits: Array,
    true: tuple[Sequence[int], Sequence[int]],
    false: tuple[Sequence[int], Sequence[int]],
    tracks: Sequence[int],
    members: Array | None,
    leaf_weights: Array,
    leaf_targets: Sequence[int],
    targets: int,
) -> Forest:
    """Make the forest of trees that are stored as a list of inner nodes and a list of leaves.

    `true` and `false` are the two branches of the inner nodes. Each is a pair of lists: the indices
    of the next nodes, and flags. If a flag is not 0, the next node is a leaf, and its index refers
    to the list of leaves.

    Raises:
        ValueError: when the lengths of the lists do not match.
    """
    inner, leaves = len(modes), len(leaf_weights)
    lists = (features, splits, *true, *false, tracks or modes)
    if any(len(item) != inner for item in lists) or len(leaf_targets) != leaves:
        raise ValueError("the lists of nodes or leaves differ in length")
    budget.reserve(9 * (inner + leaves) * targets, "the weights of leaves")
    weights = np.zeros((inner + leaves, targets), dtype=leaf_weights.dtype)
    votes = np.zeros(weights.shape, dtype=np.bool_)
    place = np.arange(inner, inner + leaves), np.array(leaf_targets, dtype=np.int64)
    weights[place], votes[place] = leaf_weights, True
    ahead = [
        np.array(numbers, dtype=np.int64) + inner * (np.array(flags, dtype=np.int64) != 0)
        for numbers, flags in (true, false)
    ]

    def filled(items: Any, kind: Any) -> Array:
        """Convert a list with one entry per inner node to an array; append a zero per leaf."""
        return np.pad(np.array(items, dtype=kind), (0, leaves))

    return Forest(
        np.array(roots, dtype=np.int64),
        np.concatenate((modes.astype(np.int64), np.full(leaves, _LEAF))),
        filled(features, np.int64),
        filled(splits, splits.dtype),
        filled(ahead[0], np.int64),
        filled(ahead[1], np.int64),
        filled(tracks or [0] * inner, np.bool_),
        weights,
        votes,
        _sets(np.flatnonzero(modes == _MEMBER), members),
    )


def _sets(nodes: Array, members: Array | None) -> tuple[Array, Array]:
    """Assign the members of all membership sets of a tree ensemble to the nodes that test them.

    `members` holds one set for each of `nodes`, one after the other, each ended by a NaN. Returns
    the node of each member, and the members without the NaNs. For example, nodes [3, 7] and members
    [1, 2, NaN, 5, NaN] give [3, 3, 7] and [1, 2, 5].

    Raises:
        ValueError: when the number of sets is not the number of nodes.
    """
    values = np.zeros(0) if members is None else members
    ends = np.isnan(values)
    if ends.sum() != len(nodes):
        raise ValueError(f"{len(nodes)} nodes test membership, but there are {ends.sum()} sets")
    owner = np.cumsum(ends)[~ends]
    return nodes[owner], values[~ends]


def of_numbers(
    *,
    nodes: tuple[Sequence[int], Sequence[int]],
    modes: Sequence[str],
    features: Sequence[int],
    splits: Array,
    true: Sequence[int],
    false: Sequence[int],
    tracks: Sequence[int],
    voters: tuple[Sequence[int], Sequence[int]],
    vote_targets: Sequence[int],
    vote_weights: Array,
    targets: int,
) -> Forest:
    """Build a forest from lists of nodes and votes, as in the attributes of ONNX tree ensembles.

    A node is identified by its tree number and its node number. `modes`, `features`, `splits`,
    `true`, `false` and `tracks` have one entry per node; `vote_targets` and `vote_weights` have one
    entry per vote.

    Args:
        nodes: the tree numbers of all nodes, and their node numbers.
        modes: the name of each node's comparison (see MODES), or "LEAF".
        features: the index of the feature that the node compares.
        splits: the number with which the feature is compared.
        true: the node number of the next node if the comparison holds.
        false: the node number of the next node otherwise.
        tracks: 1 if NaN leads to the `true` node, too; if the list is empty, NaN never does.
        voters: for each vote, the tree number and the node number of its leaf.
        vote_targets: the target for which the leaf votes.
        vote_weights: the value that the vote contributes to the target.
        targets: the number of targets.

    Raises:
        ValueError: when the lengths of the lists do not match, a mode is unknown, or a vote refers
            to no node.
    """
    count = len(modes)
    lists = (*nodes, features, splits, true, false, tracks or modes)
    if any(len(item) != count for item in lists):
        raise ValueError("the lists of nodes differ in length")
    if set(modes) - set(MODES):
        raise ValueError(f"modes {sorted(set(modes) - set(MODES))} are not known")
    if len(vote_targets) != len(vote_weights):
        raise ValueError("the lists of votes differ in length")
    keys, voting = (tuple(np.array(x, dtype=np.int64) for x in pair) for pair in (nodes, voters))
    numbers = np.array([MODES.index(mode) for mode in modes], dtype=np.int64)
    ahead = [_numbered(keys, (keys[0], np.array(x, dtype=np.int64))) for x in (true, false)]
    roots = np.ones(count, dtype=np.bool_)
    for branch in ahead:
        roots[branch[numbers != _LEAF]] = False
    owners = _numbered(keys, voting)
    if owners.min(initial=0) < 0:
        raise ValueError("a vote belongs to a node that does not exist")
    budget.reserve(9 * count * targets, "the weights of leaves")
    weights = np.zeros((count, targets), dtype=vote_weights.dtype)
    votes = np.zeros(weights.shape, dtype=np.bool_)
    place = owners, np.array(vote_targets, dtype=np.int64)
    np.add.at(weights, place, vote_weights)
    votes[place] = True
    return Forest(
        np.flatnonzero(roots),
        numbers,
        np.array(features, dtype=np.int64),
        splits,
        ahead[0],
        ahead[1],
        np.array(tracks or [0] * count, dtype=np.bool_),
        weights,
        votes,
        _sets(np.zeros(0, dtype=np.int64), None),
    )


def _numbered(keys: tuple[Array, ...], wanted: tuple[Array, ...]) -> Array:
    """Find the index in `keys` of each pair (tree, node) in `wanted`; -1 marks a missing pair.

    `keys` and `wanted` each consist of two arrays: the trees and the nodes.
    """
    base = 1 + max(int(item.max(initial=0)) for item in (keys[1], wanted[1]))
    have, want = (pair[0] * base + pair[1] for pair in (keys, wanted))
    if not have.size:
        return np.full(want.shape, -1)
    order = np.argsort(have, kind="stable")
    place = np.searchsorted(have, want, sorter=order).clip(max=len(have) - 1)
    return np.where(have[order][place] == want, order[place], -1)


def _aggregated(forest: Forest, leaves: Array, how: str) -> Array:
    """Compute the scores [N, targets] of N rows from the leaves that the rows reach.

    `leaves` [N, trees] holds the node numbers of these leaves. `how` is SUM, AVERAGE, MIN or MAX,
    and selects how the values of the leaves are combined. A target for which no leaf votes has the
    score 0.
    """
    shape = (len(leaves), forest.weights.shape[1])
    budget.reserve(16 * (math.prod(shape) + forest.weights.size), "the votes of trees")
    spend_each(leaves.shape[1], 5_000 + 10 * math.prod(shape), "the votes of trees")
    if how in ("SUM", "AVERAGE"):
        total = np.zeros(shape, dtype=forest.weights.dtype)
        for column in leaves.T:
            total += forest.weights[column]
        if how == "AVERAGE":
            total /= max(leaves.shape[1], 1)
        return total
    best, start = (np.minimum, np.inf) if how == "MIN" else (np.maximum, -np.inf)
    candidates = np.where(forest.votes, forest.weights, forest.weights.dtype.type(start))
    result = np.full(shape, start, dtype=forest.weights.dtype)
    for column in leaves.T:
        best(result, candidates[column], out=result)
    voted = forest.votes[leaves].any(axis=1)
    return np.where(voted, result, forest.weights.dtype.type(0))


def ensemble(
    build: Callable[[], Forest], *, how: str, base: Array, transform: str, dtype: Any = None
) -> Function:
    """Return a function that computes the scores [N, targets] of rows [N, F].

    It aggregates the leaves that a row reaches in all trees, adds `base` and applies `transform`.
    `how` is SUM, AVERAGE, MIN or MAX. If `dtype` is None, the scores have the type of the rows. The
    trees are built when the function is first called; that call raises ValueError if the attributes
    of the trees do not match each other.
    """
    forest = cache(build)

    @unwarned
    def apply(x: Array) -> Array:
        rows = x.reshape(1, -1) if x.ndim == 1 else x
        scores = _aggregated(forest(), forest().leaves(rows), how)
        if base.size:
            scores = scores + base
        scores = transformed(scores, transform)
        return np.asarray(scores, dtype=x.dtype if dtype is None else dtype)

    return apply


def classifier(
    build: Callable[[], Forest], *, labels: Array, base: Array, transform: str
) -> Function:
    """Return a function that classifies rows [N, F] by the votes of trees.

    Its results are the label with the most votes for each row, and the scores of all labels as f32.
    If there are two labels but the trees vote for only one of them, the sum of these votes is the
    score of the second label.
    """
    forest = cache(build)

    def one_sided(trees: Forest) -> bool:
        return len(labels) == 2 and int(trees.votes.any(axis=0).sum()) == 1

    def of_one(scores: Array, trees: Forest) -> tuple[Array, Array]:
        score = scores[:, trees.votes.any(axis=0)]
        share = bool((trees.weights >= 0).all())
        best = chosen(score[:, 0] > (0.5 if share else 0.0), labels)
        both = of_two(score, share=share)
        # LOGISTIC is the only transform that is applied to the two scores made from a single one.
        return best, both if share or transform != "LOGISTIC" else transformed(both, transform)

    @unwarned
    def apply(x: Array) -> tuple[Array, Array]:
        trees = forest()
        scores = _aggregated(trees, trees.leaves(x.reshape(1, -1) if x.ndim == 1 else x), "SUM")
        if base.size:
            scores = scores + base
        if one_sided(trees):
            best, scores = of_one(scores, trees)
        else:
            best = chosen(scores.argmax(axis=1), labels)
            scores = transformed(scores, transform)
        return best, scores.astype(np.float32)

    return apply
