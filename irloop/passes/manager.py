"""Runs passes in order; measures times, counts matches, checks the graph and calls observers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from irloop.errors import InferenceError, VerifyError
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.graph.verify import verify
from irloop.graph.walk import count_nodes, kinds_of
from irloop.passes.base import Pass, PassConfig, failures_named
from irloop.passes.graph_rewrite import GraphRewrite, LocalPass
from irloop.passes.profile import PassRecord, Profile
from irloop.passes.session import Facts
from irloop.progress import counted

__all__ = ["Manager", "Observer"]


class Observer(Protocol):
    """Interface of an object that is told about each pass before and after it runs.

    This includes the passes of nested managers.
    """

    def before(self, name: str, model: Model) -> None:
        """Called before the pass `name` runs on `model`."""

    def after(self, record: PassRecord, model: Model) -> None:
        """Called after a pass has run; `model` is the result, with types inferred again."""


class Manager(Pass):
    """Runs passes one after the other. A manager is itself a pass, so managers can be nested.

    After each pass that changed something the types are inferred again (`validate`) and, on
    demand, the graph is verified (`check`). Nested managers use the `PassConfig`, the `check`
    setting and the observers of the outer manager.
    """

    name = "manager"

    def __init__(
        self,
        passes: Sequence[Pass] = (),
        *,
        config: PassConfig | None = None,
        name: str = "",
        validate: bool = True,
        check: bool = False,
        observers: Sequence[Observer] = (),
    ) -> None:
        if name:
            self.name = name  # type: ignore[misc]
        self.passes = list(passes)
        self.config = PassConfig() if config is None else config
        self.validate = validate
        self.check = check
        self.observers = list(observers)
        #: The registered passes that run only if a configuration enables them.
        self._off: set[Pass] = set()
        self.records: list[PassRecord] = []
        #: The number of nodes after the last pass; None before the first one.
        self._nodes: int | None = None

    def register(self, transformation: Pass, *, enabled: bool = True) -> None:
        """Append a pass; a pass that is not `enabled` runs only if the configuration enables it."""
        self.passes.append(transformation)
        if not enabled:
            self._off.add(transformation)

    @property
    def profile(self) -> Profile:
        """The records of the passes in the last run."""
        return Profile(self.records)

    def run_passes(self, model: Model) -> bool:
        """Run all passes on `model`; True when one of them changed it.

        Raises:
            InferenceError: when a pass left types that contradict each other; the error names the
                pass.
            VerifyError: with `check`, when a pass left an inconsistent graph; the error names the
                pass.
            PassError: when a pass raised another exception; the error names the pass and the node.
        """
        return self.run(model, self.config)

    def run(self, model: Model, config: PassConfig) -> bool:
        return self._run_all(model, config, self, 0)

    def _run_all(self, model: Model, config: PassConfig, outer: Manager, depth: int) -> bool:
        """Run all passes that are not disabled; return whether one of them modified the model.

        The observers and the checks of `outer`, the outermost manager, apply to each pass. `depth`
        is the number of managers in which this one is nested.
        """
        self.records = []
        if depth:
            return self._run_each(model, config, outer, depth)
        outer._nodes = None
        # A pass may itself run a manager with the same configuration.
        around, config.facts = config.facts, Facts()
        try:
            return self._run_each(model, config, outer, depth)
        finally:
            config.facts = around

    def _run_each(self, model: Model, config: PassConfig, outer: Manager, depth: int) -> bool:
        modified = False
        passes: Iterable[Pass] = self.passes
        passes = passes if depth else counted("passes", self.passes, len(self.passes))
        for item in passes:
            if not config.is_disabled(item, default=item not in self._off):
                modified |= self._run_one(item, model, config, outer, depth)
        return modified

    def _run_one(
        self, step: Pass, model: Model, config: PassConfig, outer: Manager, depth: int
    ) -> bool:
        for observer in outer.observers:
            observer.before(step.name, model)
        size = count_nodes(model.graph) if outer._nodes is None else outer._nodes
        started = time.perf_counter()
        if not step.concerns(kinds_of(model.graph)):
            step.require_dialect(model)
            modified = False
        elif isinstance(step, Manager):
            modified = step._run_all(model, config, outer, depth + 1)
        else:
            with failures_named(step.name):
                modified = step.run(model, config)
        seconds = time.perf_counter() - started
        if modified and config.facts is not None:
            config.facts.forget()
        if modified and not isinstance(step, Manager):
            with _blamed_on(step):
                if self.validate and outer.validate:
                    Inference().run(model.graph)
                if self.check or outer.check:
                    verify(model.graph)
        matches = step.matches if isinstance(step, GraphRewrite | LocalPass) else {}
        outer._nodes = count_nodes(model.graph) if modified else size
        sizes = size, outer._nodes
        record = PassRecord(step.name, self.name, seconds, modified, dict(matches), sizes, depth)
        self.records.append(record)
        if isinstance(step, Manager):
            self.records += step.records
        for observer in outer.observers:
            observer.after(record, model)
        return modified


@contextmanager
def _blamed_on(transformation: Pass) -> Iterator[None]:
    try:
        yield
    except (InferenceError, VerifyError) as error:
        message = f"after pass {transformation.name}: {error.message}"
        found = [replace(error.diagnostics[0], message=message), *error.diagnostics[1:]]
        raise type(error)(message, diagnostics=found) from error
