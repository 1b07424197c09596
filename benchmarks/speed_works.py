"""The works of ``python -m benchmarks``: what irloop and its peers do, and the goals."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from benchmarks.loop_speed import CARRIED, SCAN
from benchmarks.nets import NETS, inputs_of
from benchmarks.validate_speed import write_model
from irloop.execution.session import Session
from irloop.formats.onnx import reader

__all__ = ["Sizes", "Work", "works"]

Array = np.ndarray[Any, np.dtype[Any]]
Calls = dict[str, Callable[[], object]]

#: The nets of matrix products, with a goal of their own.
_MATRIX_NETS = {"bert_layers", "gpt2_layers"}
RECURRENT = Path(__file__).resolve().parents[1] / "tests/fixtures/models/recurrent/model.xml"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the works that are measured by size."""

    layers: int = 20_000
    megabytes: int = 1000
    iterations: int = 5000
    many_layers: int = 200_000
    models: int = 1000


@dataclass(frozen=True, slots=True)
class Work:
    """One line of the table. `prepare(folder)` gives a call for irloop and one for each peer.

    `goals` are the largest ratios to a peer that are wanted, `rounds` the most rounds.
    """

    group: str
    name: str
    goals: dict[str, float]
    prepare: Callable[[Path], Calls]
    rounds: int = 100


def works(sizes: Sizes) -> Iterator[Work]:
    """All works, in the order of the table."""
    for name in NETS:
        goal = 1.5 if name in _MATRIX_NETS else 2.5
        yield Work("run", name, {"onnxruntime": goal}, partial(_net, name))
    goals = {"numpy": 1.1, "onnxruntime": 2.0}
    yield Work("run", "step of a Loop of 5 operations", goals, lambda _: _loop(sizes.iterations))
    scan = {"onnxruntime": 1.0}
    yield Work("run", "step of a Scan, LSTM 64 -> 256", scan, lambda _: _scan(sizes.iterations))
    yield Work("convert", "small model, whole process", {"imports": 1.3}, _small, 15)
    yield Work("convert", "small model, --check, no engines", {"imports": 2.0}, _checked, 15)
    peer = {"openvino": 0.5}
    layers = f"{sizes.layers} layers"
    yield Work("convert", f"{layers}, IR to ONNX", peer, lambda at: _layers(at, sizes, ".onnx"), 3)
    yield Work("convert", f"{layers}, ONNX to IR", peer, lambda at: _layers(at, sizes, ".xml"), 3)
    weights = f"{sizes.megabytes} MB of weights"
    yield Work("convert", weights, {"cp": 1.3}, lambda at: _weights(at, sizes.megabytes), 3)
    # Two seconds, where the imports take 0.23.
    shared = f"{weights}, --weights share"
    yield Work("convert", shared, {"imports": 8.7}, lambda at: _shared(at, sizes.megabytes), 3)
    yield Work("validate", layers, {"lxml": 4.0}, lambda at: _validation(at, sizes.layers), 5)
    many = f"{sizes.many_layers} layers"
    yield Work("validate", many, {"lxml": 6.0}, lambda at: _validation(at, sizes.many_layers), 2)
    models = f"{sizes.models} small models"
    yield Work("validate", models, {}, lambda at: _many_models(at, sizes.models), 3)


def _peer(model: onnx.ModelProto) -> Any:
    ort: Any = onnxruntime  # the package does not declare its exports
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    text = model.SerializeToString()
    return ort.InferenceSession(text, options, providers=["CPUExecutionProvider"])


def _runs(model: onnx.ModelProto, given: dict[str, Array]) -> Calls:
    """Inferences of both, after a comparison of their outputs."""
    peer = _peer(model)
    own = Session(reader.from_proto(model))
    for wanted, found in zip(peer.run(None, given), own.run(given).values(), strict=True):
        scale = float(np.abs(wanted).max()) or 1.0
        np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-4)
    return {"irloop": lambda: own.run(given), "onnxruntime": lambda: peer.run(None, given)}


def _net(name: str, folder: Path) -> Calls:
    model = NETS[name]()
    return _runs(model, inputs_of(model))


def _loop(count: int) -> Calls:
    start = np.linspace(-1, 1, 4, dtype=np.float32)
    half = np.float32(0.5)

    def by_hand() -> Array:
        x = start
        for _ in range(count):
            x = (np.tanh(x * half + half) - x) * half
        return x

    model = onnx.parser.parse_model(CARRIED)
    calls = _runs(model, {"trip": np.array(count), "start": start})
    return {**calls, "numpy": by_hand}


def _scan(count: int) -> Calls:
    random = np.random.default_rng(0)

    def numbers(*shape: int) -> Array:
        return (random.standard_normal(shape) * 0.1).astype(np.float32)

    steps = max(1, count // 10)
    given = {"h0": numbers(1, 256), "c0": numbers(1, 256), "xs": numbers(steps, 1, 64)}
    given |= {"w": numbers(64, 1024), "r": numbers(256, 1024)}
    return _runs(onnx.parser.parse_model(SCAN), given)


def _process(*arguments: str) -> Callable[[], None]:
    """A call that runs a process, with the bytecode that an installed package has."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def call() -> None:
        subprocess.run(arguments, check=True, capture_output=True, env=environment)  # noqa: S603

    return call


def _converting(source: Path, target: Path, *options: str) -> Callable[[], None]:
    command = [sys.executable, "-m", "irloop", "convert", str(source), "-o", str(target)]
    return _process(*command, *options)


def _imports() -> Callable[[], None]:
    return _process(sys.executable, "-c", "import click, lxml.etree, numpy, onnx")


def _small(folder: Path) -> Calls:
    return {"irloop": _converting(RECURRENT, folder / "small.onnx"), "imports": _imports()}


def _checked(folder: Path) -> Calls:
    """A conversion whose result only irloop's own executor compares."""
    checking = _converting(RECURRENT, folder / "small.onnx", "--check", "--engines", "numpy")
    return {"irloop": checking, "imports": _imports()}


def _layers(folder: Path, sizes: Sizes, suffix: str) -> Calls:
    """The conversion of a chain of layers; OpenVINO converts ONNX to IR for both directions."""
    source = folder / "big.xml"
    write_model(source, sizes.layers)
    there = folder / "big.onnx"
    _converting(source, there)()
    program = "import sys, openvino as o; o.save_model(o.convert_model(sys.argv[1]), sys.argv[2])"
    peer = _process(sys.executable, "-c", program, str(there), str(folder / "peer.xml"))
    if suffix == ".onnx":
        return {"irloop": _converting(source, folder / "made.onnx"), "openvino": peer}
    return {"irloop": _converting(there, folder / "made.xml"), "openvino": peer}


def _weights(folder: Path, megabytes: int) -> Calls:
    """An ONNX model whose weights are in a file beside it, converted to IR."""
    side = 1024
    count = max(1, megabytes // 4)
    block = np.random.default_rng(1).random((side, side), np.float32)
    weights = folder / "weights.bin"
    with weights.open("wb") as file:
        for at in range(count):
            # Equal constants would be stored once, so no two of them have the same bytes.
            file.write((block + np.float32(at)).tobytes())
    tensors = []
    for at in range(count):
        tensor = TensorProto(name=f"w{at}", data_type=TensorProto.FLOAT, dims=[side, side])
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": weights.name, "offset": at * block.nbytes, "length": block.nbytes}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
    nodes = [
        helper.make_node("MatMul", [f"v{at}", f"w{at}"], [f"v{at + 1}"]) for at in range(count)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, side])
        for name in ("v0", f"v{count}")
    ]
    graph = helper.make_graph(nodes, "weights", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    source = folder / "weights.onnx"
    source.write_bytes(model.SerializeToString())
    own = _converting(source, folder / "made.xml")
    return {"irloop": own, "cp": _process("cp", str(weights), str(folder / "copy.bin"))}


def _shared(folder: Path, megabytes: int) -> Calls:
    """An IR converted to an ONNX model that points into the weights of the IR."""
    _weights(folder, megabytes)["irloop"]()
    own = _converting(folder / "made.xml", folder / "shared.onnx", "--weights", "share")
    return {"irloop": own, "imports": _imports()}


def _many_models(folder: Path, models: int) -> Calls:
    """Small models, one after the other in one process."""
    from lxml import etree

    from irloop.validation.engine import validate

    paths = [folder / f"{number}.xml" for number in range(models)]
    for path in paths:
        path.write_bytes(RECURRENT.read_bytes())
        path.with_suffix(".bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    return {
        "irloop": lambda: [validate(path) for path in paths],
        "lxml": lambda: [etree.parse(path) for path in paths],
    }


def _validation(folder: Path, layers: int) -> Calls:
    from lxml import etree

    from irloop.validation.engine import validate

    path = folder / "big.xml"
    write_model(path, layers)
    return {"irloop": lambda: validate(path), "lxml": lambda: etree.parse(path)}
