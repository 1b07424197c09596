"""What a rule is. One file a rule; the file name is the code: ``rules/irl203_unknown_port.py``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.formats.openvino.places import at_layer
from irloop.formats.openvino.problems import Problem

if TYPE_CHECKING:
    from irloop.errors import InferenceError
    from irloop.formats.openvino.document import Layer

__all__ = ["FILE", "LAYER", "NET", "OWNER", "RULES", "SECTIONS", "OnnxRule", "Rule"]

#: Where an error that a rule depends on has to be to matter: in the same layer, in the layer
#: that owns the body of the finding, in the same net, or anywhere in the file.
LAYER, OWNER, NET, FILE = "layer", "owner", "net", "file"

#: The sections every rule's docstring has, in this order.
SECTIONS = ("What it does", "Why is this bad", "Bad example", "Good example", "Fix")

#: Every rule class by its code; filled as rule modules are imported.
RULES: dict[str, type[Rule]] = {}


class Rule:
    """The base of every rule; subclasses register themselves.

    `requires` names codes (or groups, as "IRL1") whose errors make this rule's findings
    meaningless; `scope` says where (`LAYER`, `OWNER`, `NET`, `FILE`).
    A finding is dropped when such an error was found there, and only then.
    """

    code: ClassVar[str]
    severity: ClassVar[Severity]
    title: ClassVar[str]
    requires: ClassVar[tuple[str, ...]]
    scope: ClassVar[str]
    #: The rule asks the context for the inferred graph, which is the dear part of validation.
    needs_graph: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        code: str = "",
        severity: Severity = Severity.ERROR,
        title: str = "",
        requires: tuple[str, ...] = (),
        scope: str = LAYER,
        needs_graph: bool = False,
    ) -> None:
        super().__init_subclass__()
        if not code:
            return
        if code in RULES:
            raise TypeError(f"two rules have the code {code}")
        cls.code = code
        cls.severity = severity
        cls.title = title
        cls.requires = requires
        cls.scope = scope
        cls.needs_graph = needs_graph
        RULES[code] = cls

    def check(self, context: Any) -> Iterator[Diagnostic]:
        """Every finding of this rule in one model.

        Rules on IR take a `Context`, rules on ONNX an `OnnxContext`.
        """
        raise NotImplementedError

    def found(
        self,
        place: Location,
        message: str,
        *,
        expected: str = "",
        found: str = "",
        cause: str = "",
        fix: str = "",
    ) -> Diagnostic:
        """One finding of this rule."""
        return Diagnostic(self.code, self.severity, message, place, expected, found, cause, fix)

    def from_problem(self, problem: Problem) -> Diagnostic:
        """A problem of this code as a finding."""
        finding = self.found(
            problem.place,
            problem.message,
            expected=problem.expected,
            found=problem.found,
            cause=problem.cause,
            fix=problem.fix,
        )
        return replace(finding, severity=Severity.WARNING) if problem.is_warning else finding

    def from_inference(
        self, errors: Iterable[tuple[Layer, str, InferenceError]]
    ) -> Iterator[Diagnostic]:
        """The errors of inference that have this code, among those of `Context`."""
        for layer, code, error in errors:
            if code != self.code:
                continue
            first = error.diagnostics[0]
            yield self.found(
                at_layer(layer),
                first.message,
                expected=first.expected,
                found=first.found,
                cause=first.cause,
                fix=first.fix or "correct the operand or the attribute",
            )


class OnnxRule(Rule):
    """The base of rules on ONNX models, which look at an `OnnxContext`."""
