"""How many passes a conversion runs, and how often it infers all types, for two small models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import irloop
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model
from irloop.graph.types import ValueType
from irloop.passes.base import Pass
from irloop.passes.manager import Manager

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


class Runs:
    """Counts runs of passes, and inferences of whole models."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passes: list[str] = []
        self.inferences = 0
        infer = Inference.run

        def counted(
            inference: Inference,
            graph: Graph,
            types: Sequence[ValueType] | None = None,
            constants: Mapping[int, Any] | None = None,
        ) -> None:
            self.inferences += graph.owner is None
            infer(inference, graph, types, constants)

        monkeypatch.setattr(Inference, "run", counted)
        run_one = Manager._run_one

        def noted(manager: Manager, step: Pass, *rest: Any) -> bool:
            if "run" not in vars(step):
                monkeypatch.setattr(step, "run", self._noting(step), raising=False)
            return run_one(manager, step, *rest)

        monkeypatch.setattr(Manager, "_run_one", noted)

    def _noting(self, step: Pass) -> Callable[..., bool]:
        run = step.run

        def noting(*rest: Any) -> bool:
            self.passes.append(step.name)
            return run(*rest)

        return noting

    def of(self, model: Model) -> tuple[Model, tuple[int, int]]:
        """Convert a model; return the result, and the numbers of passes and inferences."""
        self.passes, self.inferences = [], 0
        made, _ = irloop.convert(model)
        return made, (len(self.passes), self.inferences)


@pytest.mark.parametrize(
    ("file", "to_onnx", "to_openvino"),
    [("models/recurrent/model.xml", (11, 5), (21, 4)), ("ir/loop_mo2021.xml", (10, 4), (25, 4))],
)
def test_a_conversion_runs_only_passes_that_may_change_something(
    file: str,
    to_onnx: tuple[int, int],
    to_openvino: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, runs = irloop.read_model(FIXTURES / file), Runs(monkeypatch)
    made, counts = runs.of(model)
    assert counts == to_onnx, runs.passes
    _, counts = runs.of(made)
    assert counts == to_openvino, runs.passes


def test_types_are_inferred_again_only_after_a_change() -> None:
    from irloop.passes.session import Facts, Session

    model = irloop.read_model(FIXTURES / "models/recurrent/model.xml")
    assert Session.of(model, None) is not Session.of(model, None)
    facts = Facts()
    first = Session.of(model, facts)
    assert Session.of(model, facts) is first
    facts.forget()
    assert Session.of(model, facts) is not first
