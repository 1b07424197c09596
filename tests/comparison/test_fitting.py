"""Input sizes are adapted to a model that fails when all sizes are equal."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import irloop
from irloop.comparison.fitting import Attempt, fitted
from irloop.comparison.sizes import Sizes, Variable
from irloop.formats.onnx import reader
from irloop.graph.model import Model


def model(text: str) -> Model:
    return reader.from_proto(
        onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>' + text)
    )


DECODER = """
m (int64[b,s] ids, float[100,32] w, float[b,4,p,8] past, {mask}) => (float[q,r,t,u] y) {{
   x = Gather (w, ids)
   heads = Constant <value_ints = [0, 0, 4, 8]> ()
   split = Reshape (x, heads)
   new = Transpose <perm = [0, 2, 1, 3]> (split)
   keys = Concat <axis = 2> (past, new)
   turned = Transpose <perm = [0, 1, 3, 2]> (keys)
   scores = MatMul (new, turned)
   one = Constant <value_ints = [1, 2]> ()
   wide = Unsqueeze (mask, one)
   y = Add (scores, wide)
}}
"""


@pytest.mark.parametrize("mask", ["float[b,total] mask", "float[n,total] mask"])
def test_a_mask_is_as_long_as_the_cache_and_the_new_ids(mask: str) -> None:
    subject = model(DECODER.format(mask=mask))
    found = irloop.random_inputs(subject)
    total = found["past"].shape[2] + found["ids"].shape[1]
    assert found["mask"].shape == (found["ids"].shape[0], total)
    assert irloop.Session(subject).run(found)["y"].size


def test_unnamed_sizes_are_fitted_one_by_one() -> None:
    text = """
    m (float[?,?] a, float[?,?] b, float[?,?] c) => (float[?,?] y) {
       ab = Concat <axis = 0> (a, b)
       y = MatMul (c, ab)
    }
    """
    found = irloop.random_inputs(model(text))
    assert found["c"].shape[1] == found["a"].shape[0] + found["b"].shape[0]
    assert found["a"].shape[1] == found["b"].shape[1]


def test_sizes_that_must_be_divisible_are_chosen_so() -> None:
    text = """
    m (float[n,c,h,w] x) => (float[n,c,h,w] y) {
       a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
       b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
       s = Constant <value = float[4] {1., 1., 4., 4.}> ()
       z = Resize <mode = "nearest"> (b, , s)
       y = Add (z, x)
    }
    """
    shape = irloop.random_inputs(model(text))["x"].shape
    assert shape[2] % 4 == 0
    assert shape[3] % 4 == 0


def test_a_signal_is_long_enough_for_a_chain_of_convolutions() -> None:
    text = """
    m (float[b,s] x, float[4,1,40] w, float[4,4,20] v) => (float[b,c,t] y) {
       one = Constant <value_ints = [1]> ()
       wide = Unsqueeze (x, one)
       h = Conv <strides = [20]> (wide, w)
       y = Conv <strides = [2]> (h, v)
    }
    """
    # 20 results of the first convolution need 40 + 19 * 20 samples.
    assert irloop.random_inputs(model(text))["x"].shape[1] >= 420


def test_a_reshape_is_given_as_many_elements_as_it_needs() -> None:
    text = """
    m (float[n,k] x) => (float[a,b,c] y) {
       s = Constant <value_ints = [0, -1, 24]> ()
       y = Reshape (x, s)
    }
    """
    assert irloop.random_inputs(model(text))["x"].shape[1] % 24 == 0


def test_the_trial_with_other_sizes_keeps_total_equal_to_past_and_new() -> None:
    subject = model(DECODER.format(mask="float[b,total] mask"))
    found = irloop.compare(subject, subject, engines=["numpy"])
    assert found.equal
    assert any(trial.label.endswith("other sizes") for trial in found.trials)


def test_masks_are_ones() -> None:
    subject = model("m (int64[2,4] attention_mask) => (int64[2,4] y) { y = Neg (attention_mask) }")
    assert np.array_equal(irloop.random_inputs(subject)["attention_mask"], np.ones((2, 4)))
    odd = irloop.random_inputs(subject, seed=1)["attention_mask"]
    assert odd.tolist() == [[1, 1, 0, 0]] * 2


def test_the_search_ends_if_nothing_helps() -> None:
    runs: list[Sizes] = []

    def attempt(sizes: Sizes) -> Attempt:
        runs.append(sizes)
        return Attempt(0, 7, (((2, 3), ()), ((2, 4), ())))

    start: Sizes = {(0, 0): 2}
    sizes, best = fitted(start, [Variable(((0, 0),))], attempt, seconds=60)
    assert sizes == start
    assert best.worth == 0
    assert len(runs) < 20


@pytest.mark.parametrize("element", ["float", "double", "bool", "int64", "float16"])
def test_inputs_of_rank_0_are_arrays(element: str) -> None:
    found = irloop.random_inputs(model(f"m ({element} x) => ({element} y) {{ y = Identity (x) }}"))
    assert isinstance(found["x"], np.ndarray)
    assert found["x"].shape == ()


def test_images_are_multiples_of_the_total_stride() -> None:
    """With 1 pixel, the map of 4 would broadcast to the other one, which no real image causes."""
    text = """
    m (float[n,3,h,w] x) => (float[n,3,p,q] y) {
       half = AveragePool <kernel_shape = [2, 2], strides = [2, 2], auto_pad = "SAME_UPPER"> (x)
       small = AveragePool <kernel_shape = [2, 2], strides = [2, 2], auto_pad = "SAME_UPPER"> (half)
       scales = Constant <value_floats = [1.0, 1.0, 4.0, 4.0]> ()
       back = Resize <mode = "nearest"> (small, , scales)
       y = Add (back, x)
    }
    """
    subject = model(text)
    found = irloop.random_inputs(subject)
    assert [size % 4 for size in found["x"].shape[2:]] == [0, 0]
    assert irloop.Session(subject).run(found)["y"].shape == found["x"].shape
