"""The base classes of passes, and the configuration of which passes run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from irloop.diagnostics import NOWHERE
from irloop.errors import IrloopError, PassError, UsageError
from irloop.graph.model import Model, Node
from irloop.graph.op import Op
from irloop.graph.walk import node_path

if TYPE_CHECKING:
    from irloop.passes.session import Facts

__all__ = ["ModelPass", "Pass", "PassConfig"]

#: Returns True for a node that a pass must not change.
Callback = Callable[[Node], bool]


class PassConfig:
    """The configuration of passes: which of them are enabled, and which nodes they must not change.

    A pass and the passes that it runs share one configuration.
    """

    def __init__(self) -> None:
        self._enabled: dict[str, bool] = {}
        self._callbacks: dict[str, Callback] = {}
        self._callback: Callback | None = None
        #: What is known of the model while a manager runs passes; None otherwise.
        self.facts: Facts | None = None

    def copy(self) -> PassConfig:
        """A copy of this configuration, which can be changed independently."""
        made = PassConfig()
        made._enabled, made._callbacks = dict(self._enabled), dict(self._callbacks)
        made._callback = self._callback
        return made

    def disable(self, *passes: Pass | type[Pass] | str) -> None:
        """Disable these passes: they do not run."""
        self._enabled.update({_name(item): False for item in passes})

    def enable(self, *passes: Pass | type[Pass] | str) -> None:
        """Enable these passes, including those that are off by default."""
        self._enabled.update({_name(item): True for item in passes})

    def is_disabled(self, transformation: Pass | type[Pass], *, default: bool = True) -> bool:
        """Return whether the pass must not run.

        A pass that is neither enabled nor disabled here runs if it is enabled by default, and with
        `default`.
        """
        enabled = transformation.enabled_by_default and default
        return not self._enabled.get(transformation.name, enabled)

    def set_callback(self, callback: Callback, *passes: Pass | type[Pass] | str) -> None:
        """Let `callback` decide which nodes these passes must not change.

        Without `passes`, it decides for all passes that have no callback of their own.
        """
        if not passes:
            self._callback = callback
        self._callbacks.update({_name(item): callback for item in passes})

    def skips(self, transformation: Pass, node: Node) -> bool:
        """Return whether the callback for this pass forbids changing `node`."""
        callback = self._callbacks.get(transformation.name, self._callback)
        if callback is None:
            return False
        with failures_named(transformation.name, node, "the callback for"):
            return bool(callback(node))


@contextmanager
def failures_named(name: str, node: Node | None = None, what: str = "") -> Iterator[None]:
    """Turn an exception that is not irloop's own into a `PassError`.

    The error names the pass `name`, the node if there is one, and `what`, if it is not empty.
    MemoryError and RecursionError are raised unchanged.
    """
    try:
        yield
    except (IrloopError, MemoryError, RecursionError):
        raise  # `guarded` turns these into errors that name the limit
    except Exception as error:
        subject = " ".join(filter(None, (what, f"pass {name} failed")))
        place = "" if node is None else f" at {node.op.label} {node_path(node)!r}"
        raise PassError(
            f"{subject}{place}: {type(error).__name__}: {error}",
            location=NOWHERE if node is None else node.location,
            cause=f"{type(error).__name__} in the code of the pass",
        ) from error


def _name(item: Pass | type[Pass] | str) -> str:
    return item if isinstance(item, str) else item.name


class Pass(ABC):
    """A transformation; users enable and disable it by its name."""

    name: ClassVar[str] = ""
    enabled_by_default: ClassVar[bool] = True
    #: The dialects it can work on.
    dialects: ClassVar[frozenset[str]] = frozenset({"openvino", "onnx"})

    @abstractmethod
    def run(self, model: Model, config: PassConfig) -> bool:
        """Change `model`; True when something was changed, False when nothing was."""

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        """Return whether the pass may change a model that has operations of these classes.

        A manager does not run a pass that does not concern the model. By default, each pass does.
        """
        return True

    def require_dialect(self, model: Model) -> None:
        """Refuse a model of a dialect that this pass does not support.

        Raises:
            UsageError: naming the pass and the dialect.
        """
        if model.dialect not in self.dialects:
            known = " and ".join(sorted(self.dialects))
            raise UsageError(f"pass {self.name} works on {known} models, not on {model.dialect}")


class ModelPass(Pass):
    """A pass that works on the whole model at once."""

    @abstractmethod
    def run_on_model(self, model: Model) -> bool:
        """Change `model`; True when something was changed."""

    def run(self, model: Model, config: PassConfig) -> bool:
        self.require_dialect(model)
        self.config = config
        return self.run_on_model(model)

    def transformation_callback(self, node: Node) -> bool:
        """Return whether the user does not want `node` changed.

        A pass calls this before it changes a node.
        """
        return self.config.skips(self, node)


def by_name(passes: Iterable[type[Pass]]) -> dict[str, type[Pass]]:
    """Pass classes, keyed by their names."""
    return {item.name: item for item in passes}
