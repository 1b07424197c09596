"""Arguments of the Python functions have the names of the command line's options."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import irloop
from irloop.passes.common import DeadCode
from irloop.testing import assert_equivalent

MODEL = Path(__file__).parent / "fixtures" / "models" / "recurrent" / "model.xml"

#: Each function with its command, and the arguments that the command expresses differently: the
#: names of files, options that choose a format of output, objects that only Python has.
FUNCTIONS: list[tuple[Callable[..., Any], str, set[str]]] = [
    (irloop.compare, "check", {"first", "second"}),
    (assert_equivalent, "check", {"a", "b"}),
    (irloop.reduce, "reduce", {"first", "second"}),
    (irloop.diff, "diff", {"first", "second"}),
    # The command determines the format by the name of the file that it writes.
    (irloop.convert, "convert", {"model", "to"}),
    (irloop.extract, "extract", {"model"}),
    (irloop.validate, "validate", {"path"}),
    (irloop.conform, "conformance", {"engine", "progress"}),
    # The option --check verifies and compares.
    (irloop.transform, "transform", {"model", "verify", "observers"}),
    (irloop.run, "run", {"model", "limits"}),
    # These are earlier names, which existing scripts use.
    (irloop.Limits, "run", {"iterations", "memory_bytes", "seconds"}),
    (irloop.random_inputs, "run", {"model"}),
    (irloop.read_model, "run", {"path", "functions", "without_weights"}),
    # The command writes the page to --output.
    (irloop.view, "view", {"model", "path"}),
    # The suffix determines the format.
    (irloop.save_model, "convert", {"model", "path"}),
]


def options(command: str) -> set[str]:
    """The options of a command as Python spells them, in singular and plural."""
    told = subprocess.run(
        [sys.executable, "-m", "irloop", command, "--help"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    names = {name.replace("-", "_") for name in re.findall(r"--([a-z][a-z0-9-]+)", told.stdout)}
    plurals = {f"{name}es" if name.endswith("s") else f"{name}s" for name in names}
    return names | plurals


@pytest.mark.parametrize(
    ("function", "command", "others"), FUNCTIONS, ids=[item[0].__name__ for item in FUNCTIONS]
)
def test_arguments_have_the_names_of_options(
    function: Callable[..., Any], command: str, others: set[str]
) -> None:
    names = set(inspect.signature(function).parameters)
    assert others <= names
    assert names - others <= options(command)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: irloop.transform(MODEL, "dead_code"), "passes"),
        (lambda: irloop.transform(MODEL, DeadCode()), "passes"),  # type: ignore[arg-type]
        (lambda: irloop.transform(MODEL, ["dead_code"], disable="dead_code"), "disable"),
        (lambda: irloop.validate(MODEL, engines="openvino"), "engines"),
        (lambda: irloop.validate(MODEL, select="IRL2"), "select"),
        (lambda: irloop.validate(MODEL, ignore="IRL2"), "ignore"),
        (lambda: irloop.conform("irloop", cases="if_chooses"), "cases"),
        (lambda: irloop.conform("irloop", features="If-8"), "features"),
        (lambda: irloop.compare(MODEL, MODEL, trips="5"), "trips"),  # type: ignore[arg-type]
        (lambda: irloop.compare(MODEL, MODEL, trips=5), "trips"),  # type: ignore[arg-type]
    ],
)
def test_a_single_value_in_place_of_a_list_is_refused(
    call: Callable[[], object], argument: str
) -> None:
    with pytest.raises(irloop.UsageError, match=f"{argument} is one value") as caught:
        call()
    assert f"{argument}=[" in str(caught.value)


def test_a_class_in_place_of_a_pass_is_refused() -> None:
    with pytest.raises(irloop.UsageError, match=r"write DeadCode\(\)"):
        irloop.transform(MODEL, [DeadCode])  # type: ignore[list-item]


@pytest.mark.parametrize("seeds", [0, -1, [0, 1]])
def test_invalid_numbers_of_seeds(seeds: Any) -> None:
    with pytest.raises(irloop.UsageError, match="seeds"):
        irloop.compare(MODEL, MODEL, engines="numpy", seeds=seeds)


def test_seeds_start_at_first_seed() -> None:
    found = irloop.compare(MODEL, MODEL, engines="numpy", seeds=2, first_seed=7)
    labels = " ".join(trial.label for trial in found.trials)
    assert "seed 7" in labels
    assert "seed 8" in labels
    assert "seed 0" not in labels


NOT_PATHS: list[Any] = [None, 3, [1], object()]

WRONG_TYPES: list[tuple[str, Callable[[Any], object], list[Any]]] = [
    ("path", irloop.read_model, NOT_PATHS),
    ("bin", lambda value: irloop.read_model(MODEL, value), [3, [1]]),
    ("path", irloop.validate, NOT_PATHS),
    ("path", irloop.fix, NOT_PATHS),
    ("model", lambda value: irloop.save_model(value, "x.xml"), [None, "x.xml"]),
    ("model", irloop.Session, [None, 3, "x.xml"]),
    ("model", irloop.infer, [None, "x.xml"]),
    ("select", lambda value: irloop.validate(MODEL, select=value), [[1]]),
    ("opset", lambda value: irloop.convert(MODEL, opset=value), ["17", [17]]),
    ("shapes", lambda value: irloop.convert(MODEL, shapes=value), [3, [1]]),
    ("types", lambda value: irloop.convert(MODEL, types=value), ["f32"]),
    ("inputs", lambda value: irloop.run(MODEL, value), [None, 3]),
    (
        "limits",
        lambda value: irloop.run(MODEL, irloop.random_inputs(MODEL), limits=value),
        [3, {"max_memory": 3}],
    ),
    ("text", irloop.explain, [None, 3]),
    ("depth", lambda value: irloop.draw(MODEL, depth=value), ["2"]),
]


@pytest.mark.parametrize(
    ("argument", "call", "value"),
    [(name, call, value) for name, call, values in WRONG_TYPES for value in values],
)
def test_an_argument_of_a_wrong_type_is_not_an_internal_error(
    argument: str, call: Callable[[Any], object], value: Any
) -> None:
    with pytest.raises(
        irloop.UsageError,
        match=rf"the (argument {argument} has|{argument} are)|this is not a model",
    ):
        call(value)
