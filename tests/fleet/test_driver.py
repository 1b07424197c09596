"""A sweep in this process: its table, steps that are not repeated, and results after failures."""

from __future__ import annotations

import errno
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop
from irloop import files
from irloop.errors import UsageError
from irloop.fleet import child, driver, table, task
from irloop.fleet.driver import Plan, sweep
from irloop.fleet.places import place_of
from irloop.fleet.runner import TOGETHER, Limits, Runner, _LostError
from irloop.fleet.sources import Shard
from irloop.fleet.summary import summarized
from tests.fleet.conftest import FIXTURES, Verdicts, rows
from tests.fleet.inline import CancelledError, InlineCluster

HOSTILE = Path(__file__).parent / "hostile_child"

#: Expected verdicts by the names of the fixtures; the three bad models cannot be read, so they are
#: not converted.
EXPECTED: Verdicts = {
    **{(f"good/{name}/model.xml", "validate"): "valid" for name in ("recurrent", "halving")},
    **{(f"good/{name}/model.xml", "convert"): "converted" for name in ("recurrent", "halving")},
    **{
        (f"bad/bad_{name}.xml", step): verdict
        for name in ("from_port", "from_result", "in_body", "to_port")
        for step, verdict in (("validate", "invalid"), ("convert", "unreadable"))
    },
}

COLUMNS = ("path", "digest", "format", "size", "settings", "versions", "verdict", "output")

ReadVerdicts = Callable[[Path | str], Verdicts]


def end_children() -> None:
    """End the child processes that workers keep for the next batch."""
    while task._IDLE:
        task._IDLE.pop().close()


@pytest.fixture(autouse=True, scope="module")
def no_idle_children() -> Iterator[None]:
    yield
    end_children()


def plan_of(zoo: Path, **more: Any) -> Plan:
    target = str(zoo.parent / "results")
    plan = Plan((str(zoo),), target, ("validate", "convert"), "onnx", Shard(1, 1))
    return replace(plan, **more)


def test_the_table_has_a_row_for_each_model_and_step(zoo: Path, verdicts: ReadVerdicts) -> None:
    plan = plan_of(zoo)
    state = sweep(plan, InlineCluster())
    assert verdicts(plan.target) == EXPECTED
    assert (state.done, state.before, state.findings) == (6, 0, 8)
    outputs = [row[-1] for row in rows(plan.target, COLUMNS) if row[-1]]
    for output in outputs:
        # The reference checker reads the conversion.
        assert len(irloop.read_model(Path(plan.target) / output).graph.results) > 0
    assert len(outputs) == 2


@pytest.mark.parametrize("other_disk", [False, True])
def test_converted_models_are_moved_to_the_results(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_disk: bool
) -> None:
    """They stay until the steps after the conversion have read them, and no other file remains."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    if other_disk:
        real = os.replace

        def refuse(source: str, target: str) -> None:
            if str(source).startswith(str(scratch)):
                raise OSError(errno.EXDEV, "Invalid cross-device link")
            real(source, target)

        monkeypatch.setattr(os, "replace", refuse)
    plan = plan_of(zoo / "good", target=str(tmp_path / "results"))
    sweep(replace(plan, steps=("validate", "convert", "check")), InlineCluster())
    found = rows(plan.target, ("verdict", "output"))
    assert [row[:2] for row in found if row[0] == "check"] == [("check", "equal")] * 2
    outputs = {row[2] for row in found if row[0] == "convert"}
    kept = (Path(plan.target) / "models").rglob("*")
    assert {str(path.relative_to(plan.target)) for path in kept if path.is_file()} == outputs
    assert not list(scratch.rglob("*"))


def test_a_check_without_a_conversion_keeps_no_model(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model that was compared is removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left: list[Path] = []
    remove = task._remove

    def removed(output: str) -> None:
        remove(output)
        # Another process may be comparing the other model at the same time.
        left.extend(Path(output).parent.glob(f"{Path(output).stem}*"))

    monkeypatch.setattr(task, "_remove", removed)
    plan = plan_of(zoo / "good", target=str(tmp_path / "results"), steps=("check",))
    sweep(plan, InlineCluster())
    assert [row[1] for row in rows(plan.target, ("verdict",))] == ["equal"] * 2
    assert not left
    assert not (Path(plan.target) / "models").exists()


def test_finished_steps_are_not_repeated(zoo: Path) -> None:
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    before = rows(plan.target, (*COLUMNS, "time"))
    cluster = InlineCluster()
    state = sweep(plan, cluster)
    assert (state.done, state.before, state.findings) == (0, 6, 8)
    assert not cluster.client.keys
    assert rows(plan.target, (*COLUMNS, "time")) == before


def test_steps_are_repeated_for_another_target(zoo: Path) -> None:
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    state = sweep(replace(plan, to="ir-v11"), InlineCluster())
    assert state.done == 6
    assert {step for step, _ in state.verdicts} == {"convert"}


def test_a_moved_model_keeps_its_verdict(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    shutil.move(zoo / "bad", zoo / "moved")

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a model is worked on again")

    monkeypatch.setattr(task._Work, "_finish", fail)
    state = sweep(plan, InlineCluster())
    assert (state.done, state.before) == (4, 2)
    found = rows(plan.target, ("path", "verdict", "digest"))
    old = {(row[0], Path(row[1]).name, *row[2:]) for row in found if "/bad/" in row[1]}
    assert old == {(row[0], Path(row[1]).name, *row[2:]) for row in found if "/moved/" in row[1]}


def test_steps_with_the_given_verdicts_are_repeated(zoo: Path) -> None:
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    state = sweep(replace(plan, again=frozenset({"unreadable"})), InlineCluster())
    assert state.verdicts == {("convert", "unreadable"): 4}


def test_steps_of_a_changed_model_are_repeated(zoo: Path) -> None:
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    model = zoo / "good" / "halving" / "model.xml"
    model.write_text(f"{model.read_text('utf-8')}\n<!-- changed -->\n", "utf-8")
    assert sweep(plan, InlineCluster()).done == 1


def test_all_shards_together_contain_every_model(zoo: Path, verdicts: ReadVerdicts) -> None:
    for number in (1, 2, 3):
        sweep(plan_of(zoo, shard=Shard(number, 3)), InlineCluster())
    assert verdicts(plan_of(zoo).target) == EXPECTED


def test_a_lost_scheduler_loses_no_results(
    zoo: Path, verdicts: ReadVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FIRST_BATCH", 1)
    monkeypatch.setattr(driver, "LONGEST_BATCH", 1)
    cluster = InlineCluster()

    def fault(number: int) -> None:
        if number == 3:
            cluster.lost = True
        if number in (3, 4, 5):
            raise CancelledError

    cluster.client._fault = fault
    plan = plan_of(zoo)
    sweep(plan, cluster)
    assert cluster.reconnected == 1
    assert verdicts(plan.target) == EXPECTED


def jobs_of(cluster: InlineCluster, number: int) -> Sequence[task.Job]:
    """The jobs of a submitted task, which are pickled."""
    jobs: Sequence[task.Job] = pickle.loads(cluster.client.calls[number][1])  # noqa: S301
    return jobs


class KilledWorker(Exception):  # noqa: N818 (the name that Dask uses)
    """The exception that the scheduler reports after several workers died with a task."""


def test_a_model_that_kills_workers_is_found_in_its_batch(
    zoo: Path, verdicts: ReadVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = InlineCluster()

    def fault(number: int) -> None:
        if any("in_body" in job.entry.address for job in jobs_of(cluster, number - 1)):
            raise KilledWorker

    cluster.client._fault = fault
    plan = plan_of(zoo)
    state = sweep(plan, cluster)
    killer = {("bad/bad_in_body.xml", step): "quarantined" for step in plan.steps}
    assert verdicts(plan.target) == EXPECTED | killer
    assert state.findings == 8
    assert not any("zoo" in key or "xml" in key for key in cluster.client.keys)


def test_other_failures_of_workers_are_retried(zoo: Path, verdicts: ReadVerdicts) -> None:
    def fault(number: int) -> None:
        if number < 3:
            raise OSError("no space left")

    plan = plan_of(zoo)
    sweep(plan, InlineCluster(fault))
    assert verdicts(plan.target) == EXPECTED


def test_finished_results_are_written_when_a_sweep_is_interrupted(
    zoo: Path, verdicts: ReadVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "FIRST_BATCH", 1)
    monkeypatch.setattr(driver, "LONGEST_BATCH", 1)

    def fault(number: int) -> None:
        if number == 5:
            raise KeyboardInterrupt

    plan = plan_of(zoo)
    with pytest.raises(KeyboardInterrupt):
        sweep(plan, InlineCluster(fault))
    part = verdicts(plan.target)
    assert part.items() <= EXPECTED.items()
    sweep(plan, InlineCluster())
    assert verdicts(plan.target) == EXPECTED


def test_a_table_is_appended_whole_or_not_at_all(
    zoo: Path, verdicts: ReadVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(zoo)
    from irloop.fleet.places import put

    def fail(address: str, data: bytes) -> None:
        if "step=convert" in address:
            raise UsageError("the disk is full")
        put(address, data)

    monkeypatch.setattr(table, "put", fail)
    with pytest.raises(UsageError, match="disk"):
        sweep(plan, InlineCluster())
    validated = {key: value for key, value in EXPECTED.items() if key[1] == "validate"}
    assert verdicts(plan.target) == validated
    monkeypatch.setattr(table, "put", put)
    sweep(plan, InlineCluster())
    assert verdicts(plan.target) == EXPECTED


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full disk")
def test_a_full_disk_is_named_and_a_sweep_goes_on_later(
    zoo: Path, verdicts: ReadVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(zoo)
    with monkeypatch.context() as patch:
        patch.setattr(files, "_unnamed", lambda _: os.open("/dev/full", os.O_RDWR))
        with pytest.raises(UsageError, match=r"cannot write .*: the disk of /.* bytes left"):
            sweep(plan, InlineCluster())
    assert verdicts(plan.target) == {}
    sweep(plan, InlineCluster())
    assert verdicts(plan.target) == EXPECTED


def test_big_models_are_alone_in_their_batch(zoo: Path) -> None:
    cluster = InlineCluster()
    sweep(plan_of(zoo, big=1, steps=("validate",)), cluster)
    assert cluster.client.big == [True] * 6
    assert [len(jobs_of(cluster, number)) for number in range(6)] == [1] * 6


def test_the_last_batches_are_shorter(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads, with two batches each: so all of them finish at about the same time."""
    monkeypatch.setattr(driver, "FIRST_BATCH", 4)
    monkeypatch.setattr(driver, "LONGEST_BATCH", 16)
    monkeypatch.setattr(driver, "LISTED_AHEAD", 40)
    # The time that the models take does not limit the batches.
    monkeypatch.setattr(driver, "BATCH_SECONDS", 1e6)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(100):
        shutil.copy(zoo / "bad" / "bad_in_body.xml", many / f"{number}.xml")
    cluster = InlineCluster()
    state = sweep(plan_of(zoo, sources=(str(many),), steps=("validate",)), cluster)
    assert state.done == 100
    lengths = [len(jobs_of(cluster, number)) for number in range(len(cluster.client.calls))]
    # Six batches are submitted before a result is known, and two before the listing ends, 40 models
    # ahead. Then each has a quarter of what is left: of 44, 33, 25, 19 and so on.
    assert lengths == [4] * 6 + [16] * 2 + [11, 8, 6, 4, 3, 3, 2, 2, 2, 2, 1]


def spoil(model: Path, fault: str) -> None:
    """Make the child process die or hang when it reaches a model."""
    model.write_text(f"{model.read_text('utf-8')}<!-- irloop-test: {fault} -->", "utf-8")


@pytest.mark.slow
def test_a_model_that_kills_twice_is_quarantined(
    zoo: Path, verdicts: ReadVerdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(zoo / "bad" / "bad_from_port.xml", "die")
    end_children()
    monkeypatch.syspath_prepend(str(HOSTILE))
    starts: list[int] = []
    start = Runner._start

    def counted(runner: Runner) -> Any:
        starts.append(1)
        return start(runner)

    monkeypatch.setattr(Runner, "_start", counted)
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    assert verdicts(plan.target) == EXPECTED | {
        ("bad/bad_from_port.xml", step): "quarantined" for step in plan.steps
    }
    # The child starts once, and again after each of two deaths, unless no model was left after the
    # second.
    assert len(starts) in (2, 3)
    end_children()


def test_equal_models_in_one_batch_are_kept_once(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are converted to files of the same name while other models wait."""
    count = 2 * TOGETHER
    model = zoo / "good" / "halving" / "model.xml"
    many = tmp_path / "many"
    many.mkdir()
    monkeypatch.setattr(driver, "FIRST_BATCH", count)
    for number in range(count):
        for suffix in (".xml", ".bin"):
            shutil.copy(model.with_suffix(suffix), many / f"{number}{suffix}")
    plan = plan_of(zoo, sources=(str(many),), steps=("validate", "convert", "check"))
    sweep(plan, InlineCluster())
    found = rows(plan.target, ("path", "verdict", "output"))
    assert sorted(row[2] for row in found) == sorted(["valid", "converted", "equal"] * count)
    outputs = {row[3] for row in found if row[0] == "convert"}
    assert len(outputs) == 1
    assert (Path(plan.target) / outputs.pop()).is_file()


def test_a_step_finds_the_same_alone_and_after_another(tmp_path: Path) -> None:
    """Validation hands the parsed model to conversion, which must return the same as without
    validation.
    """
    models = tuple(map(str, sorted((FIXTURES / "models").rglob("*.xml"))))
    rules = tuple(map(str, sorted((FIXTURES / "rules").glob("irl[12]*/*.xml"))))[::3]
    columns = ("path", "verdict", "detail", "codes", "refusals", "output")
    plan = Plan(
        models + rules, str(tmp_path / "both"), ("validate", "convert"), "onnx", Shard(1, 1)
    )
    alone = replace(plan, target=str(tmp_path / "alone"), steps=("convert",))
    sweep(plan, InlineCluster())
    sweep(alone, InlineCluster())
    found = [read(str(each.target), columns) for each in (plan, alone)]
    assert len(found[0]) == len(models + rules)
    assert found[0] == found[1]
    for output in filter(None, (row["output"] for row in found[0].values())):
        contents = [(Path(each.target) / output).read_bytes() for each in (plan, alone)]
        assert contents[0] == contents[1]


def test_a_check_does_not_repeat_a_failed_conversion(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the answer of the conversion."""
    calls: list[str] = []
    real = child._convert

    def convert(model: Any) -> dict[str, Any]:
        calls.append(model.path)
        return real(model)

    monkeypatch.setattr(child, "_convert", convert)
    monkeypatch.setitem(child._STEPS, "convert", convert)
    unlimited: Any = SimpleNamespace(held=lambda _: nullcontext())
    bad = str(zoo / "bad" / "bad_from_port.xml")
    request = {"model": bad, "output": str(tmp_path / "out.onnx"), "to": "onnx"}
    model = child._Model(request | {"memory": None, "seconds": None})
    first, second = (
        child._timed(step, model, unlimited, child._Peak()) for step in ("convert", "check")
    )
    assert calls == [bad]
    assert [first["step"], second["step"]] == ["convert", "check"]
    assert first["verdict"] == second["verdict"] == "unreadable"
    assert first["codes"] == second["codes"] != []


def read(target: str, columns: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The rows of the conversions in a table, by path."""
    return {
        values[0]: dict(zip(columns, values, strict=True))
        for _, step, found in table.scan(target, columns)
        for values in zip(*found.values(), strict=True)
        if step == "convert"
    }


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak memory")
def test_the_peak_memory_is_that_of_the_model(zoo: Path) -> None:
    """A model that follows a large one in the same child process has a smaller peak."""
    big = zoo / "good" / "halving" / "model.xml"
    text = big.read_text("utf-8")
    big.write_text(f"{text}<!-- {'x' * (64 << 20)} -->", "utf-8")
    small = zoo / "good" / "recurrent" / "model.xml"
    plan = plan_of(zoo, sources=(str(small), str(big), str(small)), steps=("validate",))
    sweep(plan, InlineCluster())
    memory = [(row[1], row[2]) for row in rows(plan.target, ("path", "memory"))]
    most = [peak for path, peak in memory if path == str(big)]
    others = [peak for path, peak in memory if path == str(small)]
    assert (len(most), len(others)) == (1, 2)
    assert max(others) + (32 << 20) < most[0]


@pytest.mark.parametrize("wrong", [b"[" * 200_000, b"1", b"{}, {}", b'"\xff"', b""])
def test_an_answer_that_cannot_be_read_is_a_crash(wrong: bytes) -> None:
    """The answers before it count."""
    answers = Runner(Limits())._parsed([b'{"verdict": "valid"}', b"{}", wrong])
    assert [next(answers), next(answers)] == [{"verdict": "valid"}, {}]
    with pytest.raises(_LostError, match="cannot be read"):
        next(answers)


def test_a_worker_starts_its_child_before_the_first_batch(zoo: Path) -> None:
    """The first batch finds the child that the worker started, if the limits are the same."""
    end_children()
    task.warm(Limits(), ("validate", "convert"))
    (runner,) = task._IDLE
    process = runner._child
    assert process is not None
    task.warm(Limits(), ("validate", "convert"))
    sweep(plan_of(zoo), InlineCluster())
    (same,) = task._IDLE
    assert same is runner
    assert runner._child is process
    sweep(replace(plan_of(zoo, target=str(zoo.parent / "other")), seconds=20.0), InlineCluster())
    assert process.returncode is not None


def test_a_model_that_hangs_is_ended(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo / "bad" / "bad_from_port.xml"
    spoil(model, "hang")
    end_children()
    monkeypatch.syspath_prepend(str(HOSTILE))
    monkeypatch.setattr("irloop.fleet.runner.GRACE", 0.5)
    plan = plan_of(zoo, sources=(str(model),), seconds=0.5)
    state = sweep(plan, InlineCluster())
    assert state.verdicts == {(step, "timeout"): 1 for step in plan.steps}
    end_children()


def test_versions_are_read_again_when_packages_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(version: str) -> None:
        for old in tmp_path.glob("*.dist-info"):
            shutil.rmtree(old)
        folder = tmp_path / f"invented-{version}.dist-info"
        folder.mkdir()
        text = f"Metadata-Version: 2.1\nName: invented\nVersion: {version}\n"
        (folder / "METADATA").write_text(text, "utf-8")
        # The clock of a file system may be too coarse to distinguish two changes.
        os.utime(tmp_path, ns=(0, int(version.replace(".", ""))))

    read: list[str] = []
    version = metadata.version

    def counted(name: str) -> str:
        read.append(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", counted)
    monkeypatch.setattr(task, "PACKAGES", ("invented", "missing"))
    monkeypatch.syspath_prepend(str(tmp_path))
    install("1.0")
    assert task.versions() == (("invented", "1.0"), ("missing", ""))
    assert task.versions() == (("invented", "1.0"), ("missing", ""))
    assert read == ["invented", "missing"]
    install("2.0")
    assert task.versions() == (("invented", "2.0"), ("missing", ""))
    monkeypatch.undo()
    assert [name for name, _ in task.versions()] == list(task.PACKAGES)


@pytest.mark.parametrize(
    ("workers", "message", "found"),
    [
        (("9.1", "9.1"), "another version of irloop than this command", "irloop 9.1"),
        (("9.1", "9.2"), "different versions of packages", "9.1.*; or irloop 9.2"),
        (("",), "another version of irloop than this command", "irloop missing"),
    ],
)
def test_other_versions_on_workers_are_refused(
    workers: Sequence[str], message: str, found: str
) -> None:
    cluster = InlineCluster()
    engines = tuple(item for item in task.versions() if item[0] != "irloop")
    told = {str(at): (("irloop", version), *engines) for at, version in enumerate(workers)}
    cluster.client.run = lambda _: told
    with pytest.raises(UsageError, match=message) as raised:
        cluster._versions()
    assert re.search(found, str(raised.value))


def test_engines_may_be_on_the_workers_only() -> None:
    cluster = InlineCluster()
    there = (task.versions()[0], ("onnx", "9.9"), ("onnxruntime", "9.9"), ("openvino", "9.9"))
    cluster.client.run = lambda _: {"1": there}
    assert cluster._versions() == there


def test_children_inherit_no_credentials(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, str]] = []
    popen: Any = subprocess.Popen

    def seen(*arguments: Any, env: dict[str, str], **more: Any) -> Any:
        given.append(env)
        return popen(*arguments, env=env, **more)

    end_children()
    secrets = ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "FSSPEC_S3_SECRET", "MY_PATH_TO_KEYS")
    for name in secrets:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("irloop.fleet.runner.subprocess.Popen", seen)
    state = sweep(plan_of(zoo, steps=("validate",)), InlineCluster())
    assert state.verdicts == {("validate", "valid"): 2, ("validate", "invalid"): 4}
    assert len(given) == 1
    assert given[0]["OMP_NUM_THREADS"] == "1"
    assert given[0].keys().isdisjoint(secrets)
    end_children()


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_files_that_killed_sweeps_left_are_removed(zoo: Path, kind: str) -> None:
    target = {"folder": str(zoo.parent / "results"), "memory": "memory://left/results"}[kind]
    plan = plan_of(zoo, target=target, steps=("validate",))
    sweep(plan, InlineCluster())
    place = place_of(f"{target}/known")
    place.fs.makedirs(place.path, exist_ok=True)
    for name in ("old", "young"):
        place.fs.pipe_file(f"{place.path}/{name}.npy", b"left")
    if kind == "folder":
        os.utime(f"{place.path}/old.npy", (0.0, 0.0))
    else:
        place.fs.store[f"{place.path}/old.npy"].modified = datetime(1970, 1, 1, tzinfo=UTC)
    state = sweep(plan, InlineCluster())
    assert state.before == 6
    # A sweep that runs at the same time may still need the other file.
    assert [Path(path).name for path in place.fs.ls(place.path, detail=False)] == ["young.npy"]


def with_external_data(path: Path, location: str) -> None:
    """An ONNX model that adds 256 numbers, which are stored in another file."""
    weights = numpy_helper.from_array(np.ones(256, np.float32), "w")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [256]) for name in "xy")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])], "g", [x], [y], [weights]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("source", ["folder", "zip", "memory"])
def test_external_data_is_kept_with_its_model(tmp_path: Path, source: str) -> None:
    folder = tmp_path / "zoo"
    with_external_data(folder / "model.onnx", "weights/w.data")
    (folder / "weights").mkdir()
    (folder / "weights" / "w.data").write_bytes(np.ones(256, np.float32).tobytes())
    with_external_data(folder / "hostile.onnx", "../secret.data")
    (tmp_path / "secret.data").write_bytes(np.ones(256, np.float32).tobytes())
    address = str(folder)
    memory = fsspec.filesystem("memory")
    if source == "zip":
        address = shutil.make_archive(str(tmp_path / "zoo"), "zip", folder)
    elif source == "memory":
        memory.put(str(tmp_path), "/external", recursive=True)
        address = "memory://external/zoo"
    plan = Plan((address,), str(tmp_path / "results"), ("convert",), "ir-v11", Shard(1, 1))
    sweep(plan, InlineCluster())
    found = {Path(row[1]).name: row[2] for row in rows(plan.target, ("path", "verdict"))}
    assert found == {"model.onnx": "converted", "hostile.onnx": "unreadable"}
    # Other weights give another digest, although the .onnx is the same.
    before = {row[2] for row in rows(plan.target, ("path", "digest"))}
    changed = np.zeros(256, np.float32).tobytes()
    (folder / "weights" / "w.data").write_bytes(changed)
    if source == "zip":
        shutil.make_archive(str(tmp_path / "zoo"), "zip", folder)
    elif source == "memory":
        memory.pipe_file("/external/zoo/weights/w.data", changed)
    sweep(plan, InlineCluster())
    assert len({row[2] for row in rows(plan.target, ("path", "digest"))} - before) == 1
    if source == "memory":
        memory.rm("/external", recursive=True)


def test_refused_operations_are_named(tmp_path: Path) -> None:
    """Those of an extension or of another domain, too, and those with a quote in their path."""
    value = "<dim>8</dim></port>"
    (tmp_path / "model.xml").write_text(
        "<net name='n' version='11'><layers>"
        "<layer id='0' name='x' type='Parameter' version='opset1'>"
        "<data shape='8' element_type='f32'/><output>"
        f"<port id='0' precision='FP32'>{value}</output></layer>"
        "<layer id='1' name='a&apos;b' type='Custom' version='extension'>"
        f"<input><port id='0' precision='FP32'>{value}</input>"
        f"<output><port id='1' precision='FP32'>{value}</output></layer>"
        "<layer id='2' name='y' type='Result' version='opset1'>"
        f"<input><port id='0' precision='FP32'>{value}</input></layer></layers><edges>"
        "<edge from-layer='0' from-port='0' to-layer='1' to-port='0'/>"
        "<edge from-layer='1' from-port='1' to-layer='2' to-port='0'/></edges></net>",
        "utf-8",
    )
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xy")
    node = helper.make_node("Custom", ["x"], ["y"], name="c", domain="org.example")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)]
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    found: list[dict[str, str]] = []
    for name, to in (("model.xml", "onnx"), ("model.onnx", "ir-v11")):
        target = str(tmp_path / to)
        plan = Plan((str(tmp_path / name),), target, ("convert",), to, Shard(1, 1))
        sweep(plan, InlineCluster())
        found += [item for row in rows(target, ("refusals",)) for item in row[1]]
    assert [(item["operation"], item["place"]) for item in found] == [
        ("Custom-extension", "a'b"),
        ("org.example.Custom-1", "c"),
    ]
    assert all(item["reason"] for item in found)


def test_a_report_lists_what_broke_and_what_was_repaired(zoo: Path, tmp_path: Path) -> None:
    plan = plan_of(zoo)
    sweep(plan, InlineCluster())
    model = zoo / "good" / "halving" / "model.xml"
    broken = zoo / "bad" / "bad_in_body.xml"
    mended = (model.read_bytes(), model.with_suffix(".bin").read_bytes())
    model.write_bytes(broken.read_bytes())
    broken.write_bytes(mended[0])
    broken.with_suffix(".bin").write_bytes(mended[1])
    (zoo / "bad" / "bad_to_port.xml").unlink()
    newer = replace(plan, target=str(tmp_path / "newer"))
    sweep(newer, InlineCluster())
    found = summarized(newer.target, plan.target)
    assert found.models == 5
    assert found.changes is not None
    counts = found.changes.counts
    assert (counts["broken"], counts["mended"], counts["gone"]) == (2, 2, 2)
    assert {row["path"] for row, _ in found.changes.rows["broken"]} == {str(model)}
