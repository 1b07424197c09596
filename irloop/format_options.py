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
    to: str, given: Mapping[str, bool], spelling: Mapping[str, str] | None = None
) -> None:
    """Refuse options that do not fit the format of the result.

    Args:
        to: "onnx" or "openvino", the format to convert to or to write.
        given: for each option, whether the caller uses it.
        spelling: other names for options in the message, such as those of the command line.

    Raises:
        UsageError: naming the option and the format that it belongs to.
    """
    for name, is_given in given.items():
        wanted = _FORMAT_OF.get(name, to)
        if is_given and wanted != to:
            raise UsageError(
                f"{(spelling or {}).get(name, name)} is an option for {_NAMES[wanted]}, "
                f"but the result is {_NAMES[to]}"
            )


def require_change(to: str, used: Mapping[str, bool], *, sets_shapes: bool, rewrites: bool) -> None:
    """Refuse options without effect for a model that has the requested format already.

    These are `lengths` and `stateless`. Shapes for inputs are refused only if the model is not
    rewritten either.

    Args:
        to: the format of the model and of the result.
        used: for each option, whether the caller uses it.
        sets_shapes: whether the caller gives shapes for inputs.
        rewrites: whether the model is rewritten in its own format: for a target runtime, in another
            opset, with another form of loops, with weights as f16, with standard operations only,
            or with operations of ONNX Runtime.

    Raises:
        UsageError: when such an option is used.
    """
    useless = used["lengths"] or used["stateless"]
    if useless or (sets_shapes and not rewrites):
        raise UsageError(
            f"the model is {to} already: nothing is converted",
            fix="leave out lengths, stateless and shapes, which need a conversion",
        )
