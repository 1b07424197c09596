"""For every malformed model, cause and location are reported, nothing is written, and nothing
hangs.
"""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner, Result

from tests.malformed.all_cases import CASES, RECORD
from tests.malformed.cases import Case, found_by

#: Processor seconds for one model, which do not depend on other load; each model takes some
#: milliseconds.
SECONDS = 20
BAD = [case for case in CASES if not case.good]
Irloop = Callable[..., Result]


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Raise an exception when `SECONDS` are over, if the system supports it."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {SECONDS} seconds of processor time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture
def irloop() -> Irloop:
    (entry,) = entry_points(group="console_scripts", name="irloop")
    command = entry.load()

    def run(*arguments: object) -> Result:
        result = CliRunner().invoke(command, [str(item) for item in arguments], prog_name="irloop")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        assert "internal error" not in result.output
        return result

    return run


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cause_and_location_are_named(case: Case, irloop: Irloop, tmp_path: Path) -> None:
    model = case.make(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = irloop("validate", model, *case.options(tmp_path), "--format", "json")
    # In kibibytes on Linux: irloop does not allocate the memory for what the file claims to
    # contain.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    findings = json.loads(result.stdout)["findings"]
    if case.good:
        assert (result.exit_code, findings) == (0, [])
        return
    assert found_by(case, model, findings) is not None, findings
    assert result.exit_code == (0 if case.mild else 1)


@pytest.mark.parametrize(
    "case", [case for case in BAD if not case.mild], ids=lambda case: case.name
)
def test_nothing_is_written(case: Case, irloop: Irloop, tmp_path: Path) -> None:
    model = case.make(tmp_path)
    folder = tmp_path / "made"
    folder.mkdir()
    target = folder / ("made.xml" if model.suffix == ".onnx" else "made.onnx")
    result = irloop("convert", model, "-o", target)
    assert result.exit_code in (1, 2)
    assert list(folder.iterdir()) == []


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_reactions_of_engines_are_recorded() -> None:
    assert set(json.loads(RECORD.read_text(encoding="utf-8"))) == {case.name for case in CASES}
