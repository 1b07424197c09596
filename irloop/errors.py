"""The exceptions that leave irloop. Nothing else does.

    IrloopError
    ├── UsageError          the call itself makes no sense: unknown option, wrong suffix
    ├── ReadError           a file cannot be read as the model it claims to be
    ├── WriteError          a model cannot be written where or how it was asked
    ├── VerifyError         the graph in memory breaks its own rules (a bug in a pass)
    ├── InferenceError      element types or shapes of an operation contradict each other
    ├── UnsupportedError    understood, but cannot be converted or run; names every place
    └── ExecutionError      running went wrong
        └── LimitError      an iteration, memory or time limit was reached

Every exception carries `diagnostics`: findings with layer, id, line, expected, found,
cause and fix where they are known.
"""

from __future__ import annotations

from collections.abc import Iterable

from irloop.diagnostics import NOWHERE, Diagnostic, Location, Severity

__all__ = [
    "ExecutionError",
    "InferenceError",
    "IrloopError",
    "LimitError",
    "ReadError",
    "UnsupportedError",
    "UsageError",
    "VerifyError",
    "WriteError",
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


class UsageError(IrloopError):
    """The call makes no sense; nothing was looked at."""

    code = "USE001"


class ReadError(IrloopError):
    """A file is not the model it claims to be, or not one at all."""

    code = "IRL100"


class WriteError(IrloopError):
    """The model cannot be written; no output file was left behind."""

    code = "WRT001"


class VerifyError(IrloopError):
    """The graph in memory is inconsistent: a pass or a builder made a mistake."""

    code = "GRF001"


class InferenceError(IrloopError):
    """Operand types, shapes or attributes of one operation contradict each other."""

    code = "IRL404"


class UnsupportedError(IrloopError):
    """The model is understood but cannot be converted or run; every place is named."""

    code = "CNV001"


class ExecutionError(IrloopError):
    """Running the model went wrong; says in which node and which iteration."""

    code = "RUN001"


class LimitError(ExecutionError):
    """A limit on iterations, memory or time was reached."""

    code = "RUN002"
