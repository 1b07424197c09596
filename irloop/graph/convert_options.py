"""The options of converting and writing a model, each stated once.

A field has the type and the default of the option, its help text, and the format that it belongs
to. The API and the command line fill the records; the command line also makes its options of the
fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields
from typing import TYPE_CHECKING, Any, Literal, cast

from irloop.errors import UsageError
from irloop.graph.record import Record
from irloop.graph.types import ElementType, Shape

if TYPE_CHECKING:
    from irloop.graph.model import Model

__all__ = ["ConvertOptions", "Loops", "Options", "Quantization", "WriteOptions", "ir_version_of"]

#: "keep" means the form nearest to the source; any other word is a form that is used where
#: possible.
Loops = Literal["keep", "scan", "loop", "unroll", "sequence"]

#: "qdq" allows a rounding of zero points for the sake of QuantizeLinear and DequantizeLinear.
Quantization = Literal["exact", "qdq"]

#: The first opsets whose QuantizeLinear has an axis, and 16 bits.
QUANTISES_SINCE, WORDS_SINCE = 13, 21

#: A number or one for each channel, for every input or by the name of an input.
Numbers = float | Sequence[float] | Mapping[str, float | Sequence[float]] | None

_NAMES = {"onnx": "ONNX", "openvino": "OpenVINO IR"}


def option(
    help: str = "",
    default: Any = None,
    *,
    to: str = "",
    least: int | None = None,
    metavar: str | None = None,
    told: str = "",
) -> Any:
    """A field for an option.

    Args:
        help: the text of the command line; "" for an option that several commands have.
        default: the value if the option is not given.
        to: the only format of a result that the option fits; "" for both.
        least: the smallest valid number.
        metavar: what stands for the value in the help of the command line.
        told: the spelling in messages of the command line, if it is not that of the name.
    """
    metadata = {"help": help, "to": to, "least": least, "metavar": metavar, "told": told}
    return field(default=default, metadata=metadata)


class Options(Record):
    """The base of records of options."""

    @classmethod
    def all(cls) -> tuple[Field[Any], ...]:
        """The fields, in their order."""
        return fields(cast("Any", cls))

    def given(self) -> list[Field[Any]]:
        """The options that do not have their default."""
        return [item for item in self.all() if getattr(self, item.name) != item.default]

    def require_fitting(self, to: str, *, spelled: bool = False) -> None:
        """Refuse options that do not fit the format `to` of the result, "onnx" or "openvino".

        `spelled` options are those of the command line.

        Raises:
            UsageError: naming the option and the format that it belongs to.
        """
        for choice in self.given():
            wanted = self.format_of(choice) or to
            if wanted != to:
                name = (choice.metadata["told"] or flag_of(choice)) if spelled else choice.name
                raise UsageError(
                    f"{name} is an option for {_NAMES[wanted]}, but the result is {_NAMES[to]}"
                )

    def format_of(self, choice: Field[Any]) -> str:
        """The only format of a result that a given option fits; "" if both."""
        return str(choice.metadata["to"])


def flag_of(item: Field[Any]) -> str:
    """The option of the command line for a field."""
    return "--" + item.name.replace("_", "-")


class ConvertOptions(Options):
    """The options of a conversion; `irloop.convert` describes them for users of Python."""

    opset: int | None = option("The opset to write: of ai.onnx or OpenVINO.", least=1)
    target: str | None = option(
        "Write only what this runtime supports, such as openvino-2024.6 or onnxruntime-1.18.",
        metavar="ENGINE-VERSION",
    )
    loops: Loops | None = option(
        "Write loops in this form if possible; reports the form of each loop and the reason."
    )
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = option()
    types: Mapping[str, str] | None = option()
    lengths: Mapping[str, int] | None = option(to="openvino", told="--length")
    compress_to_fp16: bool = option(
        "Store large f32 constants as f16; reports the largest rounding error on stderr.", False
    )
    standard: bool = option(
        "Decompose ONNX Runtime's own operations into standard ONNX.", False, to="onnx"
    )
    contrib: bool = option(
        "Use ONNX Runtime's own operations for 4-bit weights and attention.", False, to="onnx"
    )
    stateless: bool = option(
        "Turn the variables of an IR into inputs and outputs of the ONNX model.", False, to="onnx"
    )
    quantization: Quantization = option(
        "qdq: write FakeQuantize as QuantizeLinear and DequantizeLinear even if its zero point has "
        "to be rounded for it; reports by how much.",
        "exact",
        to="onnx",
    )

    mean: Numbers = option()
    scale: Numbers = option()
    reverse_channels: bool | Sequence[str] = option(default=False)
    layout: Mapping[str, str] | str | None = option()

    @property
    def preprocesses(self) -> bool:
        """Return whether something is put before inputs."""
        return bool(self.reverse_channels) or any(
            item not in (None, {}) for item in (self.mean, self.scale, self.layout)
        )

    def format_of(self, choice: Field[Any]) -> str:
        """The format of a result that a given option fits: for a target, the one that it runs."""
        if choice.name != "target":
            return super().format_of(choice)
        return "onnx" if str(self.target).startswith("onnxruntime") else "openvino"

    def require_consistent(self, to: str, opsets: Sequence[int], *, translates: bool) -> None:
        """Refuse options that contradict each other, or that have no effect.

        Args:
            to: the format of the result, "onnx" or "openvino".
            opsets: the opsets of OpenVINO that can be written.
            translates: whether the model has the other format.

        Raises:
            UsageError: naming the options.
        """
        if self.standard and self.contrib:
            raise UsageError(
                "standard and contrib contradict each other: "
                "one removes the operations that the other writes"
            )
        if self.opset is not None and self.target is not None:
            raise UsageError("opset and target contradict each other: the target has its own opset")
        if self.quantization == "qdq" and (self.opset or QUANTISES_SINCE) < QUANTISES_SINCE:
            raise UsageError(
                f"quantization qdq needs opset {QUANTISES_SINCE}, but {self.opset} is to be written"
            )
        if to == "openvino" and self.opset is not None and self.opset not in opsets:
            raise UsageError(
                f"OpenVINO opset {self.opset} cannot be written",
                expected=f"opset {opsets[0]} to {opsets[-1]}",
                fix="for an older OpenVINO, use the target openvino-2021.4",
            )
        self.require_fitting(to)
        if not translates and self.lengths is not None:
            raise UsageError(
                f"the model is {to} already: lengths take effect only in a conversion",
                fix="leave them out; irloop transform MODEL -o NEW --pass set_shape=NAME=1,64 "
                "fixes an input's sizes",
            )
        for name, lacks in (("stateless", "variables"), ("quantization", "FakeQuantize")):
            if not translates and name in [item.name for item in self.given()]:
                raise UsageError(
                    f"the model is {to} already: {name} takes effect only in a conversion",
                    fix=f"leave it out: an ONNX model has no {lacks}",
                )

    def source_passes(self) -> list[str]:
        """The passes that change what the source computes, as the options demand."""
        passes = ["stateful_to_stateless"] if self.stateless else []
        if self.quantization == "qdq":
            passes.append(f"round_zero_points:levels={self.quantised_levels}")
        return passes

    @property
    def quantised_levels(self) -> int:
        """The most levels of QuantizeLinear in the opset to write."""
        return 2**16 if (self.opset or 0) >= WORDS_SINCE else 2**8

    def changes_opset(self, translates: bool) -> bool:
        """Return whether a model is rewritten in another opset of its own format."""
        return self.opset is not None and not translates

    def rewrites(self, translates: bool) -> bool:
        """Return whether these options change a model in its own format."""
        writes_form = self.loops is not None or self.standard or self.contrib
        fits = self.target is not None or self.compress_to_fp16
        return fits or writes_form or self.changes_opset(translates)


class WriteOptions(Options):
    """The options of writing a model; `irloop.save_model` describes them for users of Python."""

    ir_version: int | None = option(
        "The version of the file: 10 or 11 of an IR, or the IR version of ONNX.  [default: 10 of "
        "an IR, 11 if it returns strings, and that of ONNX which the opset needs]",
        least=3,
    )
    weights: Literal["copy", "share"] = option(
        "share: do not copy the weights; the .onnx refers to the .bin.",
        "copy",
        to="onnx",
        told="--weights share",
    )
    external_data: bool | None = option("Write ONNX weights to a separate file.", to="onnx")


def ir_version_of(model: Model) -> int:
    """The version of IR in which a model is written by default.

    It is 10 unless the model returns strings: OpenVINO converts the outputs of version 10 to other
    types, which it cannot do with strings.
    """
    from irloop.graph.builder import element_of

    strings = any(element_of(value) is ElementType.STRING for value in model.graph.outputs)
    return 11 if strings else 10
