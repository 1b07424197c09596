"""The work of a worker of the cluster: it fetches a batch of models and runs the steps on each."""

from __future__ import annotations

import atexit
import errno
import functools
import os
import pickle
import queue
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, NamedTuple

from irloop.diagnostics import one_line
from irloop.errors import UsageError
from irloop.files import reason_of, replacing, scratch
from irloop.fleet.fetching import Fetched, add_data, fetch, needs_copy
from irloop.fleet.known import Known
from irloop.fleet.places import is_local, put, without_secrets
from irloop.fleet.runner import Limits, Runner, Task
from irloop.fleet.sources import Entry
from irloop.fleet.verdicts import STEPS, TARGETS, done_key, settings_of, versions_of
from irloop.opening import SUFFIXES

__all__ = ["Job", "Orders", "Row", "failure", "head_of", "path_of", "run_batch", "versions", "warm"]

#: One row of the table, by the names of its columns.
Row = dict[str, Any]

#: Packages whose versions a sweep records.
PACKAGES = ("irloop", "onnx", "onnxruntime", "openvino")


#: Maximum length of a text from a model that is kept, in characters.
LONGEST = 2000

#: Number of models that are fetched while the steps run on another one.
AHEAD = 2


class Job(NamedTuple):
    """A model and the steps to run on it."""

    entry: Entry
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Orders:
    """The settings of a sweep, which are the same for all its batches.

    `target` is the address of the results. `known` is the address of the file that lists the steps
    of earlier sweeps; it is empty if there is no such file. `most` is the largest allowed size of a
    file in bytes.
    """

    to: str
    target: str
    known: str
    versions: tuple[tuple[str, str], ...]
    most: int
    memory: int | None
    seconds: float | None


def versions() -> tuple[tuple[str, str], ...]:
    """Return the installed versions of irloop and the engines as pairs (package, version).

    The version of a missing package is "". Reading the versions takes milliseconds, so they are
    cached until a folder in `sys.path` changes.
    """
    return _versions(tuple((place, _changed(place)) for place in sys.path))


def _changed(place: str) -> int:
    """The time, in nanoseconds, at which a folder last got or lost an entry.

    The result is 0 if the folder does not exist.
    """
    try:
        return os.stat(place or ".").st_mtime_ns
    except OSError:
        return 0


@functools.lru_cache(maxsize=1)
def _versions(places: tuple[tuple[str, int], ...]) -> tuple[tuple[str, str], ...]:
    """The versions of irloop and the engines; "" for a missing package.

    They are read again only if `places`, the folders of packages with the times of their last
    changes, differ from those of the previous call.
    """
    installed: list[tuple[str, str]] = []
    for name in PACKAGES:
        try:
            installed.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            installed.append((name, ""))
    return tuple(installed)


def run_batch(orders: Orders, batch: bytes, *, big: bool = False) -> bytes:
    """Run the steps on models; return a row for each model and step.

    If a step was already done on a file with the same digest, it is not run again, and the verdict
    in its row is empty. Batch and rows are pickled (`pickle.dumps`), because Dask passes bytes on
    unchanged, but would inspect every element of a list.

    Args:
        orders: the settings of the sweep.
        batch: the jobs, a pickled sequence of `Job`.
        big: true for big models. A process runs only one batch of big models at a time.

    Raises:
        UsageError: when this machine has different versions than the sweep, or results cannot be
            written.
    """
    if versions() != orders.versions:
        raise UsageError(
            "a worker has different versions of packages than the sweep began with",
            expected=_listed(orders.versions),
            found=_listed(versions()),
            fix="install the same packages on all workers",
        )
    known = Known.at(orders.known)
    with ExitStack() as stack:
        if big:
            stack.enter_context(_BIG)
        runner = stack.enter_context(_runner(Limits(orders.memory, orders.seconds)))
        folder = stack.enter_context(scratch())
        rows = _Work(orders, known, runner, folder).rows(pickle.loads(batch))  # noqa: S301 (ours)
        return pickle.dumps(rows)


def _facts(step: str, orders: Orders) -> tuple[str, str]:
    """Return two strings with all that influences the result of a sweep step such as "convert".

    The first string has the settings in `orders`, for example "to=onnx". The second string has the
    versions of irloop and of the packages that the step uses.
    """
    return settings_of(step, orders.to), versions_of(step, dict(orders.versions))


def _listed(found: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {version or 'missing'}" for name, version in found)


#: A worker runs one batch of big models at a time.
_BIG = threading.Lock()

_IDLE: list[Runner] = []


@atexit.register
def _end_children() -> None:
    while _IDLE:
        _IDLE.pop().close()


def warm(limits: Limits, steps: Sequence[str]) -> None:
    """Start a child process that imports the modules of `steps` before the first batch arrives.

    Do nothing if there is an idle child process already.
    """
    if _IDLE:
        return
    runner = Runner(limits)
    runner.load(steps)
    _IDLE.append(runner)


@contextmanager
def _runner(limits: Limits) -> Iterator[Runner]:
    """Provide a child process for a block: an idle one with equal limits, or else a new one.

    After the block, the process becomes idle. If the block fails, the process is closed.
    """
    runner = None
    with suppress(IndexError):
        runner = _IDLE.pop()
    if runner is not None and runner.limits != limits:
        runner.close()
        runner = None
    runner = runner or Runner(limits)
    try:
        yield runner
    except BaseException:
        runner.close()
        raise
    _IDLE.append(runner)


def _ahead(found: Iterator[Fetched]) -> Iterator[Fetched | None]:
    """Fetch models in a thread, ahead of their use, and yield them.

    Before it waits for a model that is not fetched yet, it yields None.
    """
    waiting: queue.Queue[Fetched | BaseException | None] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def work() -> None:
        end: BaseException | None = None
        try:
            for item in found:
                waiting.put(item)
                if stopped.is_set():
                    return
        except BaseException as error:
            end = error
        waiting.put(end)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            if waiting.empty():
                yield None
            fetched = waiting.get()
            if fetched is None:
                return
            if isinstance(fetched, BaseException):
                raise fetched
            yield fetched
    finally:
        stopped.set()
        while thread.is_alive():
            with suppress(queue.Empty):
                waiting.get(timeout=0.05)


@dataclass(slots=True)
class _Model(Task):
    """A task for the child process: one fetched model.

    `head` holds the columns that are equal in all rows of the model.
    """

    found: Fetched = field(kw_only=True)
    head: Row = field(kw_only=True)


class _Work:
    """Runs the steps on the models of a batch, and makes a table row for each model and step.

    Converted files are first written to the temporary `folder`.
    """

    def __init__(self, orders: Orders, known: Known, runner: Runner, folder: str) -> None:
        self._orders = orders
        self._known = known
        self._runner = runner
        self._folder = folder
        self._facts = {step: _facts(step, orders) for step in STEPS}
        self._rows: list[Row] = []
        #: The converted files of the models that the child works on.
        self._unfinished: set[str] = set()

    def rows(self, batch: Sequence[Job]) -> list[Row]:
        """Run the steps on all models of `batch`, and return a row for each model and step."""
        for model in self._runner.run(self._models(batch)):
            self._finish(model)
        return self._rows

    def _models(self, batch: Sequence[Job]) -> Iterator[_Model | None]:
        """Yield the models of `batch` that still have steps to run.

        Yields None at a point where the caller must finish the models yielded before. This is so,
        for example, if the next model would be written to the same file as a model that is still
        unfinished.
        """
        entries = [job.entry for job in batch]
        found_here = fetch(entries, self._folder, self._orders.most)
        is_remote = any(needs_copy(entry) for entry in entries)
        jobs = iter(batch)
        for candidate in _ahead(found_here) if is_remote else found_here:
            if candidate is None:
                yield None
                continue
            if candidate.may_have_data and not candidate.verdict:
                # The child is asked for the names of the data files, so it must have nothing else
                # to do.
                yield None
                names = self._runner.data_files(candidate.path, candidate.size)
                add_data(candidate, names, self._orders.most)
            model = self._model(candidate, next(jobs).steps)
            if not model.steps:
                self._drop(candidate)
                continue
            if model.output in self._unfinished:
                # An equal model is still being processed, and both would be written to the same
                # file.
                yield None
            self._unfinished.add(model.output)
            yield model

    def _model(self, fetched: Fetched, steps: Sequence[str]) -> _Model:
        """Make the task for a model, with those of `steps` that still have to run.

        For each of the other steps, a row is added to the table at once. Such a step cannot run,
        because the file was not fetched or is no model, or an earlier sweep has already finished
        it.
        """
        # The mark of a model does not change when its external data changes, so a model with
        # external data gets no mark.
        has_data = fetched.may_have_data and len(fetched.files) > 1
        digest = fetched.digest if fetched.files else ""
        head = {
            "path": path_of(fetched.entry),
            "digest": digest,
            "mark": "" if has_data else _text(fetched.entry.mark),
            "format": SUFFIXES.get(fetched.suffix, ""),
            "size": fetched.size,
        }
        if fetched.verdict:
            self._rows += [self._head(head, step) | _not_run(fetched) for step in steps]
            steps = ()
        if len(self._known):
            old = [
                step
                for step in steps
                if self._known.has(done_key(digest, step, *self._facts[step]))
            ]
            self._rows += [self._head(head, step) | {"verdict": ""} for step in old]
            steps = tuple(step for step in steps if step not in old)
        to = self._orders.to
        suffix = ".onnx" if TARGETS[to][0] == "onnx" else ".xml"
        output = f"{self._folder}{os.sep}{digest}{suffix}"
        return _Model(fetched.path, steps, fetched.size, to, output, found=fetched, head=head)

    def _finish(self, model: _Model) -> None:
        """Add one row to the results for each answer about a model, and clean up its files.

        If the model was converted, the result is moved to the folder of results. Otherwise, if the
        steps include check, the files written for the conversion are deleted. A local copy of the
        source model is deleted, too.
        """
        self._unfinished.discard(model.output)
        kept = False
        for answer in model.answers:
            row = self._head(model.head, answer["step"]) | _checked(answer)
            self._rows.append(row)
            if row["step"] == "convert" and row["verdict"] == "converted":
                row["output"] = _kept_at(model.output, model.to)
                kept = True
        # The child reads the converted model again in later steps, so it is moved only at the end.
        if kept:
            self._keep(model.output)
        elif "check" in model.steps:
            _remove(model.output)
        self._drop(model.found)

    def _drop(self, found: Fetched) -> None:
        if found.is_copy:
            shutil.rmtree(found.folder, ignore_errors=True)

    def _head(self, head: Row, step: str) -> Row:
        settings, used = self._facts[step]
        more = {"step": step, "settings": settings, "versions": used, "time": datetime.now(UTC)}
        return head | more

    def _keep(self, output: str) -> None:
        """Move a converted model to the folder of results, first its weights, then the model."""
        folder = os.path.dirname(_kept_at(output, self._orders.to))
        for path in _files_of(output):
            if not os.path.isfile(path):
                continue
            name = os.path.basename(path)
            if is_local(self._orders.target):
                _move(path, os.path.join(self._orders.target, folder, name))
                continue
            with open(path, "rb") as file:
                put(f"{self._orders.target.rstrip('/')}/{folder}/{name}", file.read())
            os.unlink(path)


def _not_run(fetched: Fetched) -> Row:
    """Return the verdict columns of the row for a model on which no step can run.

    The model could not be fetched, or the file is not a model.
    """
    severity = "info" if fetched.verdict == "no-model" else "error"
    code = {"code": "SWP002", "severity": severity, "message": _line(fetched.detail)}
    codes = [] if severity == "info" else [{**code, "line": None, "place": ""}]
    return {"verdict": fetched.verdict, "detail": _line(fetched.detail), "codes": codes}


def head_of(orders: Orders, entry: Entry, step: str) -> Row:
    """Return the start of a table row: the columns known before `step` runs on a model.

    The column "digest" is an empty string, because it is computed only when the model is fetched.
    """
    suffix = os.path.splitext(entry.address)[1].lower()
    return {
        "path": path_of(entry),
        "digest": "",
        "mark": _text(entry.mark),
        "format": SUFFIXES.get(suffix, ""),
        "size": entry.size,
        "step": step,
        "settings": settings_of(step, orders.to),
        "versions": versions_of(step, dict(orders.versions)),
        "time": datetime.now(UTC),
    }


def path_of(entry: Entry) -> str:
    """The name of a model in the table: its address as one line, without user and password.

    The address may end in the name of a member of an archive, which can hold any character.
    """
    return _line_of(without_secrets(entry.path))


def failure(verdict: str, detail: str, code: str) -> Row:
    """The columns of a step that did not run.

    If `code` is not empty, the columns include a finding with this code.
    """
    text = _line(detail)
    finding = {"code": code, "severity": "error", "message": text, "line": None, "place": ""}
    return {"verdict": verdict, "detail": text, "codes": [finding] if code else []}


def _kept_at(output: str, to: str) -> str:
    """Return the path of a converted model, relative to the address of the results.

    `output` is the file written by the conversion, and `to` is the target of the conversion. An
    example is models/onnx/3f/3f9a.onnx for the file 3f9a.onnx.
    """
    name = os.path.basename(output)
    return f"models/{to}/{name[:2]}/{name}"


def _files_of(output: str) -> tuple[str, ...]:
    """The files that a conversion to `output` may write; the last of them is the model."""
    stem, suffix = os.path.splitext(output)
    return (f"{stem}.bin" if suffix == ".xml" else f"{output}.data"), output


def _remove(output: str) -> None:
    for path in _files_of(output):
        with suppress(OSError):
            os.unlink(path)


def _move(path: str, target: str) -> None:
    """Move a file to the results; it appears there whole or not at all."""
    try:
        try:
            os.replace(path, target)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise UsageError(f"cannot write {target}: {reason_of(error, target)}") from error
        _copy(path, target)


def _copy(path: str, target: str) -> None:
    """Move a file to another file system: copy it, then remove the original.

    Raises:
        UsageError: when one of the two cannot be done.
    """
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(path, "rb") as source, replacing(target) as (file,):
            shutil.copyfileobj(source, file)
        os.unlink(path)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {reason_of(error, target)}") from error


def _checked(answer: Row) -> Row:
    """Convert the answer of a child to columns of the table, and check the types of its values.

    The child has read a hostile file, so its answer is not trusted.
    """
    codes = answer.get("codes")
    refusals = answer.get("refusals")
    return {
        "verdict": _line(answer.get("verdict") or "failed"),
        "detail": _line(answer.get("detail") or ""),
        "codes": [_code(item) for item in codes or () if isinstance(item, dict)],
        "refusals": [
            {key: _line(item.get(key) or "") for key in ("operation", "reason", "place")}
            for item in refusals or ()
            if isinstance(item, dict)
        ],
        "seconds": _number(answer.get("seconds")),
        "memory": _whole(answer.get("memory")),
        "max_abs": _number(answer.get("max_abs")),
        "max_rel": _number(answer.get("max_rel")),
    }


def _code(item: Row) -> Row:
    texts = {key: _line(item.get(key) or "") for key in ("code", "severity", "message", "place")}
    return {**texts, "line": _whole(item.get("line"))}


def _line(value: Any) -> str:
    """Convert a value to one short line that is safe to print in terminals and CI logs.

    Control characters and the start of a CI command are escaped.
    """
    return _line_of(str(value)[:LONGEST])


@functools.lru_cache(maxsize=1024)
def _line_of(text: str) -> str:
    """Convert a text to one line of valid UTF-8 that terminals and CI services do not interpret.

    Results are cached, because many models have the same verdicts, codes and messages.
    """
    return _text(one_line(text))


def _text(value: Any) -> str:
    """Convert a value to a string of valid Unicode, so that it can be saved as UTF-8.

    A file name may contain bytes that are not valid UTF-8. Each of them is replaced by an escape.
    """
    text = str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and abs(value) < 1 << 62 else None
