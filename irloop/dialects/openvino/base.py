"""The base of OpenVINO operations.

`since` is the opset that introduced this meaning of the type, which is also the version the
writer puts into a file. Types match in any letter case, as in OpenVINO's reader.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.graph.op import Op, Registry

__all__ = ["OPENVINO", "OpenVinoOp"]

OPENVINO = Registry(ignore_case=True)


class OpenVinoOp(Op):
    """An operation of OpenVINO's opset1, opset2, ...; `domain` is empty for those."""

    registry: ClassVar[Registry | None] = OPENVINO
