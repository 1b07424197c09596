"""Looks up operation classes, in both dialects, by the name of the operation type."""

from __future__ import annotations

from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.op import Op

__all__ = ["classes_of"]


def classes_of(*types: str) -> tuple[type[Op], ...]:
    """All versions of these types in both dialects, for `isinstance`.

    Raises:
        KeyError: for a type that neither dialect has.
    """
    classes: list[type[Op]] = []
    for name in types:
        versions = (*ONNX.versions(name), *OPENVINO.versions(name))
        if not versions:
            raise KeyError(name)
        classes += versions
    return tuple(classes)
