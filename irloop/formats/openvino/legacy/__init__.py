"""Reads IR of versions 2 to 7, which OpenVINO wrote from 2018 to 2020, into the OpenVINO dialect.

Each family of layers has one module. A layer is a class: its attributes are fields, and it knows
the shapes of its weights and how it is written in operations of today.
"""

from __future__ import annotations

from irloop.formats.openvino.legacy.base import LEGACY, LegacyLayer
from irloop.formats.openvino.legacy.families import FAMILIES
from irloop.graph.families import Families

__all__ = ["FAMILIES", "LEGACY", "LegacyLayer"]

_FAMILIES = Families(__name__, FAMILIES, ignore_case=True)


LEGACY.load_by(lambda type_name, _: _FAMILIES.load(type_name))
