"""The conversion rules of both directions.

A module of rules is imported when a rule for one of its operations is looked up. `exports`
registers a rule for OpenVINO -> ONNX, `imports` one for ONNX -> OpenVINO.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from irloop.conversion.framework.exports_by_module import EXPORTS_BY_MODULE
from irloop.conversion.framework.imports_by_module import IMPORTS_BY_MODULE
from irloop.graph.families import Families
from irloop.graph.op import Op

__all__ = ["EXPORTS", "IMPORTS", "Rule", "Rules", "exports", "imports"]

#: A rule takes an `Export` or `Import`, an operation and its converted inputs, and returns the
#: converted outputs.
Rule = Callable[..., Any]
RuleT = TypeVar("RuleT", bound=Rule)


class Rules:
    """The conversion rules from one format to the other, keyed by operation class.

    `modules` lists, for each module below `irloop.conversion`, the classes that it has rules for.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._families = Families("irloop.conversion", modules)
        self._rules: dict[type[Op], Rule] = {}
        #: For each operation without a counterpart in the other format, the reason.
        self._reasons: dict[type[Op], str] = {}

    def add(self, cls: type[Op], rule: Rule, reason: str = "") -> None:
        """Register the rule that converts an operation.

        A rule that always refuses the operation is registered with the `reason` for that.

        Raises:
            TypeError: when the operation has a rule already.
        """
        if cls in self._rules:
            raise TypeError(f"two rules for {cls.__name__} of {cls.__module__}")
        self._rules[cls] = rule
        if reason:
            self._reasons[cls] = reason

    def find(self, cls: type[Op]) -> Rule | None:
        """The rule for an operation; None if it has none."""
        if cls not in self._rules:
            self._families.load(cls.__name__)
        return self._rules.get(cls)

    def __contains__(self, cls: type[Op]) -> bool:
        return self.find(cls) is not None

    def reason_of(self, cls: type[Op]) -> str:
        """Why an operation has no counterpart in the other format; "" if it may have one."""
        return self._reasons.get(cls, "") if cls in self else ""

    def all(self) -> tuple[type[Op], ...]:
        """Every operation that has a rule."""
        self._families.load_all()
        return tuple(self._rules)


EXPORTS = Rules(EXPORTS_BY_MODULE)
IMPORTS = Rules(IMPORTS_BY_MODULE)


def exports(*classes: type[Op]) -> Callable[[RuleT], RuleT]:
    """Register a rule that converts OpenVINO operations to ONNX."""
    return _registering(EXPORTS, classes)


def imports(*classes: type[Op]) -> Callable[[RuleT], RuleT]:
    """Register a rule that converts ONNX operations to OpenVINO."""
    return _registering(IMPORTS, classes)


def _registering(table: Rules, classes: tuple[type[Op], ...]) -> Callable[[RuleT], RuleT]:
    def decorate(rule: RuleT) -> RuleT:
        for cls in classes:
            table.add(cls, rule)
        return rule

    return decorate
