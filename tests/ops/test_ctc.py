"""Connectionist temporal classification: OpenVINO's own values, all paths summed, decoding by
hand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.openvino import ctc

OPCONF_TYPES = "CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def _one_hot(classes: list[int], count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.eye(count, dtype=np.float32)[classes]


def test_greedy_by_hand() -> None:
    # With blank 2, the classes are a a _ a b b, and the last frame is masked.
    data = _one_hot([0, 0, 2, 0, 1, 1], 3)[:, None]
    mask = np.array([1, 1, 1, 1, 1, 0], np.float32)[:, None]
    merged = ctc.CTCGreedyDecoder().kernel()(data, mask).reshape(-1)
    assert merged.tolist() == [0, 0, 1, -1, -1, -1]
    every = ctc.CTCGreedyDecoder(ctc_merge_repeated=False).kernel()(data, mask).reshape(-1)
    assert every.tolist() == [0, 0, 0, 1, -1, -1]


def test_greedy_with_lengths_and_a_blank() -> None:
    data = np.stack([_one_hot([0, 1, 1, 2], 3), _one_hot([2, 2, 1, 0], 3)])
    op = ctc.CTCGreedyDecoderSeqLen()
    classes, lengths = op.kernel(2)(data, np.array([4, 2], np.int32), np.array([0], np.int32))
    assert classes.tolist() == [[1, 2, -1, -1], [2, -1, -1, -1]]
    assert lengths.tolist() == [2, 1]


def _labels_of(path: tuple[int, ...], blank: int, merge: bool) -> list[int]:
    if merge:
        return [label for label, _ in itertools.groupby(path) if label != blank]
    return [label for label in path if label != blank]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("target", [[0, 1], [1, 1], [0], [], [1, 0, 1]])
def test_loss_is_the_sum_over_all_paths(target: list[int], merge: bool) -> None:
    frames, blank = 4, 2
    logits = np.random.default_rng(len(target)).normal(size=(1, 5, 3)).astype(np.float32)
    wide = logits[0].astype(np.float64)
    chances = np.exp(wide) / np.exp(wide).sum(axis=1, keepdims=True)
    total = sum(
        math.prod(chances[at, label] for at, label in enumerate(path))
        for path in itertools.product(range(3), repeat=frames)
        if _labels_of(path, blank, merge) == target
    )
    labels = np.array([target + [0] * (5 - len(target))], np.int32)
    run = ctc.CTCLoss(ctc_merge_repeated=merge).kernel()
    found = run(logits, np.array([frames]), labels, np.array([len(target)]))
    np.testing.assert_allclose(found, [-math.log(total)], rtol=1e-5)


def test_repeated_labels_are_removed_before_the_loss() -> None:
    logits = np.random.default_rng(3).normal(size=(1, 6, 4)).astype(np.float32)
    lengths = np.array([6])

    def run(op: ctc.CTCLoss, *labels: int) -> float:
        padded = np.array([list(labels) + [0] * (6 - len(labels))])
        return float(op.kernel()(logits, lengths, padded, np.array([len(labels)]))[0])

    plain = ctc.CTCLoss()
    collapsing = ctc.CTCLoss(preprocess_collapse_repeated=True)
    assert run(collapsing, 1, 1, 2, 1) == pytest.approx(run(plain, 1, 2, 1))
    assert run(ctc.CTCLoss(unique=True), 1, 1, 2, 1) == pytest.approx(run(plain, 1, 2))
