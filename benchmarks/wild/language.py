"""Language models of transformers: encoders, decoders with and without a cache, both together."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    DynamicCache,
)

from benchmarks.wild.exporting import Recipe, Wrapped, export, small

__all__ = ["RECIPES"]

ENCODERS = [
    "albert",
    "bert",
    "big_bird",
    "camembert",
    "convbert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "ernie",
    "esm",
    "fnet",
    "funnel",
    "ibert",
    "layoutlm",
    "longformer",
    "megatron-bert",
    "mobilebert",
    "modernbert",
    "mpnet",
    "mra",
    "nystromformer",
    "rembert",
    "roberta",
    "roformer",
    "squeezebert",
    "xlm-roberta",
    "xlnet",
]
DECODERS = [
    "bloom",
    "codegen",
    "cohere",
    "falcon",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "granite",
    "llama",
    "mamba",
    "mistral",
    "mixtral",
    "mpt",
    "nemotron",
    "olmo",
    "olmo2",
    "opt",
    "persimmon",
    "phi",
    "phi3",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "smollm3",
    "stablelm",
    "starcoder2",
    "xglm",
]
CACHED = ["gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "phi3", "gpt_neox", "opt"]
BOTH = [
    "bart",
    "blenderbot",
    "longt5",
    "m2m_100",
    "marian",
    "mbart",
    "mt5",
    "pegasus",
    "prophetnet",
    "t5",
    "umt5",
]

#: What a configuration needs besides small sizes.
OTHERS: dict[str, dict[str, Any]] = {
    "convbert": {"embedding_size": 32},
    "deberta-v2": {"position_biased_input": True},
    "esm": {"position_embedding_type": "rotary"},
    "funnel": {"block_sizes": [1, 1], "d_inner": 64, "d_head": 8},
    "mobilebert": {"intra_bottleneck_size": 32},
    "rembert": {"input_embedding_size": 32, "output_embedding_size": 32},
    "mpt": {"max_seq_len": 64},
    "falcon": {"new_decoder_architecture": False, "multi_query": True},
    "mixtral": {"num_local_experts": 4},
    "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 32},
    "persimmon": {"num_key_value_heads": 4},
}

SEQUENCE = {0: "batch", 1: "length"}


def config(kind: str) -> Any:
    """A small configuration of this type, with attention that both exporters know."""
    return small(AutoConfig.for_model(kind), **OTHERS.get(kind, {}))


def ids(batch: int = 2, length: int = 8) -> torch.Tensor:
    """Ids of tokens below every vocabulary."""
    return torch.randint(3, 90, (batch, length), generator=torch.Generator().manual_seed(0))


def _plain(model: torch.nn.Module, **arguments: torch.Tensor) -> Any:
    return model(**arguments)


def _uncached(model: torch.nn.Module, **arguments: torch.Tensor) -> Any:
    return model(**arguments, use_cache=False)


def _with_cache(
    model: torch.nn.Module,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    **past: torch.Tensor,
) -> Any:
    items = list(past.values())
    cache = DynamicCache()
    for layer in range(len(items) // 2):
        cache.update(items[2 * layer], items[2 * layer + 1], layer)
    return model(
        input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True
    )


def encoder(kind: str, path: Path, dynamo: bool) -> None:
    """Hidden states from ids and a mask."""
    model = AutoModel.from_config(config(kind))
    given = {"input_ids": ids(), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    if kind == "fnet":
        del given["attention_mask"]
    axes = dict.fromkeys(given, SEQUENCE)
    export(Wrapped(_plain, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def decoder(kind: str, path: Path, dynamo: bool) -> None:
    """Logits from ids and a mask."""
    model = AutoModelForCausalLM.from_config(config(kind))
    given = {"input_ids": ids(), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    axes = dict.fromkeys(given, SEQUENCE)
    export(Wrapped(_uncached, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def cached(kind: str, path: Path, dynamo: bool) -> None:
    """Logits and the next cache from ids, a mask of all tokens, and the cache."""
    settings = config(kind)
    model = AutoModelForCausalLM.from_config(settings)
    heads = getattr(settings, "num_key_value_heads", None) or settings.num_attention_heads
    size = getattr(settings, "head_dim", None) or (
        settings.hidden_size // settings.num_attention_heads
    )
    given = {"input_ids": ids(2, 2), "attention_mask": torch.ones(2, 7, dtype=torch.int64)}
    axes: dict[str, dict[int, str]] = {
        "input_ids": SEQUENCE,
        "attention_mask": {0: "batch", 1: "total"},
    }
    for layer in range(settings.num_hidden_layers):
        for part in ("key", "value"):
            name = f"past_key_values.{layer}.{part}"
            given[name] = torch.randn(2, heads, 5, size)
            axes[name] = {0: "batch", 2: "past"}
    export(Wrapped(_with_cache, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def both(kind: str, path: Path, dynamo: bool) -> None:
    """Logits of a decoder from the ids of both sides."""
    model = AutoModelForSeq2SeqLM.from_config(config(kind))
    given = {
        "input_ids": ids(),
        "attention_mask": torch.ones(2, 8, dtype=torch.int64),
        "decoder_input_ids": ids(2, 5),
    }
    axes = {**dict.fromkeys(given, SEQUENCE), "decoder_input_ids": {0: "batch", 1: "written"}}
    export(Wrapped(_uncached, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def _recipes() -> dict[str, Recipe]:
    families = {"encoder": ENCODERS, "decoder": DECODERS, "decoder-cache": CACHED, "seq2seq": BOTH}
    write = {"encoder": encoder, "decoder": decoder, "decoder-cache": cached, "seq2seq": both}
    return {
        f"transformers-{family}/{kind}-{exporter}": partial(
            write[family], kind, dynamo=exporter == "dynamo"
        )
        for family, kinds in families.items()
        for kind in kinds
        for exporter in ("script", "dynamo")
    }


RECIPES: dict[str, Recipe] = _recipes()
