"""Checks which options of converting and writing go together, for the API and the command line."""

from __future__ import annotations

from collections.abc import Mapping

from irloop.errors import UsageError

__all__ = ["require_change", "require_fitting"]

_NAMES = {"onnx": "ONNX", "openvino": "OpenVINO IR"}

#: The only format that each of these options can be used with, as it is named in the API. The other
#: options fit both formats.
_FORMAT_OF = {
    "external_data": "onnx",
    "weights": "onnx",
    "standard": "onnx",
    "contrib": "onnx",
    "stateless": "onnx",
    "target": "openvino",
    "lengths": "openvino",
}


def require_fitting(
    to: str, used: Mapping[str, bool], spelling: Mapping[str, str] | None = None
) -> None:
    """Refuse options that do not fit the format of the result.

    Args:
        to: "onnx" or "openvino", the format to convert to or to write.
        given: for each option, whether the caller uses it.
        spelling: other names for options in the message, such as those of the command line.

    Raises:
        UsageError: naming the option and the format that it belongs to.
    """
    for name, is_used in used.items():
        wanted = _FORMAT_OF.get(name, to)
        if is_used and wanted != to:
            raise UsageError(
                f"{(spelling or {}).get(name, name)} is an option for {_NAMES[wanted]}, "
                f"but the result is {_NAMES[to]}"
            )


def require_change(to: str, used: Mapping[str, bool]) -> None:
    """Refuse options without effect for a model that has the requested format already.

    These are `lengths` and `stateless`; `used` says for each option whether the caller uses it.

    Raises:
        UsageError: when such an option is used.
    """
    if used["lengths"]:
        raise UsageError(
            f"the model is {to} already: lengths take effect only in a conversion",
            fix="leave them out; irloop transform MODEL -o NEW --pass set_shape=NAME=1,64 fixes an "
            "input's sizes",
        )
    if used["stateless"]:
        raise UsageError(
            f"the model is {to} already: stateless takes effect only in a conversion",
            fix="leave it out: an ONNX model has no variables",
        )
