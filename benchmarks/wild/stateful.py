"""Writes language models as IR with a cache in variables: see `benchmarks.wild`.

    python -m benchmarks.wild.stateful FOLDER [--only TEXT]

The models have the shape of those of optimum-intel: a beam index reorders each variable before new
keys and values are appended, an empty tensor initialises it, and nncf compresses the weights.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from pathlib import Path
from typing import Any

import nncf
import numpy as np
import openvino
import torch
from openvino import opset13 as ops
from openvino._offline_transformations import apply_make_stateful_transformation
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.cache_utils import DynamicLayer

from benchmarks.wild.language import config, ids

KINDS = ["gpt2", "llama", "qwen2", "mistral", "gemma", "gemma2", "phi3", "gpt_neox", "opt"]
KINDS += ["qwen3", "bloom", "mpt", "gptj"]
WEIGHTS = ["f32", "f16", "int8_asym", "int4_asym", "int4_sym", "nf4"]


class Step(torch.nn.Module):  # type: ignore[misc]  # torch is in another environment
    """One step of a decoder: logits and the next cache."""

    def __init__(self, model: Any, has_positions: bool) -> None:
        super().__init__()
        self.model = model
        self.has_positions = has_positions

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        position_ids: torch.Tensor,
        *past: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        """Logits, and a key and a value of each layer."""
        cache = DynamicCache()
        for keys, values in zip(past[::2], past[1::2], strict=True):
            layer = DynamicLayer()
            layer.lazy_initialization(keys, values)
            layer.keys, layer.values = keys, values
            cache.layers.append(layer)
        given = {"position_ids": position_ids} if self.has_positions else {}
        found = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=cache,
            use_cache=True,
            **given,
        )
        layers = found.past_key_values.layers
        return (found.logits, *[item for layer in layers for item in (layer.keys, layer.values)])


def stateful(kind: str) -> Any:
    """The model of this type with its cache in variables, in f32."""
    settings = config(kind)
    model = AutoModelForCausalLM.from_config(settings).eval()
    heads = getattr(settings, "num_key_value_heads", None) or settings.num_attention_heads
    size = getattr(settings, "head_dim", None) or (
        settings.hidden_size // settings.num_attention_heads
    )
    layers = range(model.config.num_hidden_layers)
    parts = [f"{layer}.{part}" for layer in layers for part in ("key", "value")]
    mask, places = torch.ones(2, 7, dtype=torch.int64), torch.arange(5, 7).repeat(2, 1)
    past = [torch.randn(2, heads, 5, size) for _ in parts]
    step = Step(model, kind not in ("bloom", "mpt"))
    with torch.no_grad():
        found = openvino.convert_model(step, example_input=(ids(2, 2), mask, places, *past))
    inputs = ["input_ids", "attention_mask", "position_ids"]
    inputs += [f"past_key_values.{part}" for part in parts]
    outputs = ["logits", *(f"present.{part}" for part in parts)]
    for port, name in zip([*found.inputs, *found.outputs], [*inputs, *outputs], strict=True):
        port.get_tensor().set_names({name})
    for port in found.inputs:
        is_cache = port.partial_shape.rank.get_length() == 4
        shape = [-1, heads, -1, size] if is_cache else [-1, -1]
        port.get_node().set_partial_shape(openvino.PartialShape(shape))
    _reorder(found, inputs[3:])
    apply_make_stateful_transformation(found, dict(zip(inputs[3:], outputs[1:], strict=True)))
    _initialise(found)
    return found


def _reorder(model: Any, caches: list[str]) -> None:
    beams = ops.parameter([-1], np.int32, name="beam_idx")
    beams.output(0).get_tensor().set_names({"beam_idx"})
    model.add_parameters([beams])
    for name in caches:
        past = model.input(name)
        readers = list(past.get_target_inputs())
        chosen = ops.gather(past, beams, ops.constant(np.int64(0)))
        for reader in readers:
            reader.replace_source_output(chosen.output(0))
    model.validate_nodes_and_infer_types()


def _initialise(model: Any) -> None:
    sizes = ops.shape_of(model.input("input_ids"), output_type="i64")
    batch = ops.gather(sizes, ops.constant([0]), ops.constant(0))
    for node in model.get_ops():
        if node.get_type_name() == "ReadValue":
            dims = [dim.get_min_length() for dim in node.get_output_partial_shape(0)][1:]
            shape = ops.concat([batch, *(ops.constant(np.array([dim])) for dim in dims)], 0)
            zero = ops.constant(0.0, dtype=node.get_output_element_type(0))
            node.set_arguments([ops.broadcast(zero, shape)])
    model.validate_nodes_and_infer_types()


def compressed(model: Any, weights: str) -> Any:
    """The model with weights of fewer bits, in groups of 16 below 8 bits."""
    if weights in ("f32", "f16"):
        return model
    mode = nncf.CompressWeightsMode(weights)
    grouped = {} if weights.startswith("int8") else {"group_size": 16, "all_layers": True}
    return nncf.compress_weights(model, mode=mode, **grouped)


def main() -> None:
    """Write every model that is missing; print one line for each that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="part of a name such as llama-nf4")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    folder = options.folder / "stateful"
    folder.mkdir(parents=True, exist_ok=True)
    for name, kind, weights in [(f"{k}-{w}", k, w) for k in KINDS for w in WEIGHTS]:
        path = folder / f"{name}.xml"
        if path.exists() or (options.only and not any(text in name for text in options.only)):
            continue
        torch.manual_seed(0)
        try:
            model = compressed(stateful(kind), weights)
            openvino.save_model(model, path, compress_to_fp16=weights != "f32")
        except Exception as error:
            print(f"{name}: not written: {' '.join(str(error).split())[-200:]}", flush=True)


if __name__ == "__main__":
    main()
