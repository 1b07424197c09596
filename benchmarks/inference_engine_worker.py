"""Runs IRs in the Inference Engine of OpenVINO 2021.4; jobs and answers are lines of JSON.

For Python 3.7 to 3.9 with openvino 2021.4.2, which cannot import irloop: this file imports nothing
of it. A job: {"model": path, "inputs": npz, "outputs": npz}; arrays are in0, in1, ... and out0,
out1, ... in the order in which the file lists Parameters and Results.
"""

from __future__ import annotations

import json
import os
import sys
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
from openvino.inference_engine import IECore

#: NumPy's types, keyed by the Inference Engine's names of the types that its CPU plugin accepts.
PRECISIONS = {
    "FP32": np.float32,
    "I8": np.int8,
    "U8": np.uint8,
    "BOOL": np.uint8,
    "I16": np.int16,
    "U16": np.uint16,
    "I32": np.int32,
    "I64": np.int64,
    "U64": np.uint64,
}

#: The types that a caller must pass instead of the others.
INSTEAD = {"FP16": "FP32", "BF16": "FP32", "FP64": "FP32", "U32": "I32"}


def border(path: str) -> tuple[list[str], list[str]]:
    """The engine's names of the inputs and outputs of a file, in the order of the file."""
    root = ET.parse(path).getroot()  # noqa: S314
    layers = {layer.attrib["id"]: layer for layer in root.iterfind("layers/layer")}
    sources = {
        (edge.get("to-layer"), edge.get("to-port")): (
            edge.attrib["from-layer"],
            edge.get("from-port"),
        )
        for edge in root.iterfind("edges/edge")
    }
    inputs, outputs = [], []
    for number, layer in layers.items():
        if layer.get("type") == "Parameter":
            inputs.append(layer.attrib["name"])
        if layer.get("type") == "Result":
            read = [port.get("id") for port in layer.iterfind("input/port")]
            made, port = sources[number, read[0]]
            ports = [item.get("id") for item in layers[made].iterfind("output/port")]
            suffix = "" if len(ports) == 1 else f".{ports.index(port)}"
            outputs.append(layers[made].attrib["name"] + suffix)
    return inputs, outputs


def run(core: Any, job: dict[str, str]) -> None:
    """Run one job and store its outputs."""
    model = job["model"]
    network = core.read_network(model=model, weights=model[: -len("xml")] + "bin")
    names, wanted = border(model)
    given = {}
    with np.load(job["inputs"]) as data:
        for at, name in enumerate(names):
            # The engine drops unread inputs.
            if name in network.input_info:
                info = network.input_info[name]
                info.precision = INSTEAD.get(info.precision, info.precision)
                given[name] = np.asarray(data[f"in{at}"]).astype(PRECISIONS[info.precision])
    # If the processor can, this runtime would compute in bf16.
    found = core.load_network(network, "CPU", {"ENFORCE_BF16": "NO"}).infer(given)
    # The engine returns scalars as lists of one number; the network has the right shape.
    shaped = [found[name].reshape(network.outputs[name].shape) for name in wanted]
    np.savez(job["outputs"], **{f"out{at}": value for at, value in enumerate(shaped)})


def main() -> None:
    """Answer every line of stdin."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the engine writes its own remarks to stdout
    core = IECore()
    for line in sys.stdin:
        answer: dict[str, Any] = {"ok": True}
        try:
            run(core, json.loads(line))
        except Exception as error:  # a refusal of the engine is an answer, not a failure of ours
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"[:2000]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
