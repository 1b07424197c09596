"""Optimises and quantises exports by ONNX Runtime's own tools: see `benchmarks.wild`.

python -m benchmarks.wild.quantised FOLDER [--only TEXT]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

#: The families whose models are optimised and quantised.
FAMILIES = [
    "transformers-encoder",
    "transformers-decoder",
    "transformers-decoder-cache",
    "transformers-seq2seq",
    "transformers-vision",
    "transformers-speech",
    "torchvision",
]
#: The type of a model for the optimiser of transformers; other models are optimised as bert.
TYPES = {"gpt2": "gpt2", "t5": "t5", "bart": "bart", "vit": "vit", "clip": "clip"}
TYPES |= {"unet": "unet", "phi": "phi"}


class Calibration:
    """Two sets of random inputs for the static quantiser."""

    def __init__(self, model: Path) -> None:
        import irloop

        self._sets: Iterator[Any] = iter(
            [irloop.random_inputs(model, seed=seed) for seed in range(2)]
        )

    def get_next(self) -> Any:
        """The next set by name, or None."""
        return next(self._sets, None)

    def set_range(self, start_index: int, end_index: int) -> None:
        """Ignored: there are few sets."""


def fused(source: Path, target: Path) -> None:
    """The optimiser of onnxruntime.transformers."""
    from onnxruntime.transformers import optimizer

    kind = TYPES.get(source.stem.split("-")[0], "bert")
    model = optimizer.optimize_model(
        str(source), model_type=kind, num_heads=4, hidden_size=32, opt_level=0
    )
    model.save_model_to_file(str(target))


def by_session(source: Path, target: Path) -> None:
    """The optimisations that a session of ONNX Runtime makes on any CPU, saved."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(target)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def dynamic(source: Path, target: Path) -> None:
    """Weights in 8 bits, activations quantised at run time."""
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(source, target)


def static(source: Path, target: Path, form: str) -> None:
    """Weights and activations in 8 bits, as QDQ or as operators on integers."""
    from onnxruntime.quantization import QuantFormat, quantize_static

    found = getattr(QuantFormat, form)
    quantize_static(str(source), str(target), Calibration(source), quant_format=found)


def four_bits(source: Path, target: Path) -> None:
    """Weights in blocks of 4 bits."""
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantiser = MatMulNBitsQuantizer(
        onnx.load(source), block_size=16, is_symmetric=False, accuracy_level=1
    )
    quantiser.process()
    quantiser.model.save_model_to_file(str(target), False)


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "ort-fused": fused,
    "ort-session": by_session,
    "ort-dynamic": dynamic,
    "ort-qdq": partial(static, form="QDQ"),
    "ort-qoperator": partial(static, form="QOperator"),
    "ort-4bit": four_bits,
}


def main() -> None:
    """Write every model that is missing; print one line for each way that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="part of a name such as ort-fused/bert")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    np.random.default_rng(0)
    sources = [path for name in FAMILIES for path in sorted(options.folder.glob(f"{name}/*.onnx"))]
    for way, write in WAYS.items():
        for source in sources:
            name = f"{way}/{source.parent.name.removeprefix('transformers-')}-{source.stem}"
            target = options.folder / f"{name}.onnx"
            note = target.with_suffix(".failed")
            chosen = not options.only or any(text in name for text in options.only)
            if not chosen or target.exists() or note.exists():
                continue
            target.parent.mkdir(exist_ok=True)
            reason = _written(write, source, target)
            if reason:
                target.unlink(missing_ok=True)
                note.write_text(reason)
                print(f"{name}: not written: {reason[-160:]}", flush=True)


def _written(write: Callable[[Path, Path], None], source: Path, target: Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            write(source, target)
        except Exception as error:
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
    return ""


if __name__ == "__main__":
    main()
