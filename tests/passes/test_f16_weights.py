"""Patterns recognise weights that are stored as f16 and converted, as `save_model` writes them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import irloop
from irloop.execution.session import run
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.passes import Manager, Pass
from irloop.passes.common import (
    CompressToFp16,
    DecomposeCells,
    FuseGates,
    MergeDirections,
    SequenceToTensorIterator,
    TensorIteratorToSequence,
)
from tests.passes.test_recurrent_passes import KINDS, B, T, model

CHAINS: dict[str, tuple[Pass, ...]] = {
    "loops": (SequenceToTensorIterator(),),
    "sequences": (SequenceToTensorIterator(), TensorIteratorToSequence()),
    "gates": (SequenceToTensorIterator(), DecomposeCells()),
    "cells": (SequenceToTensorIterator(), DecomposeCells(), FuseGates()),
    "merged": (SequenceToTensorIterator(), TensorIteratorToSequence(), MergeDirections()),
}


def types(model: Model) -> Counter[str]:
    """The operations of a model but for constants and conversions."""
    nodes = [node.op for node in all_nodes(model.graph)]
    return Counter(
        op.label for op in nodes if op.type not in ("Const", "Constant", "Convert", "Cast")
    )


def weights(model: Model) -> set[ElementType]:
    """The element types of all large float constants."""
    tensors = [node.op.tensor for node in all_nodes(model.graph) if isinstance(node.op, Constant)]
    return {item.element for item in tensors if item.element.is_float and item.count > 20}


def compressed(model: Model) -> Model:
    Manager([CompressToFp16(least=1)], check=True).run_passes(model)
    assert weights(model) == {ElementType.F16}
    return model


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", KINDS)
def test_passes_find_the_same_with_f16_weights(kind: str, direction: str, chain: str) -> None:
    plain, _ = model(kind, direction, [T] * B)
    half, arrays = model(kind, direction, [T] * B)
    wanted = list(run(compressed(half), arrays).values())
    for item in CHAINS[chain]:
        Manager([item], check=True).run_passes(plain)
        Manager([item], check=True).run_passes(half)
        assert types(half) == types(plain)
    if chain in ("loops", "sequences", "gates"):
        assert weights(half) == {ElementType.F16}
    for got, want in zip(run(half, arrays).values(), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", KINDS)
def test_conversions_find_the_same_with_f16_weights(kind: str, direction: str) -> None:
    plain, _ = model(kind, direction, [T] * B)
    half, arrays = model(kind, direction, [T] * B)
    wanted = list(run(compressed(half), arrays).values())
    loops = [SequenceToTensorIterator()]
    for item in (plain, half):
        Manager(loops, check=True).run_passes(item)
    made, notes = irloop.convert(half, loops="sequence")
    like = irloop.convert(plain, loops="sequence")[0]
    assert types(made) == types(like)
    assert types(made)["Scan-9"] == 0
    assert all("as requested" in note.message for note in notes if note.code == "CNV107")
    back, _ = irloop.convert(made)
    assert types(back) == types(irloop.convert(like)[0])
    for converted in (made, back):
        for got, want in zip(run(converted, arrays).values(), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
