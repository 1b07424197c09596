"""Runs a sweep: lists models, keeps the workers busy with batches, and appends their results."""

from __future__ import annotations

import itertools
import pickle
import queue
import secrets
import threading
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from irloop.errors import UsageError
from irloop.fleet import table
from irloop.fleet.cluster import BIG, Cluster
from irloop.fleet.known import Known
from irloop.fleet.places import place_of, put, remove_older
from irloop.fleet.runner import Limits
from irloop.fleet.sources import Entry, Shard, entries
from irloop.fleet.task import Job, Orders, Row, failure, head_of, path_of, run_batch
from irloop.fleet.verdicts import FINDINGS, UNKNOWN, done_key, settings_of, versions_of

__all__ = ["Plan", "Progress", "sweep"]

#: The number of seconds that a batch should take, and the maximum number of batches that should end
#: per second. The scheduler needs some milliseconds per batch, so batches are longer if there are
#: many workers.
BATCH_SECONDS = 2.0
BATCHES_A_SECOND = 50.0

#: The number of models in the first batch, and bounds for later batches.
FIRST_BATCH = 8
LONGEST_BATCH = 1024
BATCH_BYTES = 64 << 20

#: Maximum number of models that are listed but not yet submitted. Once the listing has ended,
#: batches become shorter, so that all threads finish at about the same time; the shortest one has
#: the usual length divided by SHORTEST_PART.
LISTED_AHEAD = 4096
SHORTEST_PART = 8

#: Results are written after this many rows, or seconds.
ROWS = 5000
SECONDS = 15.0

#: Maximum number of attempts for a batch that failed for a reason other than its models.
TRIES = 3

#: A running sweep rewrites its file of known steps after KNOWN_AGAIN seconds. A file of another
#: sweep that is older than KNOWN_OLD seconds belongs to a sweep that was killed, and is removed.
KNOWN_AGAIN = 3600.0
KNOWN_OLD = 24 * 3600.0

#: Verdicts of models on which no step ran. They are not copied to files of the same digest.
NOT_RUN = frozenset({"unavailable", "too-big", "lfs-pointer", "no-model"})


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a sweep.

    A model is processed again if its earlier verdict is in `again`. Each worker runs at most one
    model of `big` bytes or more at a time. Files of more than `most` bytes are not fetched.
    """

    sources: tuple[str, ...]
    target: str
    steps: tuple[str, ...]
    to: str
    shard: Shard
    again: frozenset[str] = frozenset()
    big: int = 256 << 20
    most: int = 16 << 30
    memory: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Progress:
    """The progress of a sweep: models `done` by this sweep, and `before` by earlier sweeps.

    `total` is known once all sources have been counted; `verdicts` counts (step, verdict).
    """

    done: int = 0
    before: int = 0
    total: int | None = None
    findings_before: int = 0
    unknown_before: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    started: float = field(default_factory=time.monotonic)

    @property
    def findings(self) -> int:
        """The number of rows that are findings, including the rows of earlier sweeps."""
        return self.findings_before + self._number_of(FINDINGS)

    @property
    def unknown(self) -> int:
        """The number of rows whose verdict is unknown, including earlier sweeps."""
        return self.unknown_before + self._number_of(UNKNOWN)

    def _number_of(self, verdicts: frozenset[str]) -> int:
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict in verdicts)

    @property
    def rate(self) -> float:
        """The number of models that this sweep has processed per second."""
        return self.done / max(time.monotonic() - self.started, 1e-9)


class _Batch(NamedTuple):
    jobs: tuple[Job, ...]
    big: bool = False
    tries: int = 0


def sweep(
    plan: Plan,
    cluster: Cluster,
    progress: Callable[[Progress], None] | None = None,
    *,
    count: bool = False,
) -> Progress:
    """Run the steps that no earlier sweep has done; `progress` is called about once a second.

    With `count`, sources are listed a second time in a thread, to learn how many models they have.

    Raises:
        UsageError: when a source or the results cannot be read or written, or the cluster is lost.
            The results until then are in the table.
    """
    return _Sweep(plan, cluster, progress or (lambda _: None)).run(count=count)


class _Sweep:
    def __init__(self, plan: Plan, cluster: Cluster, progress: Callable[[Progress], None]) -> None:
        self._plan = plan
        self._cluster = cluster
        self._tell = progress
        self._state = Progress()
        self._name = secrets.token_hex(4)
        self._submitted = 0
        self._versions = dict(cluster.versions)
        cluster.warm(Limits(plan.memory, plan.seconds), plan.steps)
        self._done, self._findings, self._unknown, self._known = self._history()
        self._known_written = 0.0
        folder = f"{plan.target.rstrip('/')}/known"
        remove_older(folder, KNOWN_OLD)
        address = f"{folder}/{self._name}.npy" if len(self._known) else ""
        self._orders = Orders(
            plan.to, plan.target, address, cluster.versions, plan.most, plan.memory, plan.seconds
        )
        self._write_known()
        self._left = self._batches()
        self._retries: deque[_Batch] = deque()
        self._running: dict[Any, _Batch] = {}
        self._finished: queue.Queue[Any] = queue.Queue()
        self._rows: list[Row] = []
        self._written = time.monotonic()
        self._mean = 0.0
        self._threads = 1

    def run(self, *, count: bool) -> Progress:
        """Run until all models are done; return the final progress.

        With `count`, a thread lists the sources to learn the total number of models.
        """
        if count:
            threading.Thread(target=self._count, daemon=True).start()
        try:
            self._loop()
        finally:
            self._write()
            self._forget()
        self._tell(self._state)
        return self._state

    def _loop(self) -> None:
        window, looked, told = 2, 0.0, 0.0
        while True:
            now = time.monotonic()
            if now - looked > 5.0:
                self._threads = self._cluster.threads()
                window, looked = 2 * self._threads + 2, now
            while len(self._running) < window and (batch := self._next()) is not None:
                if not self._submit(batch):
                    break
            if not self._running and not self._retries:
                return
            with suppress(queue.Empty):
                self._take(self._finished.get(timeout=1.0))
            if not self._cluster.is_connected:
                # Submit all unfinished batches to the new scheduler.
                self._retries += self._running.values()
                self._running.clear()
                self._write()
                self._cluster.reconnect()
                looked = 0.0
            if len(self._rows) >= ROWS or (self._rows and now - self._written > SECONDS):
                self._write()
            if now - told > 1.0:
                self._tell(self._state)
                told = now

    def _next(self) -> _Batch | None:
        if self._retries:
            return self._retries.popleft()
        return next(self._left, None)

    def _submit(self, batch: _Batch) -> bool:
        """Submit a batch; if the connection is lost, keep the batch and return False."""
        self._submitted += 1
        # The key must not contain names of models: the scheduler shows it in many places.
        try:
            future = self._cluster.client.submit(
                run_batch,
                self._orders,
                pickle.dumps(batch.jobs),
                big=batch.big,
                key=f"irloop-sweep-{self._name}-{self._submitted}",
                pure=False,
                resources={BIG: 1} if batch.big and self._cluster.marks_big else None,
            )
        except Exception:
            if self._cluster.is_connected:
                raise
            self._retries.appendleft(batch)
            return False
        self._running[future] = batch
        future.add_done_callback(self._finished.put)
        return True

    def _take(self, future: Any) -> None:
        """Process a finished task: store its result rows, and count its verdicts.

        If the task failed or was lost, its models are submitted again, or reported as failed.
        """
        batch = self._running.pop(future, None)
        if batch is None:
            # The task belongs to a lost connection.
            return
        if future.status == "finished":
            try:
                # Dask itself unpickles the results from the workers of its cluster, so they have to
                # be trusted anyway.
                rows: list[Row] = pickle.loads(future.result(timeout=60))  # noqa: S301
            except Exception:
                # The worker died before its result was fetched.
                self._retries.append(batch)
                return
            self._keep(batch, rows)
        elif future.status == "error":
            error: BaseException | None = None
            with suppress(Exception):
                error = future.exception(timeout=60)
            self._failed(batch, error)
        else:
            self._retries.append(batch)

    def _keep(self, batch: _Batch, rows: Sequence[Row]) -> None:
        self._rows += rows
        self._state.done += len(batch.jobs)
        for row in rows:
            if row["verdict"]:
                self._state.verdicts[row["step"], row["verdict"]] += 1
        seconds = sum(row.get("seconds") or 0.0 for row in rows) / len(batch.jobs)
        self._mean = seconds if not self._mean else 0.8 * self._mean + 0.2 * seconds

    def _failed(self, batch: _Batch, error: BaseException | None) -> None:
        if isinstance(error, UsageError):
            raise error
        killed = type(error).__name__ == "KilledWorker"
        if len(batch.jobs) > 1 and (killed or batch.tries >= TRIES):
            # One of the models is the cause: run each in a batch of its own.
            self._retries += [_Batch((job,)) for job in batch.jobs]
        elif not killed and batch.tries < TRIES:
            self._retries.append(batch._replace(tries=batch.tries + 1))
        else:
            verdict, code = ("quarantined", "SWP001") if killed else ("unavailable", "SWP002")
            detail = "it ended several workers" if killed else f"{type(error).__name__} in a worker"
            rows = [
                head_of(self._orders, job.entry, step) | failure(verdict, detail, code)
                for job in batch.jobs
                for step in job.steps
            ]
            self._keep(batch, rows)

    def _write(self) -> None:
        """Append the new rows to the table.

        For a model with a known digest, copies of its earlier rows are appended.
        """
        rows = [row for row in self._rows if row["verdict"]]
        old = [row for row in self._rows if not row["verdict"]]
        if old:
            rows += self._copied(old)
        if rows:
            table.append(self._plan.target, rows)
        self._rows = []
        self._written = time.monotonic()
        if self._written - self._known_written > KNOWN_AGAIN:
            self._write_known()

    def _write_known(self) -> None:
        """Write the keys of finished steps to the file that the workers read."""
        if self._orders.known:
            put(self._orders.known, self._known.to_bytes())
        self._known_written = time.monotonic()

    def _copied(self, heads: Sequence[Row]) -> Iterator[Row]:
        rows, named = table.rows_of(
            self._plan.target,
            [row["digest"] for row in heads],
            lambda row: self._fits(row) and row["verdict"] not in self._plan.again | NOT_RUN,
        )
        for head in heads:
            row = rows.get((head["digest"], head["step"]))
            if row is None:
                row = failure(
                    "unavailable", "the row of the earlier sweep no longer exists", "SWP002"
                )
            copied = {**row, **{key: value for key, value in head.items() if key != "verdict"}}
            self._state.verdicts[copied["step"], copied["verdict"]] += 1
            if (head["path"], head["digest"], head["step"]) not in named:
                yield copied

    def _fits(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row was made with the options and versions of this sweep."""
        step = row["step"]
        return bool(
            row["settings"] == settings_of(step, self._plan.to)
            and row["versions"] == versions_of(step, self._versions)
        )

    def _history(self) -> tuple[Known, Known, Known, Known]:
        """Read which steps earlier sweeps have done, as four sets of keys (see `done_key`).

        The first three sets hold the keys of all done steps, of those with findings, and of those
        with an unknown verdict. Their keys are made from the path of the model and the mark of its
        files, which changes when the files change. The fourth set holds the keys of all steps that
        ran, made from the digest of the model. Steps that this sweep has to repeat are in no set.
        """
        by_path, findings, unknown, by_digest = (array("Q") for _ in range(4))
        columns = ("path", "mark", "digest", "settings", "versions", "verdict")
        for _, step, found in table.scan(self._plan.target, columns):
            for values in zip(*(found[name] for name in columns), strict=True):
                path, mark, digest, settings, used, verdict = values
                if verdict in self._plan.again or verdict == "unavailable":
                    continue
                if mark:
                    key = done_key(path, mark, step, settings, used)
                    by_path.append(key)
                    if verdict in FINDINGS:
                        findings.append(key)
                    elif verdict in UNKNOWN:
                        unknown.append(key)
                if digest and verdict not in NOT_RUN:
                    by_digest.append(done_key(digest, step, settings, used))
        return Known(by_path), Known(findings), Known(unknown), Known(by_digest)

    def _forget(self) -> None:
        """Remove the file in which workers look up the steps that are already done."""
        if not self._orders.known:
            return
        place = place_of(self._orders.known)
        with suppress(Exception):
            place.fs.rm_file(place.path)

    def _batches(self) -> Iterator[_Batch]:
        """Yield batches of the models that remain to be done, each of about `BATCH_SECONDS`.

        A big model is a batch of its own.
        """
        listed = self._jobs()
        ahead: deque[Job] = deque()
        jobs: list[Job] = []
        size = 0
        while True:
            # List two models for each one that is taken, so that the first batch does not wait for
            # a long listing.
            wanted = min(2, LISTED_AHEAD - len(ahead))
            batch = tuple(itertools.islice(listed, wanted))
            ahead += batch
            if not ahead:
                break
            job = ahead.popleft()
            if job.entry.size >= self._plan.big:
                yield _Batch((job,), big=True)
                continue
            jobs.append(job)
            size += job.entry.size
            left = None if len(batch) == wanted else len(jobs) + len(ahead)
            if len(jobs) >= self._length(left) or size >= BATCH_BYTES:
                yield _Batch(tuple(jobs))
                jobs, size = [], 0
        if jobs:
            yield _Batch(tuple(jobs))

    def _jobs(self) -> Iterator[Job]:
        """Yield a job for each model that has steps left to do, and count the other models."""
        for entry in entries(self._plan.sources, self._plan.shard):
            steps = self._steps_left(entry)
            if steps:
                yield Job(entry, steps)
            else:
                self._state.before += 1

    def _length(self, left: int | None) -> int:
        """Choose the number of models of the next batch from the mean time per model.

        `left` is the number of models that are not submitted yet; None if more are still being
        listed. Towards the end, batches become shorter, so that all workers finish at about the
        same time.
        """
        if not self._mean:
            return FIRST_BATCH
        seconds = max(BATCH_SECONDS, self._threads / BATCHES_A_SECOND)
        length = min(LONGEST_BATCH, int(seconds / self._mean))
        if left is not None:
            shorter = left // (2 * max(1, self._threads))
            length = min(length, max(shorter, length // SHORTEST_PART))
        return max(1, length)

    def _steps_left(self, entry: Entry) -> tuple[str, ...]:
        steps = self._plan.steps
        if not entry.mark or not len(self._done):
            return steps
        left: list[str] = []
        path = path_of(entry)
        for step in steps:
            used = versions_of(step, self._versions)
            key = done_key(path, entry.mark, step, settings_of(step, self._plan.to), used)
            if not self._done.has(key):
                left.append(step)
            else:
                self._state.findings_before += self._findings.has(key)
                self._state.unknown_before += self._unknown.has(key)
        return tuple(left)

    def _count(self) -> None:
        with suppress(UsageError):
            count = sum(1 for _ in entries(self._plan.sources, self._plan.shard))
            self._state.total = count
