"""Validating and reading agree: `read_model` reads every file without errors of `validate`.

The fixtures of rules, and other models, are damaged at random with a fixed seed. The reader raises
the problem that a rule reports, with the same wording; irloop reads every file that OpenVINO reads.
"""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import irloop
from irloop.diagnostics import Diagnostic, Severity
from irloop.errors import ReadError
from irloop.formats.openvino.reader import read
from irloop.validation.engine import validate
from tests.formats.openvino.test_mutations import mutated
from tests.rule_fixtures import Fixture, fixtures

MODELS = Path(__file__).resolve().parents[1] / "fixtures"
FIXTURES = [item for item in fixtures() if item.path.suffix == ".xml"]
PLAIN = sorted([*(MODELS / "ir").glob("*.xml"), *(MODELS / "models").glob("*/model.xml")])
GROUPS = ("irl1", "irl2", "irl3", "irl4", "irl5", "irl6", "irl7", "irl8", "irl9", "plain")
ROUNDS = 150


def sources(group: str, folder: Path) -> list[tuple[str, Path]]:
    """The texts of the models in a group, each with the path of its .bin."""
    if group == "plain":
        return [(path.read_text(encoding="utf-8"), path.with_suffix(".bin")) for path in PLAIN]
    found = []
    for item in FIXTURES:
        if not item.code.lower().startswith(group) or (group == "irl1" and item.code == "IRL101"):
            continue
        text = item.path.read_text(encoding="utf-8", errors="replace")
        place = folder / item.path.parent.name / item.path.stem
        place.mkdir(parents=True, exist_ok=True)
        found.append((text, Fixture(item.code, item.path).weights(place)))
    return found


def mutants(group: str, folder: Path) -> list[tuple[Path, Path]]:
    """Files that are damaged in one to three places, each with its .bin."""
    rng = random.Random(group)  # noqa: S311 (the same mutants each time)
    texts = sources(group, folder)
    found = []
    for number in range(ROUNDS):
        text, weights = rng.choice(texts)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            text = mutated(text, rng)
        path = folder / f"{number}.xml"
        path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        found.append((path, weights))
    return found


def refusal(path: Path, weights: Path) -> Diagnostic | None:
    try:
        read(path, weights)
    except ReadError as error:
        return error.diagnostics[0]
    return None


@pytest.mark.parametrize("group", GROUPS)
def test_files_that_validate_accepts_can_be_read(group: str, tmp_path: Path) -> None:
    valid = refused = 0
    for path, weights in mutants(group, tmp_path):
        report = validate(path, weights=weights)
        errors = [item for item in report if item.severity is Severity.ERROR]
        problem = refusal(path, weights)
        valid += not errors
        refused += problem is not None
        if problem is None:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        assert errors, f"valid, but {problem}\n{text}"
        same = [item for item in errors if item.code == problem.code]
        # A finding that results from another one is omitted from the report.
        if same:
            assert problem.message in {item.message for item in same}, text
    # Both outcomes occur.
    assert valid
    assert refused


def errors_of(path: Path, weights: Path) -> list[str]:
    found = validate(path, weights=weights).sorted()
    return [str(item) for item in found if item.severity is Severity.ERROR]


BROKEN = [item for item in FIXTURES if item.path.name.startswith("bad_")]


@pytest.mark.parametrize("item", BROKEN, ids=lambda item: f"{item.code}-{item.path.stem}")
def test_conversions_and_passes_raise_what_the_rules_report(item: Fixture, tmp_path: Path) -> None:
    weights = item.weights(tmp_path)
    expected = errors_of(item.path, weights)
    if refusal(item.path, weights) is not None:
        assert str(refusal(item.path, weights)) in expected
        return
    for work in (irloop.convert, lambda model: irloop.transform(model, ["unroll"])):
        raised = expected
        try:
            work(irloop.read_model(item.path, weights))
        except irloop.IrloopError as error:
            raised = [str(found) for found in error.diagnostics]
        # The conversion itself names unknown operations, with the reason why it refuses them.
        assert raised == expected or not expected or item.code == "IRL109"


@pytest.mark.parametrize("name", ["irl512/bad_used.xml", "irl701/bad_no_else.xml"])
def test_a_model_that_cannot_be_run_fails_with_what_the_rules_report(
    name: str, tmp_path: Path
) -> None:
    (item,) = (item for item in BROKEN if "/".join(item.path.parts[-2:]) == name)
    weights = item.weights(tmp_path)
    found = validate(item.path, weights=weights).sorted()
    (expected,) = (each for each in found if each.severity is Severity.ERROR)
    model = irloop.read_model(item.path, weights)
    inputs = irloop.random_inputs(model)
    with pytest.raises(irloop.IrloopError) as raised:
        irloop.run(model, inputs)
    assert [str(each) for each in raised.value.diagnostics] == [str(expected)]
    for given in (None, inputs):
        compared = irloop.compare(model, model, engines="numpy", inputs=given)
        assert compared.outcome == "inconclusive"
        assert expected.message in str(compared)


def test_the_error_of_a_changed_model_is_not_that_of_its_file(tmp_path: Path) -> None:
    (item,) = (item for item in BROKEN if item.path.parts[-2:] == ("irl701", "bad_no_else.xml"))
    model = irloop.read_model(item.path, item.weights(tmp_path))
    model.graph.results[0].name = "another"
    with pytest.raises(irloop.InferenceError, match="does not have the bodies"):
        irloop.convert(model)


SCRIPT = """
import sys
import openvino

core = openvino.Core()
for line in sys.stdin:
    path, weights = line.rstrip("\\n").split("\\t")
    try:
        core.read_model(path, weights)
    except Exception:
        print("refused", flush=True)
    else:
        print("read", flush=True)
"""


def _said(lines: str) -> str:
    """The output of a child with OpenVINO; one that hangs is replaced by another.

    About one in thousands of processes with OpenVINO never ends: it waits for its own lock.
    """
    command = [sys.executable, "-c", SCRIPT]
    for _ in range(2):
        with suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                command, input=lines, capture_output=True, text=True, timeout=120, check=False
            )
            return done.stdout
    pytest.fail("OpenVINO hung twice")


#: Models that OpenVINO 2026.4 reads but irloop refuses: XML that is not well-formed, a second layer
#: of an id in place of the first, models without outputs, a dimension of 2^64 as 0, a text as
#: weights, and a back edge to a layer that is not in the body, so that the state is never carried;
#: and a constant of the element type "undefined".
STRICTER = {"IRL101", "IRL105", "IRL108", "IRL111", "IRL112", "IRL301", "IRL516"}


@pytest.mark.parametrize("group", GROUPS)
def test_files_that_openvino_reads_can_be_read(group: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    given = mutants(group, tmp_path)
    # If a mutant ends the process, the verdicts after it are missing.
    verdicts = _said("".join(f"{path}\t{weights}\n" for path, weights in given)).split()
    accepted = [item for item, verdict in zip(given, verdicts, strict=False) if verdict == "read"]
    assert verdicts
    refusals = [refusal(path, weights) for path, weights in accepted]
    wrong = [item for item in refusals if item is not None and item.code not in STRICTER]
    assert wrong == []
