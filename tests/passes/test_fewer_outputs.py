"""Removing an output of a model, or an input that nothing reads, must not change other outputs.

A loop must run as often as before, even if what counted its iterations is not read any more. The
expected values are those of the model with all outputs: NumPy's for generated programs, those that
conformance cases state, and irloop's for the original otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irloop
from benchmarks.loop_programs import ir_programs, onnx_programs
from benchmarks.loop_programs.fewer_outputs import choices, with_outputs
from benchmarks.loop_programs.judge import FORMS, PASSES, Form, unlike
from irloop.conformance.catalogue import CASES
from irloop.conformance.suite import arrays_of, write_case
from irloop.faults.case import Case
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model
from irloop.passes.common import LIBRARY
from tests.drawn.loops import Plan, build, plans

Sets = Sequence[Sequence[Any]]
Change = Callable[[Model], Model]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "ir"


def outputs(model: Model, sets: Sets) -> list[list[Any]]:
    session = irloop.Session(model)
    return [list(session.run(list(given)).values()) for given in sets]


def changes(model: Model, random: Random, most: int) -> Iterator[tuple[str, Change]]:
    """Some conversions and passes: the other format, the way back, and passes of the library."""
    forms = random.sample(FORMS, most)
    for form in forms:
        yield f"convert {form}", partial(_converted, form)
    yield f"back {forms[0]}", lambda few: _converted(forms[-1], _converted(forms[0], few))
    names = [name for name in PASSES if model.dialect in LIBRARY[name].dialects]
    for name in random.sample(names, most):
        yield f"pass {name}", partial(_transformed, name)


def _converted(form: Form | None, model: Model) -> Model:
    return irloop.convert(model, loops=form)[0]


def _transformed(name: str, model: Model) -> Model:
    return irloop.transform(model, [name])[0]


def keeps(
    model: Model, sets: Sets, wanted: list[list[Any]], random: Random, most: int
) -> list[str]:
    """The changes after which a model with fewer outputs has others than `wanted`."""
    kept = random.choice(list(choices(len(wanted[0]))))
    few, inputs = with_outputs(model, kept, prune=random.random() < 0.5)
    some = [[given[at] for at in inputs] for given in sets]
    left = [[value for at, value in enumerate(row) if at in kept] for row in wanted]
    found = []
    for name, change in changes(model, random, most):
        try:
            made = change(few)
        except irloop.UnsupportedError:
            continue
        reason = unlike(outputs(made, some), left)
        if reason:
            found.append(f"{name}, outputs {sorted(kept)}: {reason}")
    return found


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans(), st.randoms(use_true_random=False))
def test_a_pass_keeps_the_other_outputs(name: str, plan: Plan, random: Random) -> None:
    original, arrays = build(plan)
    wanted = outputs(original, [arrays])
    kept = random.choice(list(choices(len(wanted[0]))))
    few, inputs = with_outputs(original, kept, prune=random.random() < 0.5)
    left = [[value for at, value in enumerate(wanted[0]) if at in kept]]
    some = [[arrays[at] for at in inputs]]
    for model in (few, _converted(random.choice(FORMS), few)):
        if model.dialect in LIBRARY[name].dialects:
            made, _ = irloop.transform(model, [name])
            assert unlike(outputs(made, some), left) == ""


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans(), st.randoms(use_true_random=False))
def test_a_conversion_keeps_the_other_outputs(plan: Plan, random: Random) -> None:
    original, arrays = build(plan)
    wanted = outputs(original, [arrays])
    assert keeps(original, [arrays], wanted, random, 2) == []


#: Cases with values of both engines' formats; those that an engine may refuse state no values.
STATED = [case for case in CASES if not (case.may_be_refused or case.on_demand)]


@pytest.mark.parametrize("case", STATED, ids=lambda case: case.name)
def test_a_case_keeps_the_other_outputs(case: Case, tmp_path: Path) -> None:
    model, _ = write_case(case, tmp_path)
    sets = [arrays_of(item.inputs, model.graph.inputs) for item in case.runs]
    random = Random(case.name)  # noqa: S311
    assert keeps(model, sets, outputs(model, sets), random, 1) == []


@pytest.mark.parametrize("seed", range(7100, 7105))
def test_a_program_in_ir_keeps_the_other_outputs(seed: int) -> None:
    program = ir_programs.draw(seed)
    random = Random(seed)  # noqa: S311
    assert keeps(program.model, program.sets, program.expected, random, 1) == []


@pytest.mark.parametrize("seed", range(7100, 7105))
def test_a_program_in_onnx_keeps_the_other_outputs(seed: int, tmp_path: Path) -> None:
    program = onnx_programs.draw(seed)
    onnx.save(program.proto, tmp_path / "model.onnx")
    model = irloop.read_model(tmp_path / "model.onnx")
    wanted = outputs(model, program.sets)
    assert keeps(model, program.sets, wanted, Random(seed), 1) == []  # noqa: S311


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.xml")), ids=lambda path: path.stem)
def test_a_fixture_keeps_the_other_outputs(path: Path) -> None:
    model = irloop.read_model(path)
    numbers = np.random.default_rng(0)
    given = []
    for value in model.graph.inputs:
        shape = [dim if isinstance(dim, int) else 3 for dim in shape_of(value).dims or ()]
        given.append(numbers.integers(0, 3, shape).astype(element_of(value).numpy()))
    wanted = outputs(model, [given])
    assert keeps(model, [given], wanted, Random(path.stem), 3) == []  # noqa: S311
