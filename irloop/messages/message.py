"""An entry of the catalogue: a kind of message, its cause, and the advice.

A message is a text that OpenVINO, ONNX Runtime or onnx.checker prints, such as an error.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Message"]


class Message(NamedTuple):
    """One kind of message that an engine prints.

    The named groups of `pattern` are inserted into `cause` and `advice`. `codes` are the rules that
    find the cause in a model. A `general` entry is used only if no specific one matches.
    """

    engine: str
    pattern: str
    cause: str
    codes: tuple[str, ...]
    advice: str
    general: bool = False
