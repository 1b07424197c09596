"""Models for the tests of pages."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import irloop
from irloop.formats.onnx import reader as onnx_reader

__all__ = ["counting", "embedded", "long_chain", "read", "saved"]


def counting(folder: Path, name: str = "acc") -> Path:
    """A model with a Loop whose state is the sum of the iteration numbers and of w, elementwise."""
    body = helper.make_graph(
        [
            helper.make_node("Cast", ["i"], ["step"], to=TensorProto.FLOAT, name="to_float"),
            helper.make_node("Add", [name, "step"], ["moved"], name="move"),
            helper.make_node("Add", ["moved", "w"], ["next"], name="next_node"),
            helper.make_node("Identity", ["go"], ["going"], name="keep"),
            helper.make_node("Identity", ["next"], ["seen"], name="watch"),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("seen", TensorProto.FLOAT, [2]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "x"], ["last", "all"], name="count", body=body)],
        "counting",
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("last", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("all", TensorProto.FLOAT, [None, 2]),
        ],
        [helper.make_tensor("w", TensorProto.FLOAT, [2], [10.0, np.nan])],
    )
    return saved(graph, folder / "counting.onnx")


def long_chain(folder: Path, length: int) -> Path:
    """A model with a chain of `length` additions."""
    nodes = [
        helper.make_node("Add", [f"v{at}", "v0"], [f"v{at + 1}"], name=f"add_{at}")
        for at in range(length)
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info(f"v{length}", TensorProto.FLOAT, [2])],
    )
    return saved(graph, folder / "chain.onnx")


def saved(graph: onnx.GraphProto, path: Path) -> Path:
    """Write a graph as a model, and return the path."""
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def read(path: Path) -> irloop.Model:
    """Read a model and infer its types."""
    model = onnx_reader.read(path)
    irloop.infer(model)
    return model


def embedded(text: str) -> Any:
    """The data that a page contains."""
    found = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', text)
    assert found is not None
    return json.loads(gzip.decompress(base64.b64decode(found[1], validate=True)))
