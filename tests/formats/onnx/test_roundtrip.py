"""A model that is read, written and read again has the same graph, names, metadata and numbers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irloop.errors import ReadError, WriteError
from irloop.formats.onnx import reader, writer
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.verify import verify

CORPUS = Path(__file__).resolve().parents[3].parent / "shared" / "corpus"
CASES = sorted(path.parent for path in CORPUS.glob("*/*/model.onnx"))
needs_corpus = pytest.mark.skipif(not CASES, reason="the corpus ../shared/corpus is not here")


def lines(graph: Graph, values: dict[Value, int], depth: int = 0) -> Iterator[str]:
    """The graph as text, with numbers instead of objects, and with everything that a file can
    contain.
    """
    pad = "  " * depth
    for value in graph.inputs:
        values[value] = len(values)
        yield f"{pad}in {value.names} {value.type} {dict(value.info)}"
    for node in graph.nodes:
        yield f"{pad}{described(node, values)}"
        for value in node.outputs:
            values[value] = len(values)
            yield f"{pad}  -> {value.names} {value.type} {dict(value.info)}"
        for body in node.bodies:
            yield f"{pad}  {body.label} {body.ports}"
            yield from lines(body.graph, {}, depth + 2)
    for result in graph.results:
        (given,) = result.inputs
        assert given is not None
        yield f"{pad}out {result.name} {values[given]}"


def described(node: Node, values: dict[Value, int]) -> str:
    inputs = [None if value is None else values[value] for value in node.inputs]
    what: Any = node.op
    if isinstance(node.op, Constant):
        what = (node.op.tensor.type, bytes(node.op.tensor.raw()))
    return f"{node.name} {what} {inputs} {dict(node.attributes)} {dict(node.info)}"


def text(model: Model) -> list[str]:
    head = [f"{model.version} {model.opsets} {model.metadata} {model.graph.name}"]
    return head + list(lines(model.graph, {}))


def written_and_read(model: Model, folder: Path) -> Model:
    path = folder / "written.onnx"
    writer.write(model, path)
    again = reader.read(path)
    verify(again.graph)
    return again


@cache
def backend_models() -> dict[str, onnx.ModelProto]:
    with warnings.catch_warnings():
        # The generators of some cases overflow.
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        cases = load_model_tests(kind="node")
        return {case.name: case.model for case in cases if case.model is not None}


def test_every_backend_node_model_survives(tmp_path: Path) -> None:
    refused = []
    for name, proto in backend_models().items():
        model = reader.from_proto(proto)
        verify(model.graph)
        try:
            again = written_and_read(model, tmp_path)
        except WriteError:
            refused.append(name)
            continue
        assert text(again) == text(model), name
    for name in refused:
        # These are only models that the checker also refuses in their original form.
        with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
            onnx.checker.check_model(backend_models()[name], full_check=True)


@needs_corpus
@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_corpus_survives(case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # onnxruntime refuses opsets that are newer than itself unless this is disabled.
    monkeypatch.setenv("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")
    runs = json.loads((case / "meta.json").read_text())["runs"].get("ort", [])
    try:
        model = reader.read(case / "model.onnx")
    except ReadError:
        assert "ok" not in runs, "onnxruntime reads it"
        return
    verify(model.graph)
    # The declarations in the file may be wrong, but engines ignore them.
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    writer.write(model, first, check=False)
    once = reader.read(first)
    writer.write(once, second, check=False)
    assert second.read_bytes() == first.read_bytes()
    assert names(once) == names(model)
    for number, status in enumerate(runs if is_valid(case / "model.onnx") else ()):
        inputs = case / f"inputs_{number}.npz"
        if status == "ok" and inputs.exists() and number < 2:
            same_numbers(case / "model.onnx", first, inputs)


def names(model: Model) -> tuple[list[str], list[str]]:
    inputs = [node.name for node in model.graph.parameters]
    return inputs, [node.name for node in model.graph.results]


def feed(session: Any, data: Any) -> dict[str, Any]:
    feeds: dict[str, Any] = {}
    for index, item in enumerate(session.get_inputs()):
        key = f"in{index}"
        if f"{key}__seq_len" in data:
            count = int(data[f"{key}__seq_len"])
            feeds[item.name] = [data[f"{key}__seq_{number}"] for number in range(count)]
        elif key in data:
            array = data[key]
            feeds[item.name] = array.astype(object) if array.dtype.kind == "U" else array
        elif f"{key}__none" in data:
            feeds[item.name] = None
    return feeds


def is_valid(path: Path) -> bool:
    try:
        onnx.checker.check_model(path)
    except onnx.checker.ValidationError:
        return False
    return True


def same_numbers(before: Path, after: Path, inputs: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    results = []
    for path in (before, after):
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        with np.load(inputs) as data:
            results.append(session.run(None, feed(session, data)))
    assert len(results[0]) == len(results[1])
    for left, right in zip(*results, strict=True):
        same_value(left, right)


def same_value(left: Any, right: Any) -> None:
    if isinstance(left, list):
        assert len(left) == len(right)
        for pair in zip(left, right, strict=True):
            same_value(*pair)
        return
    if left is None:
        assert right is None
        return
    np.testing.assert_array_equal(left, right)
    assert np.asarray(left).dtype == np.asarray(right).dtype


def test_an_output_may_be_called_as_a_node(tmp_path: Path) -> None:
    """The second output needs an Identity, and ONNX Runtime refuses two nodes with the same
    name.
    """
    onnxruntime = pytest.importorskip("onnxruntime")
    text = """<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y, float[2] z) { [z] y = Neg (x) z = Identity (y) }"""
    proto = onnx.parser.parse_model(text)
    assert proto.graph.node[0].name == "z"
    model = reader.from_proto(proto)
    node, identity = model.graph.nodes
    Rewriter(model.graph).replace_node(identity, node.outputs)
    writer.write(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    found = session.run(None, {"x": np.array([1, -2], np.float32)})
    assert [value.tolist() for value in found] == [[-1, 2], [-1, 2]]
