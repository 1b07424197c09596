"""The base class of known faults of engines.

There is one file per fault, named by its code: `ovn133_abs_of_a_concat.py`. It holds all that is
known about the fault. Nothing else imports it, so a fault is retired by deleting its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from irloop.faults.case import Case, Run
from irloop.faults.measured import releases
from irloop.graph.model import Model, Node
from irloop.graph.op import Op

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["FAULTS", "SECTIONS", "Effect", "Fault"]

#: A function that returns a model.
Build = TypeVar("Build", bound=Callable[..., Any])

#: The sections of every fault's docstring, in this order.
SECTIONS = ("What happens", "Where", "What irloop does")

#: Every fault, keyed by its code; filled as the files are imported.
FAULTS: dict[str, type[Fault]] = {}


class Effect(Enum):
    """The effect of a fault; the value is the text in reports."""

    WRONG = "wrong numbers"
    STALE = "a result of an earlier inference"
    CRASH = "the process dies"
    HANG = "the compilation never ends"
    REFUSAL = "the engine refuses the model"


class Fault:
    """The base of every fault; subclasses register themselves.

    `find` recognises the pattern in a graph. `rule` is the code of the validation rule that finds
    the pattern in a file, if there is such a rule. Some patterns exist only in files, so that
    `find` cannot find them. `smallest` is the conformance case that shows whether an engine has the
    fault; the decorator `case` sets it.

    Conversion avoids a fault in one of two ways. If single nodes have the pattern, the fault has a
    method `repair`, which rewrites one of them. Otherwise `avoided_by` names modules of
    `irloop.faults.repairs`: passes that rewrite whole loops or models, often for several faults.
    A fault that has neither is avoided where conversion emits the operations, or only reported.
    """

    code: ClassVar[str]
    #: The name of the file, which is also the name of the pass that calls `repair`.
    name: ClassVar[str]
    engine: ClassVar[str]
    #: The releases of the engine in which the fault was measured, newest last.
    measured: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    effect: ClassVar[Effect]
    smallest: ClassVar[Case]
    #: Whether the case alone shows the fault. If not, the fault occurred in larger models, or when
    #: the file was read in another way, which `What happens` describes.
    minimal: ClassVar[bool]
    rule: ClassVar[str]
    #: The passes for users that rewrite the pattern; conversion runs them, too.
    passes: ClassVar[tuple[str, ...]]
    #: The advice for users about the pattern; by default, run the first pass.
    fix: ClassVar[str]
    #: Whether conversion reports the pattern in its result. False if the result has the pattern
    #: only for inputs that the source model does not allow either, or if irloop computes the
    #: pattern in the same way as the engine.
    concerns_conversion: ClassVar[bool] = True
    #: The operations whose nodes can have the pattern: `find` finds nothing in other nodes, and
    #: `repair` is called for no others. All by default, which makes a search in a large model
    #: slower.
    operations: ClassVar[tuple[type[Op], ...]] = (Op,)
    #: A model that has the pattern has at least one of these operations. Any operation by default.
    beside: ClassVar[tuple[type[Op], ...]] = (Op,)
    #: Whether only a loop or branch can have the pattern; then `find` is called only for nodes with
    #: a body.
    only_with_body: ClassVar[bool] = False
    #: Where the fault was reported to the engine's developers; empty if it was not.
    reported: ClassVar[str]
    avoided_by: ClassVar[tuple[str, ...]]
    #: The codes of the faults whose `repair` must run before that of this fault.
    after: ClassVar[tuple[str, ...]]
    #: Whether `transform` repairs also those nodes that had the pattern before any pass ran. That
    #: is so if the engine returns uninitialised memory: a result that was right by chance may
    #: become wrong when the model changes elsewhere.
    repairs_always: ClassVar[bool]
    #: Whether conversion avoids the fault only for a target that has it. So it is if the newest
    #: releases do not have it, and the forms that avoid it cost time.
    on_target: ClassVar[bool]

    def __init_subclass__(
        cls,
        *,
        code: str,
        engine: str,
        title: str,
        effect: Effect,
        minimal: bool = True,
        rule: str = "",
        passes: tuple[str, ...] = (),
        fix: str = "",
        reported: str = "",
        avoided_by: tuple[str, ...] = (),
        after: tuple[str, ...] = (),
        repairs_always: bool = False,
        on_target: bool = False,
    ) -> None:
        super().__init_subclass__()
        if code in FAULTS:
            raise TypeError(f"two faults have the code {code}")
        cls.code, cls.engine, cls.title = code, engine, title
        cls.measured = tuple(item.version for item in releases(engine) if item.has(code))
        cls.name = cls.__module__.rpartition(".")[2]
        cls.effect, cls.minimal = effect, minimal
        cls.rule, cls.passes = rule, passes
        cls.fix = fix or "".join(f"irloop transform --pass {name}" for name in passes[:1])
        cls.reported = reported
        cls.avoided_by, cls.after, cls.repairs_always = avoided_by, after, repairs_always
        cls.on_target = on_target
        FAULTS[code] = cls

    @classmethod
    def case(
        cls, name: str, feature: str, source: str, text: str, *runs: Run, **flags: bool
    ) -> Callable[[Build], Build]:
        """Make `smallest` of a function that returns the model (see `Case`).

        The function returns an ONNX model as text, or builds an IR.
        """

        def decorate(build: Build) -> Build:
            model: str | Callable[[], Model] = build if cls.engine == "openvino" else build()
            cls.smallest = Case(name, feature, source, text, model, runs, **flags)
            return build

        return decorate

    @classmethod
    def smallest_model(cls) -> Model:
        """Make the model of the case of a fault of OpenVINO."""
        build = cls.smallest.model
        assert not isinstance(build, str)
        return build()

    def find(self, node: Node) -> Iterator[str]:
        """Yield a description of each occurrence of the pattern in `node`.

        The types in the model have been inferred before, but the model may be invalid.
        """
        yield from ()

    def is_repaired(self, node: Node) -> bool:
        """Return whether `repair` rewrites this node: by default, if `find` finds the pattern."""
        return next(self.find(node), None) is not None

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Rewrite a node for which `is_repaired` is true, by the operations that `w` emits."""
        raise NotImplementedError
