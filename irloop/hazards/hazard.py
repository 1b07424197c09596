"""What a hazard is. One file a hazard; the file name begins with its code: `known/ort101_*.py`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import ClassVar

from irloop.graph.model import Node

__all__ = ["HAZARDS", "SECTIONS", "Effect", "Hazard"]

#: The sections of every hazard's docstring, in this order.
SECTIONS = ("What happens", "Where", "What irloop does")

#: Every hazard by its code; filled as the modules of `known` are imported.
HAZARDS: dict[str, type[Hazard]] = {}


class Effect(Enum):
    """How a hazard shows; the value is the word that reports use."""

    WRONG = "wrong numbers"
    STALE = "a result of an earlier inference"
    CRASH = "the process dies"
    REFUSAL = "the engine refuses the model"


class Hazard:
    """The base of every hazard; subclasses register themselves.

    `find` recognises the pattern in a graph. Where a validation rule finds it in every file, `rule`
    is the code of that rule, and `find` finds nothing. `case` names the case of the conformance
    suite that shows whether an engine has the fault.
    """

    code: ClassVar[str]
    engine: ClassVar[str]
    #: The versions of the engine in which the fault was measured, newest last.
    versions: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    effect: ClassVar[Effect]
    case: ClassVar[str]
    rule: ClassVar[str]
    #: What a user can do about a model that has the pattern.
    fix: ClassVar[str]
    #: Whether conversion reports the pattern in what it wrote. False where what it writes has the
    #: pattern only for inputs that the source model does not allow either.
    concerns_conversion: ClassVar[bool] = True
    #: Where the fault was reported to the engine's developers; empty where it was not.
    reported: ClassVar[str]

    def __init_subclass__(
        cls,
        *,
        code: str,
        engine: str,
        versions: tuple[str, ...],
        title: str,
        effect: Effect,
        case: str = "",
        rule: str = "",
        fix: str = "",
        reported: str = "",
    ) -> None:
        super().__init_subclass__()
        if code in HAZARDS:
            raise TypeError(f"two hazards have the code {code}")
        cls.code, cls.engine, cls.versions, cls.title = code, engine, versions, title
        cls.effect, cls.case, cls.rule, cls.fix, cls.reported = effect, case, rule, fix, reported
        HAZARDS[code] = cls

    def find(self, node: Node) -> Iterator[str]:
        """For each place in `node` that has the pattern, what was found there.

        The types of values are inferred. Nothing is found here where `rule` finds it.
        """
        yield from ()
