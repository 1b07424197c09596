"""Reads a document of versions 2 to 7 into a model of the OpenVINO dialect.

The model has version 11 and operations of opset1 to opset8. Its outputs are called as the engine of
2020 called them: by the name of the layer, or by ``layer.1`` if the layer has several outputs.
"""

from __future__ import annotations

import os

from irloop.formats.openvino.document import Document
from irloop.formats.openvino.legacy.net import LegacyNet
from irloop.formats.openvino.legacy.notes import notes_of
from irloop.formats.openvino.legacy.steps import Steps
from irloop.formats.openvino.markup import text_of_extras
from irloop.formats.openvino.reader_state import Shared
from irloop.formats.openvino.weights import Weights
from irloop.graph.model import Graph, Model

__all__ = ["read_legacy"]


def read_legacy(document: Document, weights: str | os.PathLike[str]) -> Model:
    """Build the model from a parsed document of versions 2 to 7.

    Raises:
        ReadError: when the document is not valid, or has a layer that irloop does not convert.
    """
    shared = Shared(document, Weights(weights, document.file), has_info=False)
    steps = Steps(Graph(document.name or ""))
    graph = LegacyNet(shared, document.net, steps, document.precision).graph(document.name or "")
    kept = [section for section in document.net.sections if section.tag == "meta_data"]
    metadata = {"meta_data": text_of_extras(kept)} if kept else {}
    model = Model(graph, "openvino", 11, metadata=metadata, source=document.file)
    model.notes = notes_of(document)
    return model
