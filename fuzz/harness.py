"""The work of every harness: everything that users do; only `IrloopError` may be raised.

Inputs run in this process with a budget, so that sizes that a file merely claims are refused.
Anything else runs into libFuzzer's limits.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from pathlib import Path
from shutil import rmtree

import onnx_steps
from click.testing import CliRunner
from irloop_cli.baseline import Baseline
from irloop_cli.inspect import command as inspect
from irloop_cli.settings import read_settings
from readings import one_reading_in_pieces

import irloop
from irloop.budget import Budget
from irloop.diagnostics import Severity
from irloop.fleet.fetching import fetch
from irloop.fleet.sources import entries
from irloop.fleet.summary import summarized
from irloop.fleet.table import rows_of
from irloop.formats.onnx import apart
from irloop.pages.page import page as empty_page

__all__ = ["STEPS", "arrays", "attempt", "everything", "folder", "settings"]

#: The limits of one input: memory of a step, seconds, steps.
MEMORY, SECONDS, STEPS_A_INPUT = 256 << 20, 5.0, 100_000

#: The name of an exception of Python in a message, which is about the code and not the model.
_RAW = re.compile(r"\b(?:Index|Key|Type|Attribute|Value|ZeroDivision|Overflow|Assertion)Error\b")

folder = Path(tempfile.mkdtemp(prefix="fuzz-of-irloop-"))

# A new interpreter for each step takes a fifth of a second.
onnx_steps.start()
apart.answer = onnx_steps.in_a_fork


def attempt(step: Callable[[], object]) -> bool:
    """Run one step; irloop's own exceptions are allowed, except those that signal a bug.

    Returns False when the step was refused.
    """
    with Budget(MEMORY, SECONDS, STEPS_A_INPUT).entered():
        try:
            step()
        except (irloop.InternalError, irloop.VerifyError):
            raise
        except irloop.IrloopError as error:
            raw = _RAW.search(str(error))
            if raw is not None:
                cause = error.__cause__ or error
                raise AssertionError(f"a message contains {raw.group()}") from cause
            return False
    return True


def everything(path: Path) -> None:
    """Read, validate, infer, draw, run, convert and save a model."""
    models: list[irloop.Model] = []
    attempt(lambda: irloop.validate(path))
    attempt(lambda: models.append(irloop.read_model(path)))
    for model in models:
        for step in (_inferred, _drawn, _ran, _converted, _saved):
            attempt(partial(step, model))
    for file in folder.glob("out.*"):
        with suppress(OSError):
            file.unlink()


def old_ir(path: Path) -> None:
    """Do everything with an IR of versions 2 to 7, whose .bin follows its .xml after a NUL.

    The reader refuses nothing that is valid, and what was converted to IR version 11 is read again.
    """
    markup, _, weights = path.read_bytes().partition(b"\0")
    path.write_bytes(markup)
    path.with_suffix(".bin").write_bytes(weights)
    reports: list[irloop.Report] = []
    if not attempt(lambda: reports.append(irloop.validate(path))):
        return
    is_valid = not reports[0].has_errors
    models: list[irloop.Model] = []
    attempt(lambda: models.append(_accepted(path, is_valid=is_valid)))
    for model in models:
        for step in (_inferred, _drawn, _ran, _converted, _saved_and_read):
            attempt(partial(step, model))
        attempt(lambda: _inspected(path))
        page(path)
    for file in folder.glob("out.*"):
        file.unlink()


def _accepted(path: Path, *, is_valid: bool) -> irloop.Model:
    try:
        return irloop.read_model(path)
    except irloop.ReadError as error:
        if is_valid:
            raise AssertionError(f"valid, but refused: {error.message}") from error
        raise


def _saved_and_read(model: irloop.Model) -> None:
    _saved(model)
    report = irloop.validate(folder / "out.xml")
    errors = [item for item in report.diagnostics if item.severity is Severity.ERROR]
    assert not errors, f"wrote an invalid IR, {errors[0].code}: {errors[0].message}"


def _inspected(path: Path) -> None:
    result = CliRunner().invoke(inspect, [str(path)])
    if result.exception is not None:
        raise result.exception


def _inferred(model: irloop.Model) -> None:
    irloop.infer(model)


def _drawn(model: irloop.Model) -> None:
    irloop.draw(model, "svg", limit=50)


def _ran(model: irloop.Model) -> None:
    limits = irloop.Limits(max_iterations=100, max_memory=MEMORY, max_seconds=SECONDS)
    irloop.run(model, irloop.random_inputs(model), limits=limits)


def _converted(model: irloop.Model) -> None:
    made, _ = irloop.convert(model)
    irloop.save_model(made, folder / ("out.onnx" if made.dialect == "onnx" else "out.xml"))


def _saved(model: irloop.Model) -> None:
    irloop.save_model(model, folder / ("out.onnx" if model.dialect == "onnx" else "out.xml"))


def arrays(path: Path) -> None:
    """Read arrays, write them, and read them again."""
    attempt(lambda: _there_and_back(path))


def _there_and_back(path: Path) -> None:
    irloop.write_arrays(folder / "again.npz", irloop.read_arrays(path))
    irloop.read_arrays(folder / "again.npz")


def settings(path: Path) -> None:
    """Read settings, and a baseline from the bytes after a NUL."""
    data, _, known = path.read_bytes().partition(b"\0")
    path.write_bytes(data)
    baseline = folder / "known.json"
    baseline.write_bytes(known)
    attempt(lambda: read_settings(str(path)))
    attempt(lambda: Baseline.read(str(baseline)))


def page(path: Path) -> None:
    """Write the page of a model: the model's texts add no markup, and nothing invisible."""
    texts: list[str] = []
    attempt(lambda: texts.append(irloop.view(path)))
    for text in texts:
        assert (text.count("<"), text.count(">")) == _signs(), "markup from a model"
        assert all(char.isprintable() for char in set(text) - {"\n"}), "an invisible character"


@cache
def _signs() -> tuple[int, int]:
    """How often the signs of markup are in a page without a model."""
    text = empty_page({})
    return text.count("<"), text.count(">")


def table(path: Path) -> None:
    """Report a table of results, one of whose files has these bytes."""
    part = folder / "results" / "table" / "day=2026-11-28" / "step=validate" / "part-00.parquet"
    part.parent.mkdir(parents=True, exist_ok=True)
    path.replace(part)
    results = str(folder / "results")
    attempt(lambda: summarized(results, results, all_paths=True))
    attempt(lambda: rows_of(results, ["d"], lambda _: True))


def archive(path: Path) -> None:
    """List the models in an archive, and extract them."""
    is_zip = path.read_bytes()[:2] == b"PK"
    source = path.replace(path.with_suffix(".zip" if is_zip else ".tar"))
    copies = folder / "copies"
    copies.mkdir()
    attempt(lambda: list(fetch(list(islice(entries([str(source)]), 50)), str(copies), 1 << 20)))
    assert {item.name for item in copies.iterdir()} <= {str(number) for number in range(50)}
    rmtree(copies)


#: The work on a file of each kind.
STEPS: dict[str, Callable[[Path], None]] = {
    "ir": everything,
    "old-ir": old_ir,
    "onnx": everything,
    "onnx-text": everything,
    "npz": arrays,
    "settings": settings,
    "ir-readings": one_reading_in_pieces,
    "onnx-readings": one_reading_in_pieces,
    "page": page,
    "table": table,
    "archive": archive,
}
