"""Opsets of OpenVINO by the text in `version`."""

from __future__ import annotations

__all__ = ["NEWEST", "opset_of"]

#: Opset 1 to this one are known; a later opset may change the meaning of a type.
NEWEST = 17
#: Files older than opset6 give these the version "experimental" or "extension"; OpenVINO reads
#: them as opset6.
_ONCE_EXPERIMENTAL = frozenset(
    {
        "experimentaldetectrondetectionoutput",
        "experimentaldetectrongenerateproposalssingleimage",
        "experimentaldetectronpriorgridgenerator",
        "experimentaldetectronroifeatureextractor",
        "experimentaldetectrontopkrois",
        "grucell",
        "rnncell",
        "proposal",
    }
)
#: Exactly these texts: to OpenVINO "opset01" is no opset.
_OPSETS = {f"opset{number}": number for number in range(1, NEWEST + 1)}


def opset_of(version: str | None, type_name: str = "") -> int | None:
    """The number in ``opset7``; None for a text that names no opset of OpenVINO."""
    if version in ("experimental", "extension") and type_name.lower() in _ONCE_EXPERIMENTAL:
        return 6
    return _OPSETS.get(version or "")
