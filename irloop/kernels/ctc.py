"""Connectionist temporal classification: greedy decoding and the loss.

Everything is vectorised, except that the loss loops over time, because each step needs the previous
one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each

__all__ = ["Array", "Function", "greedy", "greedy_by_length", "loss"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _packed(labels: Array, kept: Array) -> tuple[Array, Array]:
    """Move the kept labels to the front of each row, and return the rows and their counts.

    `labels` and `kept` are [N, T]. The rest of each row is -1. The counts [N] are the numbers of
    kept labels.
    """
    order = np.argsort(~kept, axis=1, kind="stable")
    counts = kept.sum(axis=1)
    front = np.arange(labels.shape[1]) < counts[:, None]
    return np.where(front, np.take_along_axis(labels, order, axis=1), -1), counts


def _repeats(labels: Array) -> Array:
    """True for the elements of each row that equal their predecessor."""
    found = np.zeros(labels.shape, bool)
    found[:, 1:] = labels[:, 1:] == labels[:, :-1]
    return found


def _decoded(labels: Array, valid: Array, blank: int, merge: bool) -> tuple[Array, Array]:
    kept = valid & (labels != blank)
    return _packed(labels, kept & ~_repeats(labels) if merge else kept)


def greedy(*, merge: bool) -> Function:
    """Make a kernel that decodes scores greedily: in each frame, it chooses the best class.

    The kernel takes scores [T, N, C] and a mask [T, N]. It returns classes [N, T, 1, 1], padded
    with -1. A sequence ends at the first 0 of its mask. The last class is the blank. With `merge` a
    class that repeats the class of the previous frame is dropped.
    """

    def apply(data: Array, mask: Array) -> Any:
        valid = np.logical_and.accumulate(mask != 0, axis=0).T
        labels = data.argmax(axis=2).T
        found, _ = _decoded(labels, valid, data.shape[2] - 1, merge)
        return found.astype(data.dtype)[:, :, None, None]

    return apply


def greedy_by_length(classes: np.dtype[Any], lengths: np.dtype[Any], *, merge: bool) -> Function:
    """Make a kernel that decodes scores [N, T, C] greedily, for sequences of given lengths.

    The kernel takes the scores, the lengths [N] and, optionally, the class of the blank (default:
    the last class). It returns the decoded classes [N, T], padded with -1, and their counts [N], in
    the types `classes` and `lengths`. With `merge`, a class that repeats the class of the previous
    frame is dropped.
    """

    def apply(data: Array, length: Array, blank: Array | None = None) -> tuple[Array, Array]:
        none = data.shape[2] - 1 if blank is None else int(blank.reshape(-1)[0])
        valid = np.arange(data.shape[1]) < length[:, None]
        found, counts = _decoded(data.argmax(axis=2), valid, none, merge)
        return found.astype(classes), counts.astype(lengths)

    return apply


def _targets(labels: Array, length: Array, *, collapse: bool, unique: bool) -> tuple[Array, Array]:
    """The kept labels [N, L] of each item, padded with -1 at the end, and their counts [N].

    With `unique` every label is kept only once; otherwise, with `collapse`, labels that equal their
    predecessor are left out.
    """
    kept = np.arange(labels.shape[1]) < length[:, None]
    if unique:
        same = labels[:, :, None] == labels[:, None, :]
        kept = kept & ~np.tril(same, -1).any(axis=2)
    elif collapse:
        kept = kept & ~_repeats(labels)
    return _packed(labels, kept)


def _shifted(paths: Array, by: int) -> Array:
    moved = np.full_like(paths, -np.inf)
    moved[:, by:] = paths[:, :-by]
    return moved


def loss(*, collapse: bool, merge: bool, unique: bool) -> Function:
    """Make a kernel that computes the CTC loss [N] of logits [N, T, C].

    The kernel takes the logits, the number of frames [N], the labels [N, L], the number of labels
    [N] and the index of the blank class (default: the last class).

    Args:
        collapse: remove labels that equal the label before them from the target sequence.
        merge: count a run of equal classes in neighbouring frames as one label, as in standard CTC;
            if false, every frame whose class is not blank counts as one label.
        unique: keep only the first occurrence of each label in the target sequence.
    """

    def apply(
        logits: Array,
        length: Array,
        labels: Array,
        label_length: Array,
        blank: Array | None = None,
    ) -> Any:
        none = logits.shape[2] - 1 if blank is None else int(blank.reshape(-1)[0])
        target, counts = _targets(labels, label_length, collapse=collapse, unique=unique)
        # Blanks and labels alternate: [N, 2 L + 1].
        states = np.full((len(target), 2 * target.shape[1] + 1), none, dtype=np.int64)
        states[:, 1::2] = np.where(target < 0, none, target)
        is_label = np.arange(states.shape[1]) % 2 == 1
        may_skip = np.zeros(states.shape, bool)
        may_skip[:, 2:] = is_label[2:] & ((not merge) | (states[:, 2:] != states[:, :-2]))
        may_stay = ~is_label | merge
        with np.errstate(all="ignore"):
            wide = widened(logits)
            best = wide.max(axis=2, keepdims=True)
            chances = wide - best - np.log(np.exp(wide - best).sum(axis=2, keepdims=True))
            paths = np.full(states.shape, -np.inf, dtype=wide.dtype)
            paths[:, 0] = 0
            spend_each(logits.shape[1], 50_000 + 150 * states.size, "CTC")
            for frame in range(logits.shape[1]):
                ahead = np.where(may_stay, paths, -np.inf)
                ahead = np.logaddexp(ahead, _shifted(paths, 1))
                if states.shape[1] > 2:
                    skipped = np.where(may_skip, _shifted(paths, 2), -np.inf)
                    ahead = np.logaddexp(ahead, skipped)
                ahead = ahead + np.take_along_axis(chances[:, frame], states, axis=1)
                paths = np.where(frame < length[:, None], ahead, paths)
            item = np.arange(len(target))
            last = np.where(counts > 0, paths[item, 2 * counts - 1], -np.inf)
            total = np.logaddexp(paths[item, 2 * counts], last)
        return (-total).astype(logits.dtype)

    return apply
