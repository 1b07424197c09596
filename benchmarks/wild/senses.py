"""Models of images, speech and both: transformers, torchvision, diffusers, and an RNN-T decoder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModel, AutoModelForSpeechSeq2Seq

from benchmarks.wild.exporting import Recipe, Wrapped, export, small

__all__ = ["RECIPES"]

VISION = [
    "beit",
    "bit",
    "convnext",
    "convnextv2",
    "cvt",
    "data2vec-vision",
    "deit",
    "detr",
    "dinov2",
    "dpt",
    "efficientnet",
    "focalnet",
    "glpn",
    "levit",
    "mobilenet_v1",
    "mobilenet_v2",
    "mobilevit",
    "mobilevitv2",
    "poolformer",
    "pvt",
    "regnet",
    "resnet",
    "segformer",
    "siglip_vision_model",
    "clip_vision_model",
    "swin",
    "swin2sr",
    "swiftformer",
    "swinv2",
    "vit",
    "vit_mae",
    "vit_msn",
    "yolos",
    "rt_detr",
]
SPEECH = [
    "hubert",
    "sew",
    "unispeech",
    "unispeech-sat",
    "wav2vec2",
    "wavlm",
    "data2vec-audio",
    "wav2vec2-conformer",
]
CLASSIFIERS = [
    "alexnet",
    "convnext_tiny",
    "densenet121",
    "efficientnet_b0",
    "googlenet",
    "inception_v3",
    "maxvit_t",
    "mnasnet0_5",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "regnet_y_400mf",
    "resnet18",
    "shufflenet_v2_x0_5",
    "squeezenet1_1",
    "swin_t",
    "swin_v2_t",
    "vit_b_32",
]
DETECTORS = [
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fcos_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
]
SEGMENTERS = ["deeplabv3_mobilenet_v3_large", "fcn_resnet50", "lraspp_mobilenet_v3_large"]

BATCH = {0: "batch"}
OTHERS: dict[str, dict[str, Any]] = {
    "beit": {"image_size": 32, "patch_size": 8},
    "data2vec-vision": {"image_size": 32, "patch_size": 8},
    "efficientnet": {"image_size": 64, "width_coefficient": 0.3, "depth_coefficient": 0.3},
    "vit": {"image_size": 32, "patch_size": 8},
    "dpt": {"image_size": 32, "patch_size": 8, "backbone_out_indices": [0, 0, 1, 1]},
    "yolos": {"image_size": [64, 64]},
}


def _plain(model: torch.nn.Module, *arguments: torch.Tensor, **named: torch.Tensor) -> Any:
    return model(*arguments, **named)


def vision(kind: str, path: Path, dynamo: bool) -> None:
    """Features of an image."""
    settings = AutoConfig.for_model(kind)
    if kind not in ("swin", "swinv2", "swin2sr", "bit", "resnet", "regnet", "rt_detr", "detr"):
        small(settings, **OTHERS.get(kind, {}))
    for name, value in (("use_timm_backbone", False), ("use_pretrained_backbone", False)):
        if hasattr(settings, name):
            setattr(settings, name, value)
    model = AutoModel.from_config(settings)
    size = settings.image_size if isinstance(getattr(settings, "image_size", None), int) else 64
    given = {"pixel_values": torch.randn(1, 3, size, size)}
    axes = {"pixel_values": BATCH}
    export(Wrapped(_plain, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def speech(kind: str, path: Path, dynamo: bool) -> None:
    """Features of a signal."""
    settings = small(
        AutoConfig.for_model(kind),
        conv_dim=[32] * 7,
        num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4,
        num_feat_extract_layers=7,
        conv_kernel=[10, 3, 3, 3, 3, 2, 2],
        conv_stride=[5, 2, 2, 2, 2, 2, 2],
    )
    model = AutoModel.from_config(settings)
    given = {"input_values": torch.randn(2, 4000)}
    axes = {"input_values": {0: "batch", 1: "length"}}
    export(Wrapped(_plain, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def whisper(part: str, path: Path, dynamo: bool) -> None:
    """The encoder of Whisper, or its decoder on the states of the encoder."""
    settings = small(AutoConfig.for_model("whisper"))
    model = AutoModelForSpeechSeq2Seq.from_config(settings)
    if part == "encoder":
        given = {"input_features": torch.randn(1, settings.num_mel_bins, 60)}
        axes: dict[str, dict[int, str]] = {"input_features": BATCH}
        export(
            Wrapped(_plain, model.get_encoder(), list(given)), given, path, axes=axes, dynamo=dynamo
        )
        return

    def call(whole: Any, ids: torch.Tensor, states: torch.Tensor) -> Any:
        return whole(decoder_input_ids=ids, encoder_outputs=(states,), use_cache=False)

    given = {"ids": torch.randint(3, 90, (2, 4)), "states": torch.randn(2, 30, 32)}
    axes = {"ids": {0: "batch", 1: "length"}, "states": BATCH}
    export(Wrapped(call, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def torchvision_model(name: str, group: str, path: Path, dynamo: bool) -> None:
    """A classifier, segmenter or detector of torchvision on one image."""
    import torchvision

    own: dict[str, Any] = {"weights_backbone": None} if group else {}
    if name in ("googlenet", "inception_v3"):
        own = {"init_weights": False, "aux_logits": True}
    if group == "detection":
        # Random weights give low scores, and an empty result proves nothing. Scores of denormal
        # numbers prove nothing, either.
        threshold = "box_score_thresh" if "rcnn" in name else "score_thresh"
        kept = "box_detections_per_img" if "rcnn" in name else "detections_per_img"
        own |= {threshold: 1e-3, kept: 8}
    module = torchvision.models if not group else getattr(torchvision.models, group)
    model = getattr(module, name)(weights=None, **own)
    if group == "detection":
        given = {"image": torch.rand(3, 128, 160)}
        _spread(model.eval(), given["image"])

        def detect(whole: Any, image: torch.Tensor) -> Any:
            return whole([image])[0]

        # The traced sizes of anchors and images follow those of the image.
        axes = {"image": {1: "height", 2: "width"}}
        export(Wrapped(detect, model, ["image"]), given, path, axes=axes, dynamo=dynamo)
        return
    size = 299 if name == "inception_v3" else 224 if name in ("maxvit_t", "vit_b_32") else 64
    given = {"image": torch.rand(2, 3, size, size)}
    axes = {"image": BATCH}

    def call(whole: Any, image: torch.Tensor) -> Any:
        return whole(image)

    export(Wrapped(call, model, ["image"]), given, path, axes=axes, dynamo=dynamo)


def _spread(model: torch.nn.Module, image: torch.Tensor) -> None:
    """Scale the weights of each layer for results of variance 1.

    Random weights give every box the same score otherwise, and the order of the boxes is then not
    defined.
    """

    def scale(layer: Any, _given: Any, found: torch.Tensor) -> torch.Tensor:
        factor = float(found.std())
        if not factor > 0:
            return found
        layer.weight.data /= factor
        return found / factor

    layers = (torch.nn.Conv2d, torch.nn.ConvTranspose2d, torch.nn.Linear)
    hooks = [
        layer.register_forward_hook(scale) for layer in model.modules() if isinstance(layer, layers)
    ]
    with torch.no_grad():
        model([image])
    for hook in hooks:
        hook.remove()


def diffusion(name: str, path: Path, dynamo: bool) -> None:
    """A part of a diffusion pipeline."""
    import diffusers

    small_blocks: dict[str, Any] = {"block_out_channels": (32, 64), "layers_per_block": 1}
    x, time = torch.randn(1, 4, 16, 16), torch.tensor([7])
    axes: dict[str, dict[int, str]] = {"sample": {0: "batch", 2: "height", 3: "width"}}
    given = {"sample": x}
    if name == "unet":
        model = diffusers.UNet2DConditionModel(
            sample_size=16,
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            cross_attention_dim=32,
            attention_head_dim=8,
            **small_blocks,
        )
        given |= {"timestep": time, "encoder_hidden_states": torch.randn(1, 7, 32)}
        axes["encoder_hidden_states"] = {0: "batch", 1: "length"}
    elif name == "unet-unconditional":
        model = diffusers.UNet2DModel(
            sample_size=16,
            in_channels=4,
            out_channels=4,
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            **small_blocks,
        )
        given |= {"timestep": time}
    elif name == "dit":
        model = diffusers.DiTTransformer2DModel(
            num_attention_heads=4, attention_head_dim=8, num_layers=2, sample_size=16
        )
        given |= {"timestep": time, "class_labels": torch.tensor([3])}
        axes = {}
    else:
        whole = diffusers.AutoencoderKL(
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            **small_blocks,
        )
        model = whole.decoder if name == "vae-decoder" else whole.encoder
        if name == "vae-encoder":
            given = {"sample": torch.randn(1, 3, 32, 32)}
    export(Wrapped(_plain_positional, model, list(given)), given, path, axes=axes, dynamo=dynamo)


def _plain_positional(model: torch.nn.Module, **named: torch.Tensor) -> Any:
    return model(*named.values())


class Transducer(torch.nn.Module):  # type: ignore[misc]
    """A greedy RNN-T decoder: at most two tokens for each frame, in a loop of a loop."""

    def __init__(self, vocabulary: int = 12, size: int = 16) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, size)
        self.cell = torch.nn.LSTMCell(size, size)
        self.joint = torch.nn.Linear(2 * size, vocabulary)
        self.size = size

    def forward(self, frames: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The tokens of the frames [T, size], and the last state."""
        h = torch.zeros(1, self.size)
        c = torch.zeros(1, self.size)
        token = torch.zeros(1, dtype=torch.int64)
        found = torch.zeros(0, dtype=torch.int64)
        for t in range(frames.shape[0]):
            count = 0
            going = True
            while going and count < 2:
                next_h, next_c = self.cell(self.embedding(token), (h, c))
                logits = self.joint(torch.cat([frames[t : t + 1], next_h], 1))
                best = logits.argmax(1)
                going = bool((best > 0).all())
                if going:
                    h, c, token = next_h, next_c, best
                    found = torch.cat([found, best])
                count += 1
        return found, h


class Predictor(torch.nn.Module):  # type: ignore[misc]
    """The prediction network and the joint of an RNN-T, one step: what runtimes loop over."""

    def __init__(self, vocabulary: int = 12, size: int = 16) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, size)
        self.lstm = torch.nn.LSTM(size, size, 2)
        self.joint = torch.nn.Linear(2 * size, vocabulary)

    def forward(
        self, frames: torch.Tensor, tokens: torch.Tensor, h: torch.Tensor, c: torch.Tensor
    ) -> Any:
        """Logits [B, T, U, vocabulary] and the next state."""
        predicted, (h, c) = self.lstm(self.embedding(tokens).transpose(0, 1), (h, c))
        left = frames[:, :, None].expand(-1, -1, predicted.shape[0], -1)
        right = predicted.transpose(0, 1)[:, None].expand(-1, frames.shape[1], -1, -1)
        return self.joint(torch.relu(torch.cat([left, right], 3))), h, c


def rnnt(name: str, path: Path, dynamo: bool) -> None:
    """An RNN-T decoder: the greedy search as loops, or one step."""
    if name == "greedy":
        scripted = torch.jit.script(Transducer().eval())
        axes = {"frames": {0: "time"}}
        export(scripted, {"frames": torch.randn(6, 16)}, path, axes=axes, dynamo=False)
        return
    given = {
        "frames": torch.randn(2, 5, 16),
        "tokens": torch.randint(0, 12, (2, 3)),
        "h": torch.zeros(2, 2, 16),
        "c": torch.zeros(2, 2, 16),
    }
    axes = {
        "frames": {0: "batch", 1: "time"},
        "tokens": {0: "batch", 1: "written"},
        "h": {1: "batch"},
        "c": {1: "batch"},
    }
    export(Predictor(), given, path, axes=axes, dynamo=dynamo)


def _recipes() -> dict[str, Recipe]:
    def of(name: str, write: Any, *arguments: str) -> dict[str, Recipe]:
        return {
            f"{name}-{exporter}": partial(_keyed, write, arguments, exporter == "dynamo")
            for exporter in ("script", "dynamo")
        }

    found: dict[str, Recipe] = {}
    for kind in VISION:
        found |= of(f"transformers-vision/{kind}", vision, kind)
    for kind in SPEECH:
        found |= of(f"transformers-speech/{kind}", speech, kind)
    for part in ("encoder", "decoder"):
        found |= of(f"transformers-speech/whisper-{part}", whisper, part)
    for name in CLASSIFIERS:
        found |= of(f"torchvision/{name}", torchvision_model, name, "")
    for name in SEGMENTERS:
        found |= of(f"torchvision/{name}", torchvision_model, name, "segmentation")
    for name in DETECTORS:
        found |= of(f"torchvision-detection/{name}", torchvision_model, name, "detection")
    for name in ("unet", "unet-unconditional", "dit", "vae-decoder", "vae-encoder"):
        found |= of(f"diffusion/{name}", diffusion, name)
    found |= of("rnnt/step", rnnt, "step")
    found["rnnt/greedy-script"] = partial(_keyed, rnnt, ("greedy",), False)
    return found


def _keyed(write: Any, arguments: tuple[str, ...], dynamo: bool, path: Path) -> None:
    write(*arguments, path, dynamo=dynamo)


RECIPES: dict[str, Recipe] = _recipes()
