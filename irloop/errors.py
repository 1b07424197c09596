"""The exceptions that irloop raises; no others leave its API.

    IrloopError
    ├── UsageError          the call itself makes no sense: unknown option, wrong suffix
    ├── ReadError           a file cannot be read as the model it claims to be
    ├── WriteError          a model cannot be written in the requested place or form
    ├── VerifyError         the graph in memory breaks its own rules (a bug in a pass)
    ├── InferenceError      element types or shapes of an operation contradict each other
    ├── PassError           a pass or a callback failed; names the pass and the node
    ├── UnsupportedError    understood, but cannot be converted or run; names every place
    ├── InternalError       irloop itself failed: a bug, which `__cause__` shows
    └── ExecutionError      running went wrong
        └── LimitError      a limit on iterations, memory, time or steps was reached

Every exception carries `diagnostics`: findings with layer, id, line, expected, found,
cause and fix where they are known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Literal

from irloop.diagnostics import NOWHERE, Diagnostic, Location, Severity

__all__ = [
    "MEANINGS",
    "ExecutionError",
    "InferenceError",
    "InferenceKind",
    "InternalError",
    "IrloopError",
    "LimitError",
    "PassError",
    "ReadError",
    "UnsupportedError",
    "UsageError",
    "VerifyError",
    "WriteError",
    "did_you_mean",
    "plain_reason",
]


class IrloopError(Exception):
    """The root of every exception that irloop raises on purpose."""

    code = "IRL000"

    def __init__(
        self,
        message: str,
        *,
        location: Location = NOWHERE,
        code: str | None = None,
        expected: str = "",
        found: str = "",
        cause: str = "",
        fix: str = "",
        diagnostics: Iterable[Diagnostic] = (),
    ) -> None:
        self.message = message
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics) or (
            Diagnostic(
                code=code or self.code,
                severity=Severity.ERROR,
                message=message,
                location=location,
                expected=expected,
                found=found,
                cause=cause,
                fix=fix,
            ),
        )
        super().__init__("\n".join(str(item) for item in self.diagnostics))


def plain_reason(error: Exception) -> str:
    """Return the message of an exception if it was written for users, otherwise "".

    Kernels raise a ValueError or an ArithmeticError with a reason. The message of any other
    exception, such as "list index out of range", describes the code, not the model.
    """
    return str(error) if isinstance(error, ArithmeticError | ValueError) else ""


class InternalError(IrloopError):
    """irloop itself failed: a bug.

    `__cause__` is the original exception; `step` names the work that failed.
    """

    code = "BUG001"

    def __init__(self, step: str, error: BaseException) -> None:
        self.step = step
        self.error = error
        reason = (str(error).splitlines() or [""])[0]
        super().__init__(
            f"internal error while {step}: {type(error).__name__}: {reason}",
            fix="report it with the model, or a part of it",
        )


class UsageError(IrloopError):
    """The call makes no sense; no work was done."""

    code = "USE001"


class ReadError(IrloopError):
    """A file is not the model it claims to be, or not a model at all."""

    code = "IRL100"


class WriteError(IrloopError):
    """The model cannot be written; no partial output file was left."""

    code = "WRT001"


class VerifyError(IrloopError):
    """The graph in memory is inconsistent: a pass or a builder made a mistake."""

    code = "GRF001"


class PassError(IrloopError):
    """A pass or a callback raised an exception, or a rewrite did not end."""

    code = "PAS001"


#: The kind of an error in an operation: missing inputs, element types that do not match, a number
#: or a word outside its range, or any other contradiction between operands (mainly shapes).
InferenceKind = Literal["inputs", "elements", "range", "operands"]


class InferenceError(IrloopError):
    """Operand types, shapes or attributes of one operation contradict each other.

    `kind` tells what is wrong. It determines the code of the error, which is the code of the
    validation rule for the same problem.
    """

    code = "IRL404"
    CODES: ClassVar[Mapping[InferenceKind, str]] = {
        "elements": "IRL403",
        "inputs": "IRL406",
        "operands": "IRL404",
        "range": "IRL405",
    }

    def __init__(
        self,
        message: str,
        *,
        kind: InferenceKind = "operands",
        code: str | None = None,
        **details: Any,
    ) -> None:
        self.kind: InferenceKind = kind
        super().__init__(message, code=code or self.CODES[kind], **details)


class UnsupportedError(IrloopError):
    """Raised for a model that irloop understands but cannot convert or run.

    The diagnostics name each operation or value that is the reason.
    """

    code = "CNV001"


class ExecutionError(IrloopError):
    """Running the model failed; the message names the node and the iteration."""

    code = "RUN001"


class LimitError(ExecutionError):
    """A limit on iterations, memory or time was reached.

    `by_clock` is true if the work was ended after the allowed time or number of iterations: another
    engine may be faster. Otherwise the work was refused before it was done, because it would take
    too many steps, or too much memory.
    """

    code = "RUN002"
    by_clock = False


#: The meanings of codes that are not validation rules; `irloop explain` prints them.
MEANINGS = {
    "BUG001": "irloop itself failed. The step is named; report it with the model, or a part of it "
    "that still shows it, and the output of the same command with --debug.",
    "CNV001": "An operation has no counterpart in the other format. Every such operation of the "
    "model is named, with its path through bodies and the reason.",
    "CNV002": "An input or output of the model is a sequence or an optional, but an OpenVINO IR "
    "has tensors only. Sequences inside a model become tensors if their length is known.",
    "CNV003": "A value has an element type that an OpenVINO IR has no name for.",
    "CNV004": "The target runtime cannot read this: the operation belongs to a newer opset, or a "
    "shape is dynamic.",
    "CNV005": "The rank of an input or output is not known, but ONNX requires a shape for each. "
    "Fix the shapes of the inputs when converting.",
    "CNV101": "The branches of an If return different ranks. ONNX allows that, but OpenVINO's CPU "
    "refuses to compile it, unless the ranks are 0 and 1: it makes a list of one element from the "
    "scalar.",
    "CNV102": "An ONNX Loop omits its condition input, but the condition of its body may be false. "
    "By the specification that condition is ignored; every engine obeys it, and so does irloop.",
    "CNV103": "A loop inserts tensors into a sequence, and their shapes are known only at run "
    "time. Nothing in the loop seems to change them, so in IR one tensor holds all of them, and "
    "they must all have the same shape.",
    "CNV104": "Two inputs or outputs of the model have the same name, so one was renamed.",
    "CNV105": "A newer opset than the default one is written, because the default one lacks an "
    "operation or type that the model needs, or could only compare every element with every "
    "other, or does not keep the order of equal elements. --opset N selects the opset: for ONNX "
    "the default is 17, for an IR 8.",
    "CNV106": "Large constants are stored as f16, as requested. The note tells how many, the "
    "largest rounding error, and which constants are kept because f16 cannot represent them.",
    "CNV107": "The form in which a loop is written, and why it is not the requested one, if so.",
    "CNV108": "An output of the ONNX model is a sequence or an optional. IR has tensors only: the "
    "written model has an output for each tensor in it, or one output with one more axis.",
    "CNV109": "The converted model contains a pattern that its engine gets wrong, and conversion "
    "could not avoid it. The note names the fault: irloop explain OVN117.",
    "CNV110": "A ZipMap turns each row of a tensor into a map from class to number. IR has "
    "tensors only: the tensor is the output, with one column per class, in the order of the "
    "labels.",
    "CNV111": "The target reads static shapes only, and the shape of a value follows from an "
    "input, such as a list of axes. The written model has the shape that the ONNX model declares. "
    "Run it only with values that lead to this shape.",
    "CNV112": "TopK of an opset before 11 is written as requested, for an axis whose size is "
    "unknown or above 46,339. OpenVINO returns equal elements of it in any order; ONNX returns the "
    "one at the lower position first.",
    "CNV113": "The file is an IR of versions 2 to 7, written before OpenVINO 2020.2. Notes name "
    "the parts of it that the engine of then ignored, and irloop ignores, too.",
    "CNV114": "A FakeQuantize of an IR is written by its formula, which engines compute in floats, "
    "because QuantizeLinear and DequantizeLinear cannot express it exactly. If that is due to its "
    "zero point or to several channels, --quantization qdq may write them.",
    "CNV115": "The zero point of a FakeQuantize is rounded, as --quantization qdq allows, so that "
    "QuantizeLinear and DequantizeLinear can express it. The note tells how far its numbers move, "
    "at most half of a step. --check compares the written model with the rounded one, and tells "
    "how far the rounding moves the outputs.",
    "CNV802": "An LSTMCell of opset1 has peepholes or coupled gates that OpenVINO's runtimes "
    "ignore; the conversion ignores them, too.",
    "CNV804": "ROIAlign before opset9 enlarges a region that is smaller than one element to one "
    "element; the ONNX operation does not.",
    "CNV805": "Proposal gives boxes that are smaller than min_size the score 0, but does not "
    "remove them. OpenVINO sorts boxes of equal score in no defined order, so the written model "
    "may return the rows with score 0 in another order, and suppress other ones of them.",
    "HAZ001": "The patterns that an engine gets wrong were not searched for, because no graph can "
    "be built from a file with these errors. Correct the errors, then validate again.",
    "GRF001": "The graph in memory is inconsistent: a pass or a builder made a mistake. This is a "
    "bug in irloop, or in a pass of your own.",
    "IRL000": "An error that has no code of its own.",
    "IRL100": "The file is not the model it claims to be.",
    "IRL499": "Loops are nested so deeply that inferring their types would take too long.",
    "PAS001": "A pass, a predicate or a callback raised an exception that is not irloop's own. "
    "The message names the pass and, if known, the node; the exception itself is the cause.",
    "PAS002": "A rewrite did not end: each change made a new match. In the pattern or in the "
    "callback, exclude the nodes that the pass itself creates.",
    "LIM001": "A step would take more memory than is allowed for one model. Small files may "
    "describe huge tensors: allow more with --max-memory if the sizes are intended.",
    "LIM002": "The work on one model takes longer than allowed. Allow more with --max-seconds, or "
    "look for a loop that does not end.",
    "LIM003": "The work on one model takes more steps than allowed, or the model is nested too "
    "deeply.",
    "RUN001": "Running the model failed; the message names the node and the iteration.",
    "RUN002": "A limit on iterations, memory or time was reached. Raise it with --max-iterations, "
    "--max-memory or --max-seconds, or find out why the loop does not end.",
    "RUN003": "The built-in executor has no kernel for an operation of the model.",
    "RUN004": "An output of a loop has no value, because the loop ran zero iterations and no back "
    "edge carries the result; zeros are given.",
    "SWP001": "The process that worked on a model died twice, so the sweep does not try it "
    "again. Run the same step on the model alone: irloop validate, irloop convert.",
    "SWP002": "A sweep could not fetch a model: it is not there, the store refuses it, one of its "
    "files is bigger than --max-size allows, or is a Git LFS pointer.",
    "SWP003": "The results of a model and of its conversion, or of two engines, differ. irloop "
    "check names the first node that differs.",
    "SWP004": "The results of a model could not be compared, so nothing is known about them. The "
    "detail of the row tells why.",
    "SWP005": "All results that were computed are equal, but an engine does not run the model or "
    "its conversion. The detail of the row names the engine, the model and the reason.",
    "USE001": "The call itself is wrong, for example an unknown option; no model was read.",
    "WRT001": "The model cannot be written to this place or in this way; no incomplete file is "
    "left.",
}


def did_you_mean(name: str, known: Collection[str], *, nearness: float = 0.6) -> str:
    """Ask for the names in `known` that resemble `name`; "" if there are none.

    `nearness` is the similarity that a name needs, from 0 to 1.
    """
    from difflib import get_close_matches  # needed after a mistake only

    near = get_close_matches(name[:100], known, 3, nearness)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""
