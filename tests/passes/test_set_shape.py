"""Inputs get other shapes: the resulting changes, and refusals by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irloop.errors import UsageError
from irloop.execution.session import run
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.passes import Manager
from irloop.passes.common import ConstantFolding, SequenceToTensorIterator, SetShape
from tests.passes.test_recurrent_passes import B, N, S, T, model

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def read(body: str, folder: Path, shape: str = "2,6") -> Model:
    path = folder / "model.onnx"
    text = f"g (float[{shape}] x) => (y) {body}"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return reader.read(path)


@pytest.mark.parametrize(
    ("pattern", "shape", "wanted"),
    [
        ("2, 2, 3", "5,6", (5, 2, 3)),
        ("1, 2, 6", "5,6", (1, 5, 6)),
        ("2, -1", "5,6", (5, 6)),
        ("12", "5,6", (30,)),
        ("0, 3, 2", "5,6", (5, 3, 2)),
        ("2, 3, 2", "?,6", (4, 3, 2)),
    ],
)
def test_a_constant_reshape_adapts_to_the_new_shape(
    pattern: str, shape: str, wanted: tuple[int, ...], tmp_path: Path
) -> None:
    count = len(pattern.split(","))
    text = f"<int64[{count}] p = {{{pattern}}}> {{ y = Reshape (x, p) }}"
    made = read(text, tmp_path)
    assert Manager([SetShape((f"x={shape}",))]).run_passes(made)
    rows = 4 if "?" in shape else 5
    (y,) = run(made, [np.arange(6.0 * rows, dtype=np.float32).reshape(rows, 6)]).values()
    assert y.shape == wanted


@pytest.mark.parametrize("pattern", ["3, 4", "4, 3"])
def test_an_uncertain_change_is_refused_by_name(pattern: str, tmp_path: Path) -> None:
    made = read(f"<int64[2] p = {{{pattern}}}> {{ y = Reshape (x, p) }}", tmp_path)
    with pytest.raises(UsageError, match="Reshape-14 'y'"):
        Manager([SetShape(("x=5,6",))]).run_passes(made)


def test_a_change_of_a_squeezed_batch_is_uncertain(tmp_path: Path) -> None:
    made = read("<int64[1] p = {6}> { y = Reshape (x, p) }", tmp_path, "1,6")
    with pytest.raises(UsageError, match="not certain"):
        Manager([SetShape(("x=5,6",))]).run_passes(made)


def test_names_and_ranks_are_checked(tmp_path: Path) -> None:
    made = read("{ y = Relu (x) }", tmp_path)
    with pytest.raises(UsageError, match="no input 'z'"):
        Manager([SetShape(("z=1",))]).run_passes(made)
    with pytest.raises(UsageError, match="rank"):
        Manager([SetShape(("x=1",))]).run_passes(made)
    with pytest.raises(UsageError, match="is not an input name with a shape"):
        SetShape(("x",))
    assert not Manager([SetShape(("x=2,6",))]).run_passes(made)


def test_constant_states_of_an_onnx_sequence_are_adapted(tmp_path: Path) -> None:
    path = tmp_path / "gru.onnx"
    text = """
    g (float[4, 2, 1] x) => (float[4, 1, 2, 1] y) <float[1, 3, 1] w = {1, 2, 3},
        float[1, 3, 1] r = {1, 1, 1}, int32[2] n = {4, 4}, float[1, 2, 1] h = {0.5, 0.5}> {
      y = GRU <hidden_size = 1> (x, w, r, "", n, h)
    }
    """
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    made = reader.read(path)
    x = np.arange(8, dtype=np.float32).reshape(4, 2, 1) / 8
    (wanted,) = run(made, [x]).values()
    assert Manager([SetShape(("x=4,6,1",))]).run_passes(made)
    (got,) = run(made, [np.concatenate([x, x, x], 1)]).values()
    np.testing.assert_allclose(got, np.concatenate([wanted] * 3, 2), rtol=1e-6)


def test_states_and_lengths_of_a_sequence_are_adapted() -> None:
    made, (x, _) = model("GRU", "forward", [T] * B)
    h = made.graph.parameters[1].output
    changed, (_, state) = model("GRU", "forward", [T] * B)
    passes = [SetShape((f"x={B},9,{N}",))]
    assert Manager(passes).run_passes(made)
    longer = np.concatenate([x, x, x[:, :1]], 1)
    got = list(run(made, [longer, state]).values())
    first = list(run(changed, [x, state]).values())
    np.testing.assert_allclose(got[0][:, :, :T], first[0], rtol=1e-5)
    assert got[0].shape == (B, 1, 9, S)
    assert h.type == made.graph.parameters[1].output.type


def test_slices_of_a_loop_get_the_new_number() -> None:
    made, (x, state) = model("GRU", "forward", [T] * B)
    passes = [SequenceToTensorIterator(), SetShape((f"x={B},2,{N}",))]
    assert Manager(passes, check=True).run_passes(made)
    whole = list(run(model("GRU", "forward", [T] * B)[0], [x, state]).values())
    got = list(run(made, [x[:, :2], state]).values())
    np.testing.assert_allclose(got[0], whole[0][:, :, :2], rtol=1e-5)


def test_constant_states_of_a_cell_in_a_loop_are_adapted() -> None:
    made, (x, state) = model("GRU", "forward", [T] * B)
    h = made.graph.parameters[1].output
    first = made.graph.nodes[0]
    rewriter = Rewriter(made.graph)
    rows = np.repeat(state[:1], B, 0)
    constant = rewriter.insert_constant(ArrayTensor(rows), before=first, name="rows")
    rewriter.replace_value(h, constant, keep_names=False)
    rewriter.erase_parameter(h.producer)
    wanted = list(run(made, [x]).values())
    passes = [SequenceToTensorIterator(), ConstantFolding(), SetShape((f"x={2 * B},{T},{N}",))]
    assert Manager(passes, check=True).run_passes(made)
    for got, want in zip(run(made, [np.concatenate([x, x])]).values(), wanted, strict=True):
        np.testing.assert_allclose(got, np.concatenate([want, want]), rtol=1e-5)
