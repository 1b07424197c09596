"""OVN103 of rotary position embeddings: the plugin rotates an invariant value in its own memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import agree, needs_engines

pytest.importorskip("openvino")

from openvino import Model, save_model
from openvino import opset8 as ov

KEY, ANGLES = (2, 4, 3, 16), (2, 1, 3, 8)


def drawn(seed: int, *shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


GIVEN = [drawn(1, 3, 2), drawn(2, *KEY), drawn(3, *ANGLES), drawn(4, *ANGLES)]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def halves(x: Any, kind: str) -> list[Any]:
    """The two halves of the last axis."""
    if kind == "VariadicSplit":
        return list(ov.variadic_split(x, np.int64(3), np.array([8, 8])).outputs())
    step, axis = np.array([1]), np.array([3])
    return [ov.slice(x, np.array([at]), np.array([at + 8]), step, axis) for at in (0, 8)]


def iterator(kind: str) -> Model:
    """A TensorIterator whose body rotates an invariant key; written without irloop."""
    outer = [ov.parameter(list(array.shape), np.float32) for array in GIVEN]
    inner = [ov.parameter(list(shape), np.float32) for shape in ((1, 2), KEY, ANGLES, ANGLES)]
    step, key, cosines, sines = inner
    a, b = halves(key, kind)
    left = ov.subtract(ov.multiply(a, cosines), ov.multiply(b, sines))
    right = ov.add(ov.multiply(b, cosines), ov.multiply(a, sines))
    turned = ov.unsqueeze(ov.concat([left, right], 3), np.int64(0))
    body = Model([ov.relu(step), turned], inner)
    node = ov.tensor_iterator()
    node.set_function(body)
    node.set_sliced_input(step, outer[0].output(0), 0, 1, 1, -1, 0)
    for own, value in zip(inner[1:], outer[1:], strict=True):
        node.set_invariant_input(own, value.output(0))
    results = [item.output(0) for item in body.get_results()]
    return Model([node.get_concatenated_slices(item, 0, 1, 1, -1, 0) for item in results], outer)


def rotated() -> np.ndarray[Any, np.dtype[np.float32]]:
    """The rotated key; every iteration returns it."""
    a, b = np.split(GIVEN[1], 2, axis=3)
    cosines, sines = GIVEN[2:]
    return np.concatenate([a * cosines - b * sines, b * cosines + a * sines], axis=3)


@needs_engines
@pytest.mark.parametrize("kind", ["VariadicSplit", "Slice"])
def test_a_rotated_invariant_is_found_and_copied(
    kind: str, engines: Engines, tmp_path: Path
) -> None:
    path, repaired = tmp_path / "model.xml", tmp_path / "repaired.xml"
    save_model(iterator(kind), path, compress_to_fp16=False)
    assert "OVN103" in {item.code for item in irloop.validate(path, engines=["openvino"])}
    found = engines.run("openvino", path, GIVEN, tmp_path)[1]
    np.testing.assert_allclose(found[0], rotated(), 1e-5, 1e-5)
    assert np.abs(found[2] - rotated()).max() > 1
    irloop.save_model(irloop.transform(path, ["body_barriers"])[0], repaired)
    for outputs in engines.run_all("openvino", repaired, [GIVEN, GIVEN], tmp_path):
        for turned in outputs[1]:
            np.testing.assert_allclose(turned, rotated(), 1e-5, 1e-5)


@needs_engines
def test_a_rotated_key_of_a_scan_is_right_in_every_iteration(
    engines: Engines, tmp_path: Path
) -> None:
    text = """g (float[3,2] steps, float[2,4,3,16] key, int64[2,3] places, float[9,8] cosines,
               float[9,8] sines) => (float[s,2] moved, float[s,a,b,c,d] turned) {
        moved, turned = Scan <num_scan_inputs = 1, body = b (float[2] step) =>
            (float[2] next, float[2,4,3,16] out) {
            next = Relu (step)
            one = Constant <value = int64[1] {1}> ()
            parts = Constant <value = int64[2] {8, 8}> ()
            c = Gather (cosines, places)
            s = Gather (sines, places)
            cos = Unsqueeze (c, one)
            sin = Unsqueeze (s, one)
            a, b = Split <axis = 3> (key, parts)
            ac = Mul (a, cos)
            bs = Mul (b, sin)
            left = Sub (ac, bs)
            bc = Mul (b, cos)
            as = Mul (a, sin)
            right = Add (bc, as)
            out = Concat <axis = 3> (left, right) }> (steps) }"""
    inputs = [drawn(1, 3, 2), drawn(2, *KEY), np.array([[0, 4, 8], [7, 3, 1]])]
    inputs += [drawn(5, 9, 8), drawn(6, 9, 8)]
    agree(text, [inputs, inputs], engines, tmp_path)
