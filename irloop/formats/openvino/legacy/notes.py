"""What an IR of versions 2 to 7 says that the engine of 2020 ignored, and irloop ignores, too."""

from __future__ import annotations

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.formats.openvino.document import Document, Extra, Layer
from irloop.formats.openvino.legacy import LEGACY, LegacyLayer
from irloop.formats.openvino.legacy.base import LayerFault
from irloop.formats.openvino.legacy.state import overwritten
from irloop.formats.openvino.numbers import unsigned

__all__ = ["notes_of"]


def notes_of(document: Document) -> tuple[Diagnostic, ...]:
    """One note for each part of the file that does not change the results."""
    notes = [_note(document, document.net.line, f"read from IR version {document.version}")]
    for section in document.net.sections:
        if section.tag == "statistics":
            text = "the statistics for int8 are ignored: the model computes with its f32 weights"
            notes.append(_note(document, section.line, text))
        if section.tag == "pre-process" and _has_scale(section):
            text = "the scale of the pre-processing is ignored, as in the engine of 2020"
            notes.append(_note(document, section.line, text))
    marked = [layer for layer in document.net.layers if "quantization_level" in layer.data]
    if marked:
        text = f"quantization_level is ignored ({len(marked)} layers)"
        notes.append(_note(document, marked[0].line, text))
    version = unsigned(document.version) or 0
    for layer in document.net.layers:
        fault = _fault_of_then(layer, version)
        if fault:
            text = f"{layer.type} {layer.name!r} {fault}"
            notes.append(_note(document, layer.line, text, Severity.WARNING))
    for layer in overwritten(document.net):
        text = (
            f"{layer.type} {layer.name!r} writes its value when all layers have read the earlier "
            "one; the engine of 2020 did not wait for those from which it is not computed"
        )
        notes.append(_note(document, layer.line, text, Severity.WARNING))
    return tuple(notes)


def _fault_of_then(layer: Layer, version: int) -> str:
    """What the engine of 2020 computed on CPUs other than documents say, or ""."""
    cls = LEGACY.find(layer.type or "", version)
    if cls is None or not issubclass(cls, LegacyLayer):
        return ""
    if cls.fault_of_then is LegacyLayer.fault_of_then:
        return ""  # do not read the attributes of every layer
    try:
        return cls.read(layer.data).fault_of_then(layer)
    except LayerFault:
        return ""  # the reader refuses the layer


def _has_scale(section: Extra) -> bool:
    return any(part.tag == "scale" for channel in section.children for part in channel.children)


def _note(
    document: Document, line: int, text: str, severity: Severity = Severity.INFO
) -> Diagnostic:
    return Diagnostic("CNV113", severity, text, Location(document.file, line))
