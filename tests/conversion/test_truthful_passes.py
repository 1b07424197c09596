"""Each pass of a conversion says truthfully whether it changed the model."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

import irloop
from irloop.conversion import pipelines
from irloop.errors import IrloopError
from irloop.graph.clone import clone_graph
from irloop.graph.model import Graph, Model
from irloop.graph.op import Parameter, Result
from irloop.passes.manager import Manager
from irloop.passes.profile import PassRecord
from tests.equality import difference

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

#: Fixtures of validation rules include models that are invalid and cannot be converted.
MODELS = sorted(
    path
    for folder in ("ir", "models", "rules")
    for path in (FIXTURES / folder).rglob("*")
    if path.suffix in {".xml", ".onnx"}
)


class _Watcher:
    """Collects the passes whose `modified` differs from what a comparison of the graphs finds."""

    def __init__(self) -> None:
        self.untrue: list[str] = []
        self.passes: set[str] = set()
        self._before: Graph | None = None

    def before(self, name: str, model: Model) -> None:
        self._before = clone_graph(model.graph)

    def after(self, record: PassRecord, model: Model) -> None:
        assert self._before is not None
        found = difference(self._before, model.graph)
        self.passes.add(record.name)
        # The translation changes the dialect, too, even if a graph has no operations.
        operations = [
            item for item in self._before.nodes if not isinstance(item.op, Parameter | Result)
        ]
        if record.name == "translate" and not operations:
            return
        if record.modified is (found is None):
            self.untrue.append(f"{record.name} says {record.modified}; difference: {found}")


def test_passes_of_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = _Watcher()
    monkeypatch.setattr(pipelines, "Manager", partial(Manager, observers=[watcher]))
    converted = 0
    for path in MODELS:
        try:
            irloop.convert(irloop.read_model(path))
        except IrloopError:
            continue
        converted += 1
    assert converted > 50
    assert {"keep_declared_dims", "carry_narrow_elements"} <= watcher.passes
    assert watcher.untrue == []
