"""LSTM, GRU and RNN of a batch without items or without steps, in OpenVINO.

The plugin turns sequences with computed weights, clipped gates or rare activations into a
TensorIterator, and crashes when it concatenates the steps of an empty batch.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from irloop import convert, save_model, transform
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.faults.catalogue import faults

#: All weights are 1, so each step adds the input to the state.
RNN = """<ir_version: 8, opset_import: ["" : 16]>
m (float[{steps}, {items}, 1] x, float[1, 1, 1] w, float[1, {items}, 1] h)
    => (float[{steps}, 1, {items}, 1] y, float[1, {items}, 1] last) {{
  {weights}
  y, last = RNN <hidden_size = 1, activations = ["Relu"], direction = "{direction}"{clip}>
      (x, {used}, {used}, , , h)
}}"""

CONSTANT = "one = Constant <value = float[1, 1, 1] {1}> ()"


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("clip", ["", ", clip = 50.0"], ids=["plain", "clipped"])
@pytest.mark.parametrize("computed", [True, False], ids=["computed weights", "constant weights"])
def test_the_batch_is_empty_in_one_inference(
    computed: bool, clip: str, direction: str, tmp_path: Path
) -> None:
    text = RNN.format(
        steps=2,
        items="n",
        direction=direction,
        clip=clip,
        weights="" if computed else CONSTANT,
        used="w" if computed else "one",
    )
    source = tmp_path / "m.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    path = tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    with Process(engine_of("openvino"), path) as process:
        for items in (1, 0, 2, 0):
            x = np.ones((2, items, 1), np.float32) * [[[3]], [[4]]]
            arrays = [
                x.astype(np.float32),
                np.ones((1, 1, 1), np.float32),
                np.ones((1, items, 1), np.float32),
            ]
            answer = process.run(arrays, seconds=60)
            assert answer.outputs is not None, answer
            y, last = answer.outputs
            # Forward, the states are 1 + 3 and 4 + 4; backwards they are 1 + 4 and 5 + 3.
            steps = [4, 8] if direction == "forward" else [8, 5]
            assert y.shape == (2, 1, items, 1)
            assert y.tolist() == [[[[step]] * items] for step in steps]
            assert last.tolist() == [[[8]] * items]


@pytest.mark.parametrize("computed", [True, False], ids=["computed weights", "constant weights"])
def test_the_batch_is_known_to_be_empty(computed: bool, tmp_path: Path) -> None:
    text = RNN.format(
        steps=2,
        items=0,
        direction="forward",
        clip="",
        weights="" if computed else CONSTANT,
        used="w" if computed else "one",
    )
    source = tmp_path / "m.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    path = tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    with Process(engine_of("openvino"), path) as process:
        x, h = np.zeros((2, 0, 1), np.float32), np.zeros((1, 0, 1), np.float32)
        answer = process.run([x, np.ones((1, 1, 1), np.float32), h], seconds=60)
        assert answer.outputs is not None, answer
        assert [output.shape for output in answer.outputs] == [(2, 1, 0, 1), (1, 0, 1)]


#: With weights 0, the gates of an LSTM are 0.5, so each step halves the cell state.
LSTM = """<ir_version: 8, opset_import: ["" : 16]>
m (float[t, 2, 1] x, float[{n}, 2, 8] h, float[{n}, 2, 8] c)
    => (float[t, {n}, 2, 8] y, float[{n}, 2, 8] last, float[{n}, 2, 8] cell) {{
  sizes = Constant <value_ints = [{n}, 32, 1]> ()
  square = Constant <value_ints = [{n}, 32, 8]> ()
  w = ConstantOfShape (sizes)  r = ConstantOfShape (square)
  y, last, cell = LSTM <hidden_size = 8, direction = "{direction}"> (x, w, r, , , h, c)
}}"""


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_no_step_in_one_inference(direction: str, tmp_path: Path) -> None:
    """OpenVINO returns uninitialised memory as the last states; ONNX Runtime returns 0."""
    directions = 2 if direction == "bidirectional" else 1
    text = LSTM.format(n=directions, direction=direction)
    source = tmp_path / "m.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    path = tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    first = np.full((directions, 2, 8), 8, np.float32)
    with Process(engine_of("openvino"), path) as process:
        for steps in (2, 0, 3, 0):
            x = np.ones((steps, 2, 1), np.float32)
            answer = process.run([x, first, first], seconds=60)
            assert answer.outputs is not None, answer
            y, last, cell = answer.outputs
            assert len(y) == steps
            state = 8 * 0.5**steps if steps else 0
            assert cell.tolist() == np.full_like(cell, state).tolist()
            np.testing.assert_allclose(last, np.full_like(last, 0.5 * np.tanh(state)), 1e-5)


def test_transform_repairs_the_sequences_of_an_ir(tmp_path: Path) -> None:
    """The smallest model of OVN134: h1 = relu(x1 + h0), h2 = relu(x2 + h1)."""
    model, _ = transform(faults()["OVN134"].smallest_model(), ["dead_code"])
    path = tmp_path / "m.xml"
    save_model(model, path)
    one = np.ones((1, 1, 1), np.float32)
    with Process(engine_of("openvino"), path) as process:
        for items in (1, 0, 2, 0):
            x = np.tile(np.array([[[1], [2]]], np.float32), (items, 1, 1))
            answer = process.run([x, np.full((items, 1, 1), 3, np.float32), one], seconds=60)
            assert answer.outputs is not None, answer
            y, last = answer.outputs
            assert y.shape == (items, 1, 2, 1)
            assert y.tolist() == [[[[4], [6]]]] * items
            assert last.tolist() == [[[6]]] * items


#: A Scan becomes a TensorIterator, in which the plugin can write no other for the RNN.
NESTED = """<ir_version: 8, opset_import: ["" : 16]>
m (float[2, n, 1] x, float[1, 1, 1] w, float[1, n, 1] h, float[3, 1] by)
    => (float[1, n, 1] last, float[3, 2, 1, n, 1] every) {
  last, every = Scan <num_scan_inputs = 1, body = body (float[1, n, 1] held, float[1] more)
      => (float[1, n, 1] next, float[2, 1, n, 1] y) {
    larger = Add (x, more)
    y, next = RNN <hidden_size = 1, activations = ["Relu"], direction = "DIRECTION">
        (larger, w, w, , , held)
  }> (h, by)
}"""


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("size", ["n", "2"], ids=["any batch", "a batch of 2"])
def test_a_sequence_in_a_tensor_iterator(size: str, direction: str, tmp_path: Path) -> None:
    text = NESTED.replace("DIRECTION", direction).replace("n,", f"{size},")
    source, path = tmp_path / "m.onnx", tmp_path / "m.xml"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    save_model(convert(source)[0], path)
    with Process(engine_of("openvino"), path) as process:
        for items in (2, 0, 1, 2) if size == "n" else (2, 2):
            x = np.ones((2, items, 1), np.float32) * np.array([[[3]], [[4]]], np.float32)
            arrays = [
                x,
                np.ones((1, 1, 1), np.float32),
                np.ones((1, items, 1), np.float32),
                np.array([[0], [1], [2]], np.float32),
            ]
            answer = process.run(arrays, seconds=60)
            assert answer.outputs is not None, answer
            last, every = answer.outputs
            # Each step adds 3 or 4, and 0, 1 or 2 more: 1 + 3 + 4, 8 + 4 + 5, 17 + 5 + 6.
            assert last.tolist() == [[[28]] * items]
            steps = [[4, 8], [12, 17], [22, 28]]
            if direction == "reverse":
                steps = [[8, 5], [17, 13], [28, 23]]
            assert every.tolist() == [[[[[step]] * items] for step in row] for row in steps]


#: With weights that are constant, the plugin writes a loop because of the lengths.
OF_LENGTHS = """<ir_version: 8, opset_import: ["" : 16]>
m (float[2, 2, 1] x, int32[2] lengths, float[1, 2, 1] h, float[3, 1] by)
    => (float[1, 2, 1] last, float[3, 2, 1, 2, 1] every) {
  w = Constant <value = float[1, 1, 1] {1}> ()
  last, every = Scan <num_scan_inputs = 1, body = body (float[1, 2, 1] held, float[1] more)
      => (float[1, 2, 1] next, float[2, 1, 2, 1] y) {
    larger = Add (x, more)
    y, next = RNN <hidden_size = 1, activations = ["Relu"]> (larger, w, w, , lengths, held)
  }> (h, by)
}"""


def test_a_sequence_with_lengths_in_a_tensor_iterator(tmp_path: Path) -> None:
    source, path = tmp_path / "m.onnx", tmp_path / "m.xml"
    source.write_bytes(onnx.parser.parse_model(OF_LENGTHS).SerializeToString())
    save_model(convert(source)[0], path)
    x = np.array([[[3], [3]], [[4], [4]]], np.float32)
    arrays = [x, np.array([2, 1], np.int32), np.ones((1, 2, 1), np.float32)]
    arrays.append(np.array([[0], [1], [2]], np.float32))
    with Process(engine_of("openvino"), path) as process:
        for _ in range(2):
            answer = process.run(arrays, seconds=60)
            assert answer.outputs is not None, answer
            last, every = answer.outputs
            # The second item has one step: 1 + 3, 4 + 3 + 1, 8 + 3 + 2.
            assert last.tolist() == [[[28], [13]]]
            steps = [[[4, 4], [8, 0]], [[12, 8], [17, 0]], [[22, 13], [28, 0]]]
            assert every.tolist() == [[[[[n] for n in step]] for step in row] for row in steps]
