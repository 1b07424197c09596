"""Measures three pairs for every loop program, and prints the table: see `benchmarks.wild.loops`.

    python -m benchmarks.wild.loops [--only TEXT] [--rounds 60] [--seconds 1]

The pairs are: the ONNX model that irloop writes back from its IR, to the original, in ONNX Runtime;
irloop's IR to the IR of OpenVINO's own reader, in OpenVINO; the IR by way of ONNX to the IR, in
OpenVINO. Engines have one thread, the two models of a pair take turns, and the minima of processor
time are compared. Layers are counted in all bodies of the two IR. Every program is first checked:
the four models must agree with the original.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import onnx
from onnx import parser

import irloop
from benchmarks.wild.latency import Run, in_turns, openvino_run, ort_run
from benchmarks.wild.loops import changing, numeric, recurrent, tables

PROGRAMS: Mapping[str, str] = {
    **numeric.PROGRAMS,
    **recurrent.PROGRAMS,
    **tables.PROGRAMS,
    **changing.PROGRAMS,
}
#: Sizes by the names that texts use: steps T, elements D, twice and four times D, T + 4, a limit.
#: The lower ones are sizes that a program learns at run time.
SIZES = {
    "small": {
        "T": 12,
        "D": 8,
        "E": 16,
        "F": 32,
        "W": 16,
        "L": 400,
        "t": 12,
        "b": 2,
        "d": 8,
    },
    "large": {
        "T": 100,
        "D": 32,
        "E": 64,
        "F": 128,
        "W": 104,
        "L": 2000,
        "t": 100,
        "b": 2,
        "d": 32,
    },
}
#: A shorter inference says more about the call than about the loop.
SHORTEST = 50e-6
HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
PAIRS = (
    "ONNX back / original, ONNX Runtime",
    "irloop's IR / the reader's, OpenVINO",
    "IR by way of ONNX / IR, OpenVINO",
)


class Measured(NamedTuple):
    """The seconds of both models for each pair, and the numbers of layers of the two IR.

    `reader` says why there is no second pair: OpenVINO's reader refuses the program, or computes
    other numbers. Its layers are not counted then.
    """

    pairs: list[tuple[float, float] | None]
    layers: tuple[int, int]
    reader: str = ""


def main() -> int:
    """Measure every program in both sizes; returns 1 if one gives other numbers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="part of a name such as dtw")
    options.add_argument("--rounds", type=int, default=60, help="inferences of each model at least")
    options.add_argument("--seconds", type=float, default=1, help="time for each pair")
    given = options.parse_args()
    found: dict[str, Measured] = {}
    wrong = 0
    for name, model, inputs in models(given.only):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[name] = measured(model, inputs, Path(folder), given.rounds, given.seconds)
            except (irloop.errors.IrloopError, AssertionError, RuntimeError) as error:
                print(f"{name}: {' '.join(str(error).split())[:200]}", flush=True)
                wrong += 1
                continue
        one = found[name]
        ratios = " ".join(f"{pair[1] / pair[0]:5.2f}" if pair else "    -" for pair in one.pairs)
        print(f"{ratios}  {one.layers}  {name}  {one.reader}", flush=True)
    _print_table(found)
    return int(wrong > 0)


def models(only: str) -> Iterator[tuple[str, onnx.ModelProto, dict[str, Any]]]:
    """Yield the programs whose name contains `only`, in every size, with inputs."""
    for name, text in PROGRAMS.items():
        for size, numbers in SIZES.items():
            whole = f"{name}, {size}"
            if only in whole:
                model = parser.parse_model(HEADER + Template(text).substitute(numbers))
                yield whole, model, inputs_of(model, numbers)


def inputs_of(model: onnx.ModelProto, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Any]:
    """Random inputs: small normal numbers, and integers from 1 to 60.

    `sizes` has the sizes that a program learns at run time, by their names.
    """
    draw, found = np.random.default_rng(seed), {}
    for port in model.graph.input:
        tensor = port.type.tensor_type
        shape = [dim.dim_value or sizes[dim.dim_param] for dim in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.INT64:
            found[port.name] = draw.integers(1, 61, shape)
        else:
            found[port.name] = np.asarray(draw.standard_normal(shape) * 0.1, np.float32)
    return found


def measured(
    model: onnx.ModelProto, inputs: dict[str, Any], folder: Path, rounds: int, seconds: float
) -> Measured:
    """Convert a program there, back and there again, compare the numbers, and measure the pairs.

    Raises:
        AssertionError: when an engine gives other numbers than ONNX Runtime on the original.
    """
    import openvino

    paths = {name: folder / name for name in ("a.onnx", "b.xml", "c.onnx", "d.xml", "reader.xml")}
    onnx.save(model, paths["a.onnx"])
    for source, target in (("a.onnx", "b.xml"), ("b.xml", "c.onnx"), ("c.onnx", "d.xml")):
        irloop.save_model(irloop.convert(paths[source])[0], paths[target])
    original, back = (ort_run(paths[name], inputs) for name in ("a.onnx", "c.onnx"))
    there, again = (openvino_run(paths[name], inputs) for name in ("b.xml", "d.xml"))
    wanted = original()
    for run in (back, there, again):
        _compare(run(), wanted)
    pairs = [minima(original, back, rounds, seconds), None, minima(there, again, rounds, seconds)]
    layers = layers_of(paths["b.xml"])
    try:
        reader = openvino.convert_model(paths["a.onnx"])
        openvino.save_model(reader, paths["reader.xml"], compress_to_fp16=False)
        theirs = openvino_run(paths["reader.xml"], inputs)
        _compare(theirs(), wanted)
    except AssertionError:
        return Measured(pairs, (layers, 0), "the reader's IR gives other numbers")
    except Exception:  # of several kinds, as operations and bodies are refused in several places
        return Measured(pairs, (layers, 0), "the reader refuses it")
    pairs[1] = minima(theirs, there, rounds, seconds)
    return Measured(pairs, (layers, layers_of(paths["reader.xml"])))


def _compare(results: Any, wanted: Sequence[Any]) -> None:
    values = results if isinstance(results, list) else list(results.values())
    for result, right in zip(values, wanted, strict=True):
        np.testing.assert_allclose(result, right, 1e-3, 1e-4)


def minima(first: Run, second: Run, rounds: int, seconds: float) -> tuple[float, float]:
    """The shortest times of two models that take turns."""
    before, after = in_turns(first, second, rounds, seconds)
    return min(before), min(after)


def layers_of(path: Path) -> int:
    """The number of layers of an IR and of all bodies, without inputs, outputs and constants."""
    plain = ("Parameter", "Result", "Const")
    tree = ElementTree.parse(path)  # noqa: S314 (written a moment ago)
    return sum(layer.get("type") not in plain for layer in tree.iter("layer"))


def _print_table(found: Mapping[str, Measured]) -> None:
    print("\n| pair | programs | median | worst above 50 us |\n|---|---|---|---|")
    for at, pair in enumerate(PAIRS):
        timed = [(name, one.pairs[at]) for name, one in found.items()]
        rows = [(pair[1] / pair[0], pair[0], name) for name, pair in timed if pair]
        if not rows:
            continue
        long = sorted((ratio, name) for ratio, before, name in rows if before >= SHORTEST)[::-1]
        worst = "; ".join(f"{name} {ratio:.2f}" for ratio, name in long[:4])
        print(f"| {pair} | {len(rows)} | {statistics.median(r[0] for r in rows):.2f} | {worst} |")
    read = [one.layers for one in found.values() if not one.reader]
    ours, theirs = (sum(layers[at] for layers in read) for at in (0, 1))
    print(f"\nLayers: {ours} in irloop's IR, {theirs} in the reader's.")


if __name__ == "__main__":
    raise SystemExit(main())
