"""Reads an IR (.xml and .bin) into a model.

Ports and edges become positions of inputs and outputs, declared precisions and dimensions become
types, and bodies become graphs. As in OpenVINO's reader, the following is ignored: layers on which
neither a Result nor an Assign depends, the declarations of input ports, and, in version 10, runtime
information.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from irloop.files import ParsedOnce
from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Document
from irloop.formats.openvino.markup import text_of_extras
from irloop.formats.openvino.net import NetReader
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.formats.openvino.reader_state import Shared
from irloop.formats.openvino.weights import Weights
from irloop.formats.openvino.xml import parse
from irloop.graph.collector import collector_paused
from irloop.graph.model import Model
from irloop.opening import weights_beside

__all__ = ["read", "read_document"]

VERSIONS = (10, 11)


def read(
    path: str | os.PathLike[str],
    weights: str | os.PathLike[str] | None = None,
    *,
    without_weights: bool = False,
) -> Model:
    """Read an IR of version 10 or 11, or of versions 2 to 7 (see `legacy`).

    Args:
        path: the .xml. If this is a `ParsedOnce`, it keeps the parsed document for other readers of
            the same file.
        weights: the .bin; by default the file of the same name next to the .xml. The file is
            memory-mapped, so the bytes of a constant are read only when the constant is accessed.
        without_weights: read no constants, only their types and shapes.

    Raises:
        ReadError: when one of the files is missing or damaged, or is not part of an IR.
    """
    with collector_paused():
        file = weights or weights_beside(path)
        known: Model | None = path.take_model(file) if isinstance(path, ParsedOnce) else None
        if known is not None:
            return known
        document = parse(path)
        model = read_document(document, file, without_weights=without_weights)
        if not isinstance(path, ParsedOnce):
            document.clear()
        return model


def read_document(
    document: Document,
    weights: str | os.PathLike[str],
    indexes: Mapping[int, NetIndex] | None = None,
    wirings: Mapping[int, Sequence[Wiring]] | None = None,
    *,
    without_weights: bool = False,
) -> Model:
    """Build the model from a parsed document.

    Indexes and port maps that exist already can be passed to save work: `indexes` is keyed by the
    `id()` of the net, and `wirings` by the `id()` of the layer.

    Raises:
        ReadError: when the document is not a valid IR, for the same reasons as in `read`.
    """
    with collector_paused():
        version = unsigned(document.version)
        if document.is_legacy:
            from irloop.formats.openvino.legacy.reader import read_legacy

            return read_legacy(document, weights)
        if version not in VERSIONS:
            raise problems.bad_version(document).error(document.file)
        shared = Shared(
            document,
            Weights(weights, document.file, absent=without_weights),
            has_info=version >= 11,
            indexes=indexes,
            wirings=wirings,
        )
        graph = NetReader(shared, document.net).graph(document.name or "")
        return Model(
            graph, "openvino", version, metadata=dict(_sections(document)), source=document.file
        )


def _sections(document: Document) -> Iterator[tuple[str, str]]:
    """Yield (tag, XML text) once for each tag among the extra sections of the net.

    If several sections have the same tag, the text contains all of them.
    """
    tags = dict.fromkeys(section.tag for section in document.net.sections)
    for tag in tags:
        same = [section for section in document.net.sections if section.tag == tag]
        yield tag, text_of_extras(same)
