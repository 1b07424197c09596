"""Measures quantised networks before and after conversion, and prints the table.

    python -m benchmarks.wild.int8 FOLDER [--only TEXT] [--rounds 40] [--seconds 2]

The int8 IR of each network is converted to ONNX, and the peer's ONNX to IR. Engines have one
thread, the two models of a pair take turns, and the minima of processor time are compared. The
errors are the distances of the results from those in f32, relative to these, which tell whether a
conversion changed more than the quantisation did.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

import irloop
from benchmarks.wild.latency import Run, openvino_run, ort_run
from benchmarks.wild.loops.__main__ import minima

HEADS = (
    "network",
    "f32, ONNX Runtime",
    "irloop's ONNX / f32",
    "peer / f32",
    "irloop's ONNX / peer",
    "int8 IR / f32, OpenVINO",
    "irloop's IR of the peer / reader's, OpenVINO",
    "size: irloop's ONNX / f32",
    "errors: int8 IR, irloop's ONNX, peer, irloop's IR of the peer",
)


class Measured(NamedTuple):
    """The seconds in f32, the ratios of the columns, and the errors."""

    seconds: float
    ratios: list[float]
    errors: list[float]


def main() -> None:
    """Measure every network of the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="part of a name such as resnet18")
    parser.add_argument("--rounds", type=int, default=40, help="inferences of each model at least")
    parser.add_argument("--seconds", type=float, default=2, help="time for each pair")
    options = parser.parse_args()
    print(f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|")
    for peer in sorted(options.folder.glob("*/peer.onnx")):
        if options.only in peer.parent.name:
            found = measured(peer.parent, options.rounds, options.seconds)
            cells = [peer.parent.name, f"{found.seconds * 1e3:.1f} ms"]
            cells += [f"{ratio:.2f}" for ratio in found.ratios]
            cells.append(", ".join(f"{error:.3f}" for error in found.errors))
            print(f"| {' | '.join(cells)} |", flush=True)


def measured(folder: Path, rounds: int, seconds: float) -> Measured:
    """Convert the models of a network, and measure the pairs."""
    paths = {name: folder / name for name in ("f32.onnx", "int8.xml", "peer.onnx")}
    paths |= {"back.onnx": folder / "back.onnx", "there.xml": folder / "there.xml"}
    irloop.save_model(irloop.convert(paths["int8.xml"])[0], paths["back.onnx"])
    irloop.save_model(irloop.convert(paths["peer.onnx"])[0], paths["there.xml"])
    inputs = inputs_of(onnx.load(paths["f32.onnx"]))
    f32, ours, peer = (
        ort_run(paths[name], inputs) for name in ("f32.onnx", "back.onnx", "peer.onnx")
    )
    plain, quantised, there, reader = (
        openvino_run(paths[name], inputs)
        for name in ("f32.onnx", "int8.xml", "there.xml", "peer.onnx")
    )
    pairs = ((f32, ours), (f32, peer), (peer, ours), (plain, quantised), (reader, there))
    times = [minima(*pair, rounds, seconds) for pair in pairs]
    ratios = [after / before for before, after in times]
    ratios.append(paths["back.onnx"].stat().st_size / paths["f32.onnx"].stat().st_size)
    wanted = _results(f32)
    errors = [_distance(_results(run), wanted) for run in (quantised, ours, peer, there)]
    return Measured(times[0][0], ratios, errors)


def inputs_of(model: onnx.ModelProto) -> dict[str, Any]:
    """A random image, or ids of words with a mask of ones."""
    draw, found = np.random.default_rng(0), {}
    for port in model.graph.input:
        tensor = port.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.INT64:
            is_mask = "mask" in port.name
            found[port.name] = np.ones(shape, int) if is_mask else draw.integers(1, 2000, shape)
        else:
            found[port.name] = np.asarray(draw.random(shape), np.float32)
    return found


def _results(run: Run) -> Any:
    results = run()
    values = results if isinstance(results, list) else list(results.values())
    return np.concatenate([np.ravel(value) for value in values])


def _distance(results: Any, wanted: Any) -> float:
    """The length of the difference, relative to what is wanted."""
    return float(np.linalg.norm(results - wanted) / np.linalg.norm(wanted))


if __name__ == "__main__":
    main()
