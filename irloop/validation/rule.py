"""The base classes of rules.

There is one file per rule, named by its code: ``rules/irl203_unknown_port.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.formats.openvino.places import at_layer
from irloop.formats.openvino.problems import Problem
from irloop.validation.repair_plan import Repair

if TYPE_CHECKING:
    from irloop.errors import InferenceError
    from irloop.formats.onnx.opset_imports import ImportOpset
    from irloop.formats.openvino.document import Layer
    from irloop.formats.openvino.edits import Edit

__all__ = ["FILE", "LAYER", "NET", "OWNER", "RULES", "SECTIONS", "OnnxRule", "Rule"]

#: The scopes of rules. An error silences a finding that depends on it if the error is in the layer
#: of the finding, in the layer that owns the body with the finding, in the net of the finding, or
#: anywhere in the file.
LAYER, OWNER, NET, FILE = "layer", "owner", "net", "file"

#: The sections of every rule's docstring, in this order.
SECTIONS = ("What it does", "Why is this bad", "Bad example", "Good example", "Fix")

#: Every rule class, keyed by its code; filled as rule modules are imported.
RULES: dict[str, type[Rule]] = {}


class Rule:
    """The base of every rule; subclasses register themselves.

    `requires` lists codes (or groups, such as "IRL1") whose errors make this rule's findings
    meaningless. `scope` selects where such an error must have been found for a finding to be
    dropped: in the same layer, owner, net or file (`LAYER`, `OWNER`, `NET` or `FILE`).
    """

    code: ClassVar[str]
    severity: ClassVar[Severity]
    title: ClassVar[str]
    requires: ClassVar[tuple[str, ...]]
    scope: ClassVar[str]
    #: True if the rule needs the inferred graph, the expensive part of validation.
    needs_graph: ClassVar[bool]
    #: True if the rule also holds for IR of versions 2 to 7.
    legacy: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        code: str = "",
        severity: Severity = Severity.ERROR,
        title: str = "",
        requires: tuple[str, ...] = (),
        scope: str = LAYER,
        needs_graph: bool = False,
        legacy: bool = False,
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
        cls.legacy = legacy
        RULES[code] = cls

    def check(self, context: Any) -> Iterator[Diagnostic]:
        """Every finding of this rule in one model.

        Rules for IR take a `Context`, rules for ONNX an `OnnxContext`.
        """
        raise NotImplementedError

    def repairs(self, context: Any) -> Iterator[Repair]:
        """Yield the repairs that `irloop validate --fix` can make for this rule's findings.

        Each repair has the location of the finding that it repairs. A rule without repairs yields
        none.
        """
        yield from ()

    def repair(
        self,
        place: Location,
        message: str,
        *edits: Edit | ImportOpset,
        effect: str = "",
        weights: bytes = b"",
    ) -> Repair:
        """A repair of a finding at `place`.

        `effect` is needed if the repair may change results. `weights` are bytes that the repair
        appends to the .bin.
        """
        return Repair(self.code, place, message, edits, effect, weights)

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
        """Turn a problem into a finding of this rule.

        The finding is a warning if the problem is one; otherwise it has the severity of the rule.
        """
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
        """Turn those inference errors that have this rule's code (see `Context`) into findings."""
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
    """The base of rules for ONNX models, which take an `OnnxContext`."""
