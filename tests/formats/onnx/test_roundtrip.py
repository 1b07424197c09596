"""A model that is read, written and read again has the same graph, names, metadata and numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from benchmarks.cases import CorpusCase, corpus_cases, differences
from irloop.errors import WriteError
from irloop.execution.session import Session
from irloop.formats.onnx import reader, writer
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.verify import verify
from tests.archives import unpacked

CASES = list(corpus_cases(unpacked("loops"), ["onnx"]))


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


@pytest.mark.slow
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_loops_survive(case: CorpusCase, tmp_path: Path) -> None:
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    # The declarations in the file may be wrong, but engines ignore them.
    writer.write(case.read(), first, check=False)
    once = reader.read(first)
    verify(once.graph)
    writer.write(once, second, check=False)
    assert second.read_bytes() == first.read_bytes()
    session = Session(once)
    for _, inputs, expected in case.sets():
        assert differences(expected, case.run(session, once, inputs)) == ""


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
