"""Running passes in order: timed, counted, checked, observed."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.graph.verify import verify
from irloop.passes.base import Pass, PassConfig
from irloop.passes.rewrite import GraphRewrite

__all__ = ["Manager", "PassRecord", "profile_csv", "profile_table"]


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did: seconds, matches by matcher, whether it changed the model."""

    name: str
    manager: str
    seconds: float
    modified: bool
    matches: int
    depth: int


Observer = Callable[[PassRecord, Model], None]


class Manager(Pass):
    """Runs passes one after the other; is itself a pass, so managers nest.

    After each pass that changed something the types are inferred again (`validate`) and, on
    demand, the graph is verified (`check`). `observers` see every record with the model as the
    pass left it.
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
        self.records: list[PassRecord] = []
        self._depth = 0

    def register(self, item: Pass) -> None:
        """Append a pass."""
        self.passes.append(item)

    def run_passes(self, model: Model) -> bool:
        """Run all passes on `model`; True when one of them changed it.

        Raises:
            InferenceError: when a pass left types that contradict each other.
            VerifyError: with `check`, when a pass broke the graph.
        """
        return self.run(model, self.config)

    def run(self, model: Model, config: PassConfig) -> bool:
        self.records = []
        modified = False
        for item in self.passes:
            if config.is_disabled(item):
                continue
            modified |= self._run_one(item, model, config)
        return modified

    def _run_one(self, item: Pass, model: Model, config: PassConfig) -> bool:
        started = time.perf_counter()
        nested = isinstance(item, Manager)
        if isinstance(item, Manager):
            item._depth = self._depth + 1
        modified = item.run(model, config)
        if modified and self.validate and not nested:
            Inference().run(model.graph)
        if modified and self.check:
            verify(model.graph)
        if isinstance(item, Manager):
            self.records += item.records
        matches = sum(item.matches.values()) if isinstance(item, GraphRewrite) else 0
        record = PassRecord(
            item.name,
            self.name,
            time.perf_counter() - started,
            modified,
            matches,
            self._depth,
        )
        self.records.append(record)
        for observer in self.observers:
            observer(record, model)
        return modified


def profile_table(records: Sequence[PassRecord]) -> str:
    """The records as a table for people."""
    width = max([4, *(len(record.name) + 2 * record.depth for record in records)])
    lines = [f"{'pass':<{width}}  {'ms':>9}  {'matches':>7}  changed"]
    for record in records:
        name = "  " * record.depth + record.name
        changed = "yes" if record.modified else "no"
        lines.append(
            f"{name:<{width}}  {record.seconds * 1e3:>9.2f}  {record.matches:>7}  {changed}"
        )
    return "\n".join(lines)


def profile_csv(records: Sequence[PassRecord]) -> str:
    """The records as CSV: pass, manager, milliseconds, matches, modified."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("pass", "manager", "milliseconds", "matches", "modified"))
    for record in records:
        writer.writerow(
            (
                record.name,
                record.manager,
                f"{record.seconds * 1e3:.3f}",
                record.matches,
                str(record.modified).lower(),
            )
        )
    return text.getvalue()
