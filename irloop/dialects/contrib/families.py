"""Imports all modules that define operations of ONNX Runtime, which registers these operations."""

from __future__ import annotations

from irloop.dialects.contrib import (
    activation,
    attention,
    convolution,
    decoder_attention,
    early,
    group_query,
    matmul,
    normalization,
    ordered,
    quantize,
    quantized_elements,
    quantized_matmul,
    recurrent,
    rotary,
    tensors,
)

__all__ = [
    "activation",
    "attention",
    "convolution",
    "decoder_attention",
    "early",
    "group_query",
    "matmul",
    "normalization",
    "ordered",
    "quantize",
    "quantized_elements",
    "quantized_matmul",
    "recurrent",
    "rotary",
    "tensors",
]
