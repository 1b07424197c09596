"""`loops` of `convert`: the form that is requested, and a note for each loop."""

from __future__ import annotations

import numpy as np
import pytest

import irloop
from irloop.execution.session import run
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from irloop.passes.common import SequenceToTensorIterator
from tests.drawn.loops import Plan, build, values
from tests.passes.test_recurrent_passes import B, T, model

#: A Loop over five slices; only the trip count ends it.
SLICED = Plan("Loop", 5, ((0, 1),), ((0, False, 1),), (), None, False, False, False)
STOPPED = Plan("Loop", 4, ((0, 1),), (), (), 2, False, True, False)


def kinds(model: Model) -> list[str]:
    return [node.op.type for node in all_nodes(model.graph) if node.bodies]


@pytest.mark.parametrize(
    ("loops", "wanted"),
    [("keep", ["Loop"]), ("loop", ["Loop"]), ("scan", ["Scan"]), ("unroll", [])],
)
def test_a_loop_over_slices(loops: str, wanted: list[str]) -> None:
    source, arrays = build(SLICED)
    before = kinds(source)
    result, notes = irloop.convert(source, "onnx", loops=loops)  # type: ignore[arg-type]
    assert kinds(source) == before
    assert kinds(result) == wanted
    assert [note.code for note in notes] == ["CNV107"]
    for got, want in zip(values(result, arrays), values(source, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("loops", ["scan", "unroll", "sequence"])
def test_an_impossible_form_is_explained(loops: str) -> None:
    result, (note,) = irloop.convert(build(STOPPED)[0], "onnx", loops=loops)  # type: ignore[arg-type]
    assert kinds(result) == ["Loop"]
    reason = "single LSTM" if loops == "sequence" else "stop early"
    assert "is written as Loop" in note.message
    assert reason in note.message


def test_a_loop_over_a_cell_is_a_sequence() -> None:
    source, arrays = model("GRU", "reverse", [T] * B)
    wanted = list(run(source, arrays).values())
    Manager([SequenceToTensorIterator()]).run_passes(source)
    result, (note,) = irloop.convert(source, "onnx", loops="sequence")
    assert [node.op.type for node in all_nodes(result.graph)].count("GRU") == 1
    assert "is written as GRU: as requested" in note.message
    for got, want in zip(run(result, arrays).values(), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_model_of_the_same_format_is_changed_in_a_copy() -> None:
    source, _ = build(SLICED)
    result, (note,) = irloop.convert(source, "openvino", loops="scan")
    assert (kinds(source), kinds(result)) == (["Loop"], ["TensorIterator"])
    assert "is written as TensorIterator: as requested" in note.message
