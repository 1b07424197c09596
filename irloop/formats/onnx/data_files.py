"""Finds the names of the external data files of an ONNX model, without opening them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx

from irloop.formats.onnx.external import ExternalFiles, entries_of
from irloop.formats.onnx.source import load

__all__ = ["data_files"]


def data_files(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The locations of all external data in an .onnx file, as the file gives them.

    They may be hostile: absolute paths, or paths that leave the folder of the model.

    Raises:
        ReadError: when the file cannot be read or has another format.
    """
    file = Path(path)
    proto = load(file, ExternalFiles(file.parent))
    locations = {
        entries_of(tensor).get("location", "")
        for tensor in _tensors(proto)
        if tensor.data_location == onnx.TensorProto.EXTERNAL
    }
    return tuple(sorted(locations - {""}))


def _tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    nodes = [node for function in proto.functions for node in function.node]
    graphs = [proto.graph]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            yield from graph.initializer
            yield from _parts(graph.sparse_initializer)
            nodes += graph.node
            continue
        for attribute in nodes.pop().attribute:
            yield from (attribute.t, *attribute.tensors)
            yield from _parts((attribute.sparse_tensor, *attribute.sparse_tensors))
            graphs += [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _parts(tensors: Any) -> Iterator[onnx.TensorProto]:
    for tensor in tensors:
        yield from (tensor.values, tensor.indices)
