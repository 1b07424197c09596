"""OpenVINO operations by family; a family is imported when one of its types is first looked up."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from irloop.dialects.openvino.base import OPENVINO, OpenVinoOp
from irloop.dialects.openvino.families import FAMILIES
from irloop.graph.families import Families

__all__ = ["FAMILIES", "OPENVINO", "OpenVinoOp"]

_FAMILIES = Families(__name__, FAMILIES, ignore_case=True)


def __getattr__(name: str) -> Any:
    """Return a module of operations by its name, or an operation class by its name (``Add``)."""
    if name in FAMILIES:
        return import_module(f"{__name__}.{name}")
    for type_name in _FAMILIES.types_of(name):
        for cls in OPENVINO.versions(type_name):
            if cls.__name__ == name:
                return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


OPENVINO.load_by(lambda type_name, _: _FAMILIES.load(type_name))
