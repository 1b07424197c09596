"""Exports modules of PyTorch with both of its exporters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

__all__ = ["Axes", "Recipe", "Wrapped", "export", "small"]

#: The names of the unknown dimensions of an input, by axis.
Axes = Mapping[int, str]

#: Writes one model below a folder.
Recipe = Callable[[Path], None]

#: Small sizes for the attributes of the configuration of a model, where it has them.
SIZES = {
    **dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "dim", "embedding_size", "emb_dim", "embed_dim"), 32
    ),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "n_inner", "d_ff", "ffn_dim", "hidden_dim"), 64),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 128),
    **dict.fromkeys(("max_target_positions", "n_ctx"), 128),
    "vocab_size": 99,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "rotary_dim": 4,
    "max_source_positions": 30,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def small(config: Any, **others: Any) -> Any:
    """Make a configuration of transformers small, its parts as well."""
    for part in ("text_config", "vision_config", "encoder", "decoder", "audio_config"):
        inner = getattr(config, part, None)
        if inner is not None and hasattr(inner, "to_dict"):
            small(inner)
    for name, size in {**SIZES, **others}.items():
        if name in others or isinstance(getattr(config, name, None), int):
            setattr(config, name, size)
    return config


class Wrapped(torch.nn.Module):  # type: ignore[misc]  # torch is in another environment
    """A module that takes tensors by position and returns a flat tuple of tensors."""

    def __init__(
        self, call: Callable[..., Any], model: torch.nn.Module, names: Sequence[str]
    ) -> None:
        super().__init__()
        self.model = model
        self._call_model = call
        self._names = tuple(names)

    def forward(self, *arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Call the model with the arguments by name."""
        found = self._call_model(self.model, **dict(zip(self._names, arguments, strict=True)))
        return tuple(_tensors(found))


def _tensors(found: Any) -> list[torch.Tensor]:
    if isinstance(found, torch.Tensor):
        return [found]
    if found is None or isinstance(found, bool | int | float | str):
        return []
    if hasattr(found, "layers") and hasattr(found, "get_seq_length"):
        return [item for layer in found.layers for item in (layer.keys, layer.values)]
    items = found.values() if isinstance(found, Mapping) else found
    return [tensor for item in items for tensor in _tensors(item)]


def export(
    module: torch.nn.Module,
    inputs: Mapping[str, torch.Tensor],
    path: Path,
    *,
    axes: Mapping[str, Axes] | None = None,
    opset: int = 18,
    dynamo: bool = True,
) -> None:
    """Write `path` by the newer exporter (`dynamo`) or that of TorchScript.

    Raises:
        Exception: whatever the exporter raises.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    module.eval()
    values = tuple(inputs.values())
    unknown = {name: dict((axes or {}).get(name, {})) for name in inputs}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if not dynamo:
            torch.onnx.export(
                module,
                values,
                str(path),
                input_names=list(inputs),
                dynamic_axes={name: dims for name, dims in unknown.items() if dims},
                opset_version=min(opset, 17),
                dynamo=False,
            )
            return
        shapes = tuple(
            dict.fromkeys(dims, torch.export.Dim.DYNAMIC) or None for dims in unknown.values()
        )
        torch.onnx.export(
            module,
            values,
            str(path),
            input_names=list(inputs),
            dynamic_shapes=(shapes,) if any(shapes) else None,
            opset_version=opset,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
