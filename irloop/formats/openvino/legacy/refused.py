"""Layers of versions 2 to 7 that irloop refuses by name, with the reason."""

from __future__ import annotations

from irloop.errors import did_you_mean
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.base import LEGACY, LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.families import FAMILIES

__all__ = ["unknown_type"]


class SimplerNMS(LegacyLayer, type="SimplerNMS", inputs=3):
    """Region proposals, an early form of Proposal."""

    refusal = (
        "cannot be converted: the engine of 2020 left the rows after its last box uninitialised, "
        "so that the layer has no definite result"
    )


class Unpooling(LegacyLayer, type="Unpooling", inputs=(1, None)):
    """The reverse of a max pooling."""

    refusal = "cannot be converted: no engine for CPUs has ever run this layer"


def unknown_type(layer: Layer, version: int) -> LayerFault:
    """The fault of a layer whose type no version has, or not this one."""
    kind = layer.type or ""
    known = LEGACY.versions(kind)
    if known:
        since, until = known[0].since, known[-1].until
        expected = (
            f"IR version {since} or newer" if version < since else f"version {until} or older"
        )
        return LayerFault(
            f"does not exist in IR version {version}",
            code="IRL121",
            expected=expected,
            found=f"version {version}",
            cause="the version of the file was edited",
            fix="restore the version of the file",
        )
    names = sorted({name for text in FAMILIES.values() for name in text.split()})
    near = did_you_mean(kind, names, nearness=0.8)
    if near:
        return LayerFault("is of an unknown type", code="IRL121", found=kind, fix=near)
    return LayerFault(
        "is a custom layer: what it computes is not in the file",
        code="IRL121",
        expected="a layer of OpenVINO",
        found=f"type {kind}",
        cause="the model was converted together with an extension that computes this layer",
        fix="split the model before and after this layer, or convert the original model without it",
    )
