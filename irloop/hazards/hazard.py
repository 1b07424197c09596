"""The base class of hazards: known faults of engines.

There is one file per hazard; its name begins with the code: `known/ort101_*.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import ClassVar

from irloop.graph.model import Node
from irloop.graph.op import Op

__all__ = ["HAZARDS", "SECTIONS", "Effect", "Hazard"]

#: The sections of every hazard's docstring, in this order.
SECTIONS = ("What happens", "Where", "What irloop does")

#: Every hazard, keyed by its code; filled as the modules of `known` are imported.
HAZARDS: dict[str, type[Hazard]] = {}


class Effect(Enum):
    """The effect of a hazard; the value is the text in reports."""

    WRONG = "wrong numbers"
    STALE = "a result of an earlier inference"
    CRASH = "the process dies"
    HANG = "the compilation never ends"
    REFUSAL = "the engine refuses the model"


class Hazard:
    """The base of every hazard; subclasses register themselves.

    `find` recognises the pattern in a graph. `rule` is the code of the validation rule that finds
    the pattern in a file, if there is such a rule. Some patterns exist only in files, so that
    `find` cannot find them. `case` names the conformance case that shows whether an engine has the
    fault.
    """

    code: ClassVar[str]
    engine: ClassVar[str]
    #: The versions of the engine in which the fault was measured, newest last.
    versions: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    effect: ClassVar[Effect]
    case: ClassVar[str]
    #: Whether the case alone shows the fault. If not, the fault occurred in larger models, or when
    #: the file was read in another way, which `What happens` describes.
    minimal: ClassVar[bool]
    rule: ClassVar[str]
    #: The passes that rewrite the pattern; conversion runs them, too.
    passes: ClassVar[tuple[str, ...]]
    #: The advice for users about the pattern; by default, run the first pass.
    fix: ClassVar[str]
    #: Whether conversion reports the pattern in its result. False if the result has the pattern
    #: only for inputs that the source model does not allow either, or if irloop computes the
    #: pattern in the same way as the engine.
    concerns_conversion: ClassVar[bool] = True
    #: The operations whose nodes can have the pattern: `find` finds nothing in other nodes. All by
    #: default, which makes a search in a large model slower.
    operations: ClassVar[tuple[type[Op], ...]] = (Op,)
    #: A model that has the pattern has at least one of these operations. Any operation by default.
    beside: ClassVar[tuple[type[Op], ...]] = (Op,)
    #: Whether only a loop or branch can have the pattern; then `find` is called only for nodes with
    #: a body.
    only_with_body: ClassVar[bool] = False
    #: Where the fault was reported to the engine's developers; empty if it was not.
    reported: ClassVar[str]

    def __init_subclass__(
        cls,
        *,
        code: str,
        engine: str,
        versions: tuple[str, ...],
        title: str,
        effect: Effect,
        case: str,
        minimal: bool = True,
        rule: str = "",
        passes: tuple[str, ...] = (),
        fix: str = "",
        reported: str = "",
    ) -> None:
        super().__init_subclass__()
        if code in HAZARDS:
            raise TypeError(f"two hazards have the code {code}")
        cls.code, cls.engine, cls.versions, cls.title = code, engine, versions, title
        cls.effect, cls.case, cls.minimal = effect, case, minimal
        cls.rule, cls.passes = rule, passes
        cls.fix = fix or "".join(f"irloop transform --pass {name}" for name in passes[:1])
        cls.reported = reported
        HAZARDS[code] = cls

    def find(self, node: Node) -> Iterator[str]:
        """Yield a description of each occurrence of the pattern in `node`.

        The types in the model have been inferred before, but the model may be invalid.
        """
        yield from ()
