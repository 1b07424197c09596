"""Faults in port maps are reduced to few operations, axes and trips with the same cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.budget import Budget
from irloop.comparison.reduction.changes import Pair, operations
from irloop.comparison.reduction.shrink import shrunk
from irloop.formats.onnx import reader

RECURRENT = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"
HALVING = RECURRENT.parents[1] / "halving" / "model.xml"

FORWARDS = 'axis="1" start="0" end="-1" stride="1" part_size="1"'
BACKWARDS = 'axis="1" start="-1" end="0" stride="-1" part_size="1"'

FAULTS = {
    "lost": ('<edge from-layer="15" to-layer="1"/>', ""),
    "redirected": (
        '<edge from-layer="11" from-port="1" to-layer="15" to-port="0"/>',
        '<edge from-layer="8" from-port="2" to-layer="15" to-port="0"/>',
    ),
    "slice reversed": (f'internal_layer_id="0" {FORWARDS}', f'internal_layer_id="0" {BACKWARDS}'),
    "joined reversed": (
        f'internal_layer_id="14" {FORWARDS}',
        f'internal_layer_id="14" {BACKWARDS}',
    ),
    "axis": ('internal_layer_id="14" axis="1"', 'internal_layer_id="14" axis="0"'),
    "operation": ('type="Tanh"', 'type="Sigmoid"'),
}


@pytest.mark.parametrize("other", ["IR", "ONNX", "ONNX as the second"])
@pytest.mark.parametrize("fault", FAULTS)
def test_few_operations_are_left(tmp_path: Path, fault: str, other: str) -> None:
    text = RECURRENT.read_text(encoding="utf-8")
    old, new = FAULTS[fault]
    assert text.count(old) == 1
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(text.replace(old, new), encoding="utf-8")
    wrong.with_suffix(".bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    right = irloop.read_model(RECURRENT)
    if other != "IR":
        right, _ = irloop.convert(right)
    pair = [right, irloop.read_model(wrong)]
    if other == "ONNX as the second":
        pair.reverse()
    found = irloop.reduce(*pair)
    assert found.comparison.outcome == "different"
    for model in (found.first, found.second):
        assert operations(model) <= 3
    original = [replace(model, source=None) for model in pair]
    before = irloop.compare(*original, engines="numpy").cause
    after = found.comparison.cause
    assert before is not None
    assert after is not None
    assert (after.kind, after.signature) == (before.kind, before.signature)
    # Two iterations show a wrong order or a lost state, so no axis is longer.
    for array in found.inputs[0]:
        assert max(np.shape(array), default=0) <= 2
    # The written models still have the difference.
    files = []
    for name, model in (("first", found.first), ("second", found.second)):
        suffix = ".onnx" if model.dialect == "onnx" else ".xml"
        files.append(tmp_path / f"{name}{suffix}")
        irloop.save_model(model, files[-1])
    again = irloop.compare(*files, inputs=list(found.inputs[0]), engines="numpy")
    assert again.outcome == "different"


def test_a_constant_trip_count_is_lowered(tmp_path: Path) -> None:
    """The loop may run 50 times; one iteration shows that it divides by another number."""
    text = HALVING.read_text(encoding="utf-8")
    assert text.count('type="Multiply"') == 1
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(text.replace('type="Multiply"', 'type="Add"'), encoding="utf-8")
    wrong.with_suffix(".bin").write_bytes(HALVING.with_suffix(".bin").read_bytes())
    found = irloop.reduce(HALVING, wrong)
    assert [node.op.type for node in found.first.graph.nodes if node.op.type != "Const"] == [
        "Multiply"
    ]
    assert operations(found.second) == 1


def test_a_model_that_fails_at_run_time_is_reduced(tmp_path: Path) -> None:
    """Six elements cannot be cut into slices of four, so the second model computes nothing."""
    text = RECURRENT.read_text(encoding="utf-8")
    wrong = tmp_path / "wrong.xml"
    old = f'internal_layer_id="0" {FORWARDS}'
    assert text.count(old) == 1
    wide = old.replace('stride="1" part_size="1"', 'stride="4" part_size="4"')
    wrong.write_text(text.replace(old, wide), encoding="utf-8")
    wrong.with_suffix(".bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    found = irloop.reduce(RECURRENT, wrong)
    assert found.comparison.outcome == "different"
    assert found.comparison.cause is not None
    assert "in steps of 4 in parts of 4" in found.comparison.cause.message
    assert operations(found.first) <= 3
    assert operations(found.second) <= 3


def test_names_that_become_equal_do_not_keep_operations(tmp_path: Path) -> None:
    """The cause names the output of each model; once both names are equal, the second one is called
    "it".
    """
    source = RECURRENT.parents[2] / "rules" / "irl621" / "good_six_and_six.xml"
    text = source.read_text(encoding="utf-8")
    head, forwards, tail = text.rpartition('start="0" end="-1" stride="1"')
    assert forwards
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(f'{head}start="-1" end="0" stride="-1"{tail}', encoding="utf-8")
    right, _ = irloop.convert(irloop.read_model(source))
    found = irloop.reduce(wrong, right)
    assert found.comparison.cause is not None
    assert found.comparison.cause.kind == "output"
    # The outputs are those of a loop whose body only returns its slices.
    assert max(operations(found.first), operations(found.second)) <= 2


HEAD = '<ir_version: 8, opset_import: ["" : 16]>'
COUNTS = """m (bool go) => (bool[n] all) {
   n = Constant <value = int64 {4}> ()
   y, all = Loop (n, go, go) <body = step (int64 i, bool c, bool s) => (bool c2, bool s2, bool p) {
      at = Cast <to = 6> (i)
      back = Neg (at)
      most = Constant <value = int32 {-2}> ()
      s2 = Equal (back, most)
      c2 = Greater (back, most)
      p = Less (back, most)
   }>
}"""


def converted(text: str) -> tuple[irloop.Model, irloop.Model]:
    """A model of this text and its IR, with inferred types."""
    first = reader.from_proto(onnx.parser.parse_model(HEAD + text))
    second, _ = irloop.convert(first)
    for model in (first, second):
        assert irloop.infer(model) == []
    return first, second


def test_no_change_makes_a_model_that_contradicts_itself() -> None:
    """Otherwise the reduced models cannot be written. In the IR the iteration number is an i32."""
    tried = 0

    def accept(old: Pair, new: Pair, _how: str) -> Pair:
        nonlocal tried
        tried += 1
        assert [irloop.infer(model) for model in new.models] == [[], []]
        return old

    go = np.array(True)
    shrunk(Pair(converted(COUNTS), ((go,), (go,))), accept, 60)
    assert tried


GROWS = """m (bool go, float[1] x, float[5,3] rows) => (float[n] y) {
   y = Loop ( , go, x) <body = step (int64 i, bool c, float[k] a) => (bool c2, float[j] a2) {
      most = Constant <value = int64 {3}> ()
      c2 = Less (i, most)
      d = Scan <num_scan_inputs = 1, body = in (float[l] s, float[3] row) => (float[l] NEXT) {
         s2 = Sub (s, s)
         kept = Identity (s)
      }> (a, rows)
      a2 = Concat <axis = 0> (a, d)
   }>
}"""


def test_a_smaller_case_that_never_ends_is_dropped_early() -> None:
    """Without its condition the outer loop doubles its state in each iteration."""
    first = converted(GROWS.replace("NEXT", "s2"))[1]
    second = converted(GROWS.replace("NEXT", "kept"))[0]
    with Budget(memory=64 << 20).entered() as budget:
        found = irloop.reduce(first, second)
    assert found.comparison.cause is not None
    assert "is not carried: its back edge returns it unchanged" in found.comparison.cause.message
    assert max(operations(found.first), operations(found.second)) <= 3
    # The original takes 500 steps; without a limit such a case takes millions.
    assert budget.spent < 500_000


UNREAD = """m (float[2,3] a, float[2,3] b, float[3] s0) => (float[3] y, float[2,3] z) {
   x = Exp (a)
   s, all = Scan <num_scan_inputs = 2, scan_input_axes = [0, AXIS], body = step
      (float[3] t, float[3] p, float[n] q) => (float[3] t2, float[n] o) {
      u = Tanh (p)
      t2 = Add (t, u)
      o = Neg (q)
   }> (s0, x, b)
   y = Sin (s)
   z = Cos (x)
}"""


def test_a_slice_that_nothing_reads_keeps_a_loop_from_running() -> None:
    """The slices of `b` are needed only for the failure, so they must not be removed as unread."""
    first = converted(UNREAD.replace("AXIS", "0"))[1]
    text = HEAD + UNREAD.replace("AXIS", "1")
    found = irloop.reduce(first, reader.from_proto(onnx.parser.parse_model(text)))
    assert found.comparison.cause is not None
    assert "the scanned inputs have different lengths" in found.comparison.cause.message
    assert max(operations(found.first), operations(found.second)) <= 2
