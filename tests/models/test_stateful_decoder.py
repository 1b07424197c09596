"""A language model as optimum-intel exports it, from OpenVINO IR to ONNX, decoded token by token.

Its key-value cache is in variables, which a beam index reorders. Its weights are 4-bit groups, each
with a scale and a zero point. OpenVINO's own API builds and saves it. The reference is OpenVINO,
which runs the stateful model; ONNX Runtime runs the converted one.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irloop import convert, save_model

Array = np.ndarray[Any, np.dtype[Any]]

VOCABULARY, WIDTH, HEADS, LAYERS, GROUP = 96, 32, 4, 2, 16
SIZE = WIDTH // HEADS
BATCH, PROMPT, TOKENS = 2, 5, 32
INPUTS = ("input_ids", "attention_mask", "position_ids", "beam_idx")


class _Decoder:
    """Builds the model with the operations of OpenVINO's opset 13."""

    def __init__(self, ov: Any) -> None:
        self.ov = ov
        self.ops = ov.opset13
        self.random = np.random.default_rng(5)
        self.sinks: list[Any] = []

    def ints(self, *numbers: int) -> Any:
        return self.ops.constant(np.array(numbers, np.int64))

    def weight(self, rows: int, columns: int) -> Any:
        """A matrix as groups of 4-bit codes with zero points and scales, as nncf stores it."""
        groups = (rows, columns // GROUP, GROUP)
        codes = self.random.integers(0, 16, groups, np.uint8)
        zeros = self.random.integers(6, 10, (*groups[:2], 1), np.uint8)
        # With powers of two as scales, every weight is exact in f16, so it does not matter that
        # OpenVINO multiplies in f32.
        scales = (2.0 ** self.random.integers(-7, -4, (*groups[:2], 1))).astype(np.float16)
        ops = self.ops
        wide = [ops.convert(self._packed(numbers), "f16") for numbers in (codes, zeros)]
        numbers = ops.multiply(ops.subtract(*wide), ops.constant(scales))
        return ops.convert(ops.reshape(numbers, self.ints(rows, columns), False), "f32")

    def _packed(self, codes: Array) -> Any:
        tensor = self.ov.Tensor(self.ov.Type.u4, self.ov.Shape(codes.shape))
        flat = codes.reshape(-1)
        tensor.data.reshape(-1)[:] = flat[0::2] | (flat[1::2] << 4)
        return self.ov.op.Constant(tensor)

    def linear(self, x: Any, rows: int, columns: int) -> Any:
        return self.ops.matmul(x, self.weight(rows, columns), False, True)

    def normal(self, x: Any) -> Any:
        ops = self.ops
        mean = ops.reduce_mean(ops.multiply(x, x), self.ints(-1), True)
        root = ops.sqrt(ops.add(mean, ops.constant(np.float32(1e-5))))
        return ops.multiply(x, ops.divide(ops.constant(np.float32(1)), root))

    def heads(self, x: Any) -> Any:
        split = self.ops.reshape(x, self.ints(0, 0, HEADS, SIZE), True)
        return self.ops.transpose(split, self.ints(0, 2, 1, 3))

    def cached(self, new: Any, start: Any, beams: Any, name: str) -> Any:
        """Append to the variable `name`, whose rows the beam index reorders first."""
        ops = self.ops
        variable = f"past_key_values.{name}present.{name}"
        shape = self.ov.PartialShape([-1, HEADS, -1, SIZE])
        past = ops.read_value(start, variable, self.ov.Type.f32, shape)
        chosen = ops.gather(past, beams, self.ints(0))
        whole = ops.concat([chosen, new], 2)
        self.sinks.append(ops.assign(whole, variable))
        return whole

    def build(self) -> Any:
        ov, ops = self.ov, self.ops
        ids, mask, positions = (ops.parameter([-1, -1], np.int64) for _ in range(3))
        beams = ops.parameter([-1], np.int32)
        inputs = [ids, mask, positions, beams]
        for item, name in zip(inputs, INPUTS, strict=True):
            item.set_friendly_name(name)
            item.output(0).get_tensor().set_names({name})
        batch = ops.gather(ops.shape_of(ids), self.ints(0), self.ints(0))
        empty = ops.concat([batch, self.ints(HEADS), self.ints(0), self.ints(SIZE)], 0)
        start = ops.broadcast(ops.constant(np.float32(0)), empty)
        tables = [
            self.random.standard_normal((rows, WIDTH)).astype(np.float32)
            for rows in (VOCABULARY, 128)
        ]
        x = ops.add(
            ops.gather(ops.constant(tables[0]), ids, self.ints(0)),
            ops.gather(ops.constant(tables[1]), positions, self.ints(0)),
        )
        seen = self._seen(mask, positions)
        for layer in range(LAYERS):
            h = self.normal(x)
            q, k, v = (self.heads(self.linear(h, WIDTH, WIDTH)) for _ in range(3))
            k = self.cached(k, start, beams, f"{layer}.key")
            v = self.cached(v, start, beams, f"{layer}.value")
            mixed = ops.scaled_dot_product_attention(q, k, v, seen)
            joined = ops.reshape(
                ops.transpose(mixed, self.ints(0, 2, 1, 3)), self.ints(0, 0, WIDTH), True
            )
            x = ops.add(x, self.linear(joined, WIDTH, WIDTH))
            wide = self.linear(self.normal(x), 2 * WIDTH, WIDTH)
            x = ops.add(x, self.linear(ops.swish(wide), WIDTH, 2 * WIDTH))
        logits = ops.result(self.linear(self.normal(x), VOCABULARY, WIDTH), "logits")
        logits.input_value(0).get_tensor().set_names({"logits"})
        return ov.Model([logits], self.sinks, inputs, "decoder")

    def _seen(self, mask: Any, positions: Any) -> Any:
        """A mask of the keys that each new token attends to: keys that are not masked and not later
        than the token.
        """
        ops = self.ops
        length = ops.gather(ops.shape_of(mask), self.ints(1), self.ints(0))
        count = ops.squeeze(length, self.ints(0))
        keys = ops.range(ops.constant(np.int64(0)), count, ops.constant(np.int64(1)), "i64")
        earlier = ops.less_equal(keys, ops.unsqueeze(positions, self.ints(2)))
        known = ops.unsqueeze(ops.not_equal(mask, ops.constant(np.int64(0))), self.ints(1))
        return ops.unsqueeze(ops.logical_and(earlier, known), self.ints(1))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The stateful IR that OpenVINO saved, and the ONNX model with its cache as inputs."""
    ov = pytest.importorskip("openvino")
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("decoder")
    source, target = folder / "decoder.xml", folder / "decoder.onnx"
    ov.save_model(_Decoder(ov).build(), source, compress_to_fp16=False)
    save_model(convert(source, stateless=True)[0], target)
    return source, target


def test_the_cache_consists_of_pairs_of_inputs_and_outputs(files: tuple[Path, Path]) -> None:
    graph = onnx.load(files[1]).graph
    names = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
    assert [item.name for item in graph.input[4:]] == [f"past_key_values.{name}" for name in names]
    assert [item.name for item in graph.output] == [
        "logits",
        *(f"present.{name}" for name in names),
    ]


def test_weights_stay_in_4_bits(files: tuple[Path, Path]) -> None:
    stored = onnx.load(files[1]).graph.initializer
    codes = sum(
        int(np.prod(item.dims)) for item in stored if item.data_type == onnx.TensorProto.UINT4
    )
    products = LAYERS * (4 * WIDTH * WIDTH + 2 * 2 * WIDTH * WIDTH) + VOCABULARY * WIDTH
    assert codes == products + products // GROUP


def test_32_tokens_equal_those_of_openvino(files: tuple[Path, Path]) -> None:
    import onnxruntime
    import openvino

    # Let OpenVINO compute in f32 and store the cache without 8-bit compression.
    exact = {
        "INFERENCE_PRECISION_HINT": "f32",
        "KV_CACHE_PRECISION": "f32",
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
    }
    reference = openvino.compile_model(files[0], "CPU", exact).create_infer_request()
    session = onnxruntime.InferenceSession(files[1], providers=["CPUExecutionProvider"])
    cache = {
        item.name: np.zeros((BATCH, HEADS, 0, SIZE), np.float32)
        for item in session.get_inputs()[4:]
    }
    ids = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, PROMPT))
    beams = np.arange(BATCH, dtype=np.int32)
    done = 0
    for step in range(TOKENS):
        count = ids.shape[1]
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones((BATCH, done + count), np.int64),
            "position_ids": np.tile(np.arange(done, done + count), (BATCH, 1)),
            "beam_idx": beams,
        }
        wanted = reference.infer(feed)["logits"]
        found, *states = session.run(None, {**feed, **cache})
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
        cache = dict(zip(cache, states, strict=True))
        done += count
        ids = wanted[:, -1].argmax(-1)[:, None]
        # In every third step the two beams are exchanged.
        beams = np.arange(BATCH, dtype=np.int32)[:: -1 if step % 3 == 2 else 1].copy()
    assert done == PROMPT + TOKENS - 1


def test_the_command_proves_the_model_without_variables(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "irloop", "convert", str(files[0])]
    told = subprocess.run(
        [
            *command,
            "-o",
            str(tmp_path / "m.onnx"),
            "--stateless",
            "--check",
            "--engines",
            "onnxruntime,openvino",
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert "logits" in told.stdout
    assert (tmp_path / "m.onnx").exists()
