"""Reads a fragment of an IR, a single ``<layer>`` as shown in specifications, as a complete model.

The layer gets a Parameter for each input port, with the size that the port declares and an unknown
element type, and a Result for each output port. Line numbers are those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from irloop.diagnostics import Diagnostic
from irloop.dialects.openvino import OPENVINO
from irloop.formats.openvino.document import Document, Layer, Net
from irloop.formats.openvino.edits import SetAttribute, edited
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.xml import parse
from irloop.opening import read_regular

__all__ = ["concerns", "document_of"]

#: The first id of added Parameters and Results, far above the ids in hand-written files.
FIRST_ID = 900_000_000

#: Maximum number of bytes of a fragment; fragments are written by hand, so they are small.
MOST_BYTES = 2**20

#: Prefixes of rules that do not apply to a fragment: rules about weights, and rules about parts
#: that only a whole model needs.
_ELSEWHERE = ("IRL108", "IRL3")


def document_of(file: str) -> Document | None:
    """Return the document of a file whose root element is a layer; None for any other file.

    None is also returned if the file cannot be read at all.

    Raises:
        ReadError: when the file contains a layer that cannot be read.
    """
    try:
        data = read_regular(file, MOST_BYTES)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError):
        return None
    declaration = re.match(r"\s*<\?xml.*?\?>", text, re.DOTALL)
    if declaration is not None:
        # Replace the declaration by blanks, so that the lines and columns of the rest stay the
        # same.
        text = re.sub(r"[^\n]", " ", declaration[0]) + text[declaration.end() :]
    start = re.search(r"<layer\b", text)
    if start is None or re.search(r"<(?![!?])", text[: start.start()]):
        return None
    layer = _layer(text, file)
    if layer is None:
        return None
    text = text[: start.end()] + _missing(layer) + text[start.end() :]
    layer = _layer(text, file)
    if layer is None:
        return None
    document = parse(_model(text, layer).encode(), file=file)
    edits = [*_precisions(document.net)]
    return parse(edited(document, edits), file=file) if edits else document


def _precisions(net: Net) -> Iterator[SetAttribute]:
    """Yield edits that set a missing precision of an output port to dynamic.

    The examples in specifications show layers without precisions.
    """
    for layer in net.layers:
        for port in layer.outputs:
            if port.precision is None:
                element = f"{layer.element_path}/output/port[@id={port.id}]"
                yield SetAttribute(element, "precision", "dynamic")
        for body in layer.bodies.values():
            yield from _precisions(body)


def concerns(finding: Diagnostic) -> bool:
    """Return whether a finding is about the fragment itself, not about added layers or missing
    parts.
    """
    if finding.code.startswith(_ELSEWHERE):
        return False
    return (unsigned(finding.location.layer_id) or 0) < FIRST_ID


def _layer(text: str, file: str) -> Layer | None:
    net = parse(f'<net version="11"><layers>{text}</layers><edges/></net>'.encode(), file=file).net
    return net.layers[0] if len(net.layers) == 1 else None


def _missing(layer: Layer) -> str:
    """Return XML text that adds the attributes id, name and version where a layer lacks them.

    Every layer needs these attributes, but the examples in OpenVINO's specifications omit them. The
    values are 0, the type in lower case, and the newest opset that introduced the type.
    """
    kind = layer.type or ""
    classes = OPENVINO.versions(kind)
    newest = classes[-1].since if classes else 1
    given = {"id": layer.id, "name": layer.name, "version": layer.version}
    values = {"id": "0", "name": kind.lower() or "layer", "version": f"opset{newest}"}
    return "".join(f' {name}="{values[name]}"' for name in given if given[name] is None)


def _model(text: str, layer: Layer) -> str:
    before, behind, edges = [], [], []
    number = FIRST_ID
    for port in layer.inputs:
        shape = ",".join(dim if dim.isdecimal() else "?" for dim in port.dims)
        # A port without sizes does not declare its shape.
        shape = shape if port.dims else "..."
        before.append(
            f'<layer id="{number}" name="in{number}" type="Parameter" version="opset1">'
            f'<data shape="{shape}" element_type="dynamic"/>'
            f'<output><port id="0" precision="dynamic">{_dims(port.dims)}</port></output></layer>'
        )
        ends = f"to-layer={quoteattr(layer.id or '')} to-port={quoteattr(port.id or '')}"
        edges.append(f'<edge from-layer="{number}" from-port="0" {ends}/>')
        number += 1
    for port in layer.outputs if layer.type != "Result" else ():
        behind.append(
            f'<layer id="{number}" name="out{number}" type="Result" version="opset1">'
            f'<input><port id="0">{_dims(port.dims)}</port></input></layer>'
        )
        ends = f"from-layer={quoteattr(layer.id or '')} from-port={quoteattr(port.id or '')}"
        edges.append(f'<edge {ends} to-layer="{number}" to-port="0"/>')
        number += 1
    return (
        f'<net name="fragment" version="11"><layers>{"".join(before)}{text}{"".join(behind)}'
        f"</layers><edges>{''.join(edges)}</edges></net>"
    )


def _dims(dims: tuple[str, ...]) -> str:
    return "".join(f"<dim>{dim if dim.isdecimal() else -1}</dim>" for dim in dims)
