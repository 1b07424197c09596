"""Decodes tokens with a language model whose cache is in variables, and with its ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import irloop

__all__ = ["decoded", "has_variables"]

BATCH, PROMPT, TOKENS, VOCABULARY = 2, 5, 32, 90

#: OpenVINO computes in f32, and stores the cache as it is.
EXACT = {
    "INFERENCE_PRECISION_HINT": "f32",
    "KV_CACHE_PRECISION": "f32",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",
}


def has_variables(model: Path) -> bool:
    """True for an IR with a cache that a beam index reorders."""
    text = model.read_text()
    return 'type="ReadValue"' in text and "beam_idx" in text


def decoded(source: Path, target: Path) -> str:
    """Convert, and decode 32 tokens in both engines: "ok", or the first difference."""
    import onnxruntime
    import openvino

    irloop.save_model(irloop.convert(source, stateless=True)[0], target)
    compiled = openvino.compile_model(source, "CPU", EXACT)
    taken = {port.any_name for port in compiled.inputs}
    reference = compiled.create_infer_request()
    session: Any = onnxruntime.InferenceSession(str(target))
    names = {port.name for port in session.get_inputs()}
    cache = {port.name: _empty(port) for port in session.get_inputs() if port.name not in taken}
    ids = np.random.default_rng(1).integers(3, VOCABULARY, (BATCH, PROMPT))
    beams, done = np.arange(BATCH, dtype=np.int32), 0
    for step in range(TOKENS):
        count = ids.shape[1]
        given = {
            "input_ids": ids,
            "attention_mask": np.ones((BATCH, done + count), np.int64),
            "position_ids": np.tile(np.arange(done, done + count), (BATCH, 1)),
            "beam_idx": beams,
        }
        wanted = reference.infer({key: given[key] for key in given if key in taken})["logits"]
        own = {key: given[key] for key in given if key in names}
        found, *states = session.run(None, {**own, **cache})
        difference = float(np.abs(found - wanted).max() / np.abs(wanted).max())
        # OpenVINO multiplies scales in f32 that are f16 in the file.
        if difference > 5e-3:
            return f"step {step}: the logits differ by {difference:.1e} of the largest"
        if (found[:, -1].argmax(-1) != wanted[:, -1].argmax(-1)).any():
            return f"step {step}: other tokens"
        cache = dict(zip(cache, states, strict=True))
        done += count
        ids = wanted[:, -1].argmax(-1)[:, None]
        # Every third step the beams change places.
        beams = np.arange(BATCH, dtype=np.int32)[:: -1 if step % 3 == 2 else 1].copy()
    return "ok"


def _empty(port: Any) -> Any:
    """A cache without tokens: the sizes that the model leaves open are the batch and the length."""
    dims = [BATCH, *(dim if isinstance(dim, int) else 0 for dim in port.shape[1:])]
    return np.zeros(dims, np.float16 if "16" in port.type else np.float32)
