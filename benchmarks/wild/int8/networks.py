"""Writes networks in f32 and as NNCF quantises them, as IR and as ONNX: see `benchmarks.wild.int8`.

python -m benchmarks.wild.int8.networks FOLDER [--only TEXT]
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import nncf
import onnx
import openvino
import torch
import torchvision
from torch import nn
from transformers import AutoConfig, AutoModel

from benchmarks.wild.exporting import Wrapped, export

#: The sets of random inputs with which NNCF finds the ranges of values.
SETS = 8

Inputs = dict[str, torch.Tensor]


class Block(nn.Module):  # type: ignore[misc]  # torch is in another environment
    """A convolution with its normalisation and SiLU."""

    def __init__(self, before: int, after: int, size: int = 3, stride: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(before, after, size, stride, size // 2, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The activated result."""
        return nn.functional.silu(self.norm(self.convolution(x)))


class Stage(nn.Module):  # type: ignore[misc]
    """Half of the channels goes through two residual steps; all parts are joined, as in YOLO."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        half = after // 2
        self.first = Block(before, after, 1)
        self.steps = nn.ModuleList(
            nn.Sequential(Block(half, half), Block(half, half)) for _ in "12"
        )
        self.last = Block(half * 4, after, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The joined parts."""
        parts = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            parts.append(parts[-1] + step(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):  # type: ignore[misc]
    """Three scales of an image, pooled, resized and joined, with a head for each of two."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(Block(3, 16, 3, 2), Block(16, 32, 3, 2), Stage(32, 32))
        self.middle = nn.Sequential(Block(32, 64, 3, 2), Stage(64, 64))
        self.deep = nn.Sequential(Block(64, 128, 3, 2), Stage(128, 128))
        self.pooled = Block(128 * 3, 128, 1)
        self.joined = Stage(128 + 64, 64)
        self.heads = nn.ModuleList([nn.Conv2d(64, 84, 1), nn.Conv2d(128, 84, 1)])

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The results of both heads."""
        middle = self.middle(self.stem(x))
        deep = self.deep(middle)
        once = nn.functional.max_pool2d(deep, 5, 1, 2)
        twice = nn.functional.max_pool2d(once, 5, 1, 2)
        deep = self.pooled(torch.cat([deep, once, twice], 1))
        wide = nn.functional.interpolate(deep, scale_factor=2.0, mode="nearest")
        joined = self.joined(torch.cat([wide, middle], 1))
        return self.heads[0](joined), self.heads[1](deep)


def classifier(name: str) -> tuple[nn.Module, Callable[[], Inputs]]:
    """A network of torchvision for images."""
    return getattr(torchvision.models, name)(weights=None), partial(image, 224)


def encoder() -> tuple[nn.Module, Callable[[], Inputs]]:
    """A BERT of four layers."""
    sizes = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
    settings = AutoConfig.for_model("bert", **sizes, intermediate_size=1024, vocab_size=2000)
    model = AutoModel.from_config(settings, attn_implementation="eager")

    def draw() -> Inputs:
        ids = torch.randint(1, 2000, (1, 128))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    return Wrapped(_called, model, list(draw())), draw


def segmenter() -> tuple[nn.Module, Callable[[], Inputs]]:
    """The smallest SegFormer."""
    model = AutoModel.from_config(AutoConfig.for_model("segformer"))
    return Wrapped(_called, model, ["pixel_values"]), partial(image, 128, "pixel_values")


def _called(model: nn.Module, **named: torch.Tensor) -> Any:
    return model(**named)


def image(size: int, name: str = "x") -> Inputs:
    """A random image."""
    return {name: torch.rand(1, 3, size, size)}


NETWORKS: Mapping[str, Callable[[], tuple[nn.Module, Callable[[], Inputs]]]] = {
    "resnet18": partial(classifier, "resnet18"),
    "mobilenet_v3": partial(classifier, "mobilenet_v3_large"),
    "efficientnet_b0": partial(classifier, "efficientnet_b0"),
    "bert": encoder,
    "segformer": segmenter,
    "detector": lambda: (Detector(), partial(image, 256)),
}


def write(name: str, folder: Path) -> None:
    """Write `f32.onnx`, `int8.xml` and `peer.onnx`.

    Raises:
        Exception: whatever an exporter or NNCF raises.
    """
    torch.manual_seed(0)
    model, draw = NETWORKS[name]()
    _normalise(model, draw)
    export(model, draw(), folder / "f32.onnx", dynamo=False, opset=17)
    sets = [{key: value.numpy() for key, value in draw().items()} for _ in range(SETS)]
    kind = nncf.ModelType.TRANSFORMER if name in ("bert", "segformer") else None
    source = onnx.load(folder / "f32.onnx")
    # The exporter drops inputs that nothing reads.
    read = {port.name for port in source.graph.input}
    data = nncf.Dataset([{key: value for key, value in one.items() if key in read} for one in sets])
    quantise = partial(nncf.quantize, subset_size=SETS, model_type=kind)
    ir = quantise(openvino.convert_model(folder / "f32.onnx"), data)
    openvino.save_model(ir, folder / "int8.xml", compress_to_fp16=False)
    onnx.save(quantise(source, data), folder / "peer.onnx")


def _normalise(model: nn.Module, draw: Callable[[], Inputs]) -> None:
    """Take means and variances of random inputs, without which deep values vanish or overflow."""
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            # The mean of all runs.
            part.momentum = None
    model.train()
    with torch.no_grad():
        for _ in range(SETS):
            model(*draw().values())
    model.eval()


def main() -> None:
    """Write every network that is missing; print one line for each that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="part of a name such as resnet18")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    for name in NETWORKS:
        folder = options.folder / name
        if options.only not in name or (folder / "peer.onnx").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        try:
            write(name, folder)
        except Exception as error:
            print(f"{name}: not written: {' '.join(str(error).split())[:200]}", flush=True)


if __name__ == "__main__":
    main()
