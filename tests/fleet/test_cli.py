"""`irloop sweep` as users run it: a cluster of processes, a real scheduler over TLS, a store."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.fleet.conftest import Verdicts
from tests.fleet.test_driver import EXPECTED, HOSTILE
from tests.pages.models import embedded

Irloop = Callable[..., subprocess.CompletedProcess[str]]
ReadVerdicts = Callable[[Path | str], Verdicts]


def test_a_local_cluster_and_reports(
    zoo: Path, tmp_path: Path, irloop: Irloop, verdicts: ReadVerdicts
) -> None:
    results = tmp_path / "results"
    arguments = ("sweep", zoo, "-o", results, "--do", "validate,convert", "--workers", 2)
    done = irloop(*arguments)
    assert done.returncode == 1, done.stderr
    assert verdicts(results) == EXPECTED
    assert "6 models in this sweep" in done.stdout
    page, sarif, junit = (tmp_path / f"page{suffix}" for suffix in (".html", ".sarif", ".xml"))
    report = irloop(
        *("sweep", "report", results, "--compare", results, "--format", "json"),
        *("-o", page, "-o", sarif, "-o", junit),
    )
    # Nothing broke since the older results.
    assert report.returncode == 0, report.stderr
    content = json.loads(report.stdout)
    assert (content["models"], content["findings"]) == (6, 8)
    data = embedded(page.read_text("utf-8"))
    sections = {item["title"]: item.get("table") for item in data["report"]["before"]}
    assert data["title"] == "Sweep of 6 models"
    assert data["report"]["verdict"] == {"level": "bad", "text": "8 findings"}
    assert "IRL203" in [row[0] for row in sections["Codes"]["rows"]]
    # The example of a code links to its file.
    assert all(row[2]["href"].startswith("file:///") for row in sections["Codes"]["rows"])
    found = json.loads(sarif.read_text("utf-8"))["runs"][0]["results"]
    assert {item["ruleId"] for item in found} >= {"IRL203"}
    suite = ElementTree.parse(junit).getroot()  # noqa: S314 (our own file)
    assert (suite.get("tests"), suite.get("failures")) == ("6", "4")


def test_hostile_names_are_escaped_in_reports(tmp_path: Path, irloop: Irloop, zoo: Path) -> None:
    name = "a\n::error::<script>\x1b[2J"
    folder = tmp_path / "hostile"
    folder.mkdir()
    text = (zoo / "bad" / "bad_in_body.xml").read_bytes()
    (folder / f"{name}.xml").write_bytes(text)
    (folder / os.fsdecode(b"\xff.xml")).write_bytes(text)
    results = tmp_path / "results"
    done = irloop("sweep", folder, "-o", results, "--workers", 1)
    page = tmp_path / "page.html"
    report = irloop("sweep", "report", results, "-o", page)
    assert (done.returncode, report.returncode) == (1, 1), done.stderr + report.stderr
    # In the page names are data, in which no control characters are left.
    data = json.dumps(embedded(page.read_text("utf-8")), ensure_ascii=False)
    assert "<script>" in data
    for shown in (done.stdout + done.stderr, report.stdout, data):
        assert "\x1b" not in shown
        assert "\n::error" not in shown


def test_without_the_extra_the_command_names_it(tmp_path: Path, irloop: Irloop) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['distributed'] = None\n")
    done = irloop("sweep", "zoo", "-o", "results", path=tmp_path)
    assert done.returncode == 2
    assert "pip install '.[fleet]'" in done.stderr
    assert "distributed" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--shard", "4/3"), "is not a part"),
        (("--do", "guess"), "not a list of steps"),
        (("--again", "wrong"), "verdicts are"),
        (("--tls-ca", "ca.pem"), "--scheduler"),
        (("--scheduler", "tls://127.0.0.1:9"), "certificates"),
        (("--scheduler", "tcp://127.0.0.1:9", "--patience", "0"), "no cluster"),
        (("--scheduler", "tcp://127.0.0.1:9", "--workers", "2"), "--workers"),
    ],
)
def test_contradictory_options_are_refused(
    zoo: Path, tmp_path: Path, irloop: Irloop, arguments: tuple[str, ...], text: str
) -> None:
    done = irloop("sweep", zoo, "-o", tmp_path / "results", *arguments)
    assert done.returncode == 2
    assert text in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_killed_sweep_continues_where_it_stopped(
    zoo: Path, tmp_path: Path, irloop: Irloop, verdicts: ReadVerdicts
) -> None:
    """The driver is killed while a model hangs; the next sweep, in which the model does not hang,
    does the rest.
    """
    hanging = zoo / "bad" / "bad_to_port.xml"
    text = hanging.read_bytes()
    hanging.write_bytes(text + b"<!-- irloop-test: hang -->")
    results = tmp_path / "results"
    command = [sys.executable, "-m", "irloop", "sweep", str(zoo), "-o", str(results)]
    command += ["--do", "validate,convert", "--workers", "1"]
    environment = {**os.environ, "PYTHONPATH": str(HOSTILE)}
    with subprocess.Popen(command, env=environment, start_new_session=True) as process:
        time.sleep(3)
        os.killpg(process.pid, signal.SIGKILL)
    hanging.write_bytes(text)
    done = irloop(*command[3:])
    assert done.returncode == 1, done.stderr
    assert verdicts(results) == EXPECTED


#: Makes the process from which workers are forked start slowly.
SLOW_START = """\
import pathlib, signal, sys, time
if any("forkserver" in argument for argument in sys.orig_argv):
    pathlib.Path(__file__).with_name("begun").touch()
    time.sleep(5)
else:
    # A shell that starts the tests in the background lets them ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
"""


def test_an_interrupt_at_the_start_prints_a_line(zoo: Path, tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all processes of the command."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_START, "utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "irloop", "sweep", str(zoo), "-o", str(tmp_path / "results")],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        start_new_session=True,
        stderr=subprocess.PIPE,
    ) as process:
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, b"irloop: interrupted\n")


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, str]:
    """The options for the certificates of an authority created for this test."""
    import trustme

    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "cert", "key")}
    authority.cert_pem.write_to_path(str(files["ca"]))
    issued.cert_chain_pems[0].write_to_path(str(files["cert"]))
    issued.private_key_pem.write_to_path(str(files["key"]))
    return {f"--tls-{name}": str(path) for name, path in files.items()}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class RealCluster:
    """A `dask scheduler` and two `dask worker` processes over TLS."""

    def __init__(self, certificates: dict[str, str], folder: Path, stack: ExitStack) -> None:
        self.address = f"tls://127.0.0.1:{free_port()}"
        # Dask spells one of the three options differently.
        named = {**certificates, "--tls-ca-file": certificates["--tls-ca"]}
        del named["--tls-ca"]
        self._files = [f"{name}={path}" for name, path in named.items()]
        self._folder = folder
        self._stack = stack
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(2)]

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        port = self.address.rpartition(":")[2]
        return self._start(
            "scheduler",
            "--protocol",
            "tls",
            "--host",
            "127.0.0.1",
            "--port",
            port,
            "--no-dashboard",
        )

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            *("worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny"),
            *("--resources", "irloop-big=1", "--local-directory", str(self._folder)),
        )

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments, *self._files],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def real_cluster(certificates: dict[str, str], tmp_path: Path) -> Iterator[RealCluster]:
    folder = tmp_path / "dask"
    folder.mkdir()
    with ExitStack() as stack:
        yield RealCluster(certificates, folder, stack)


def test_a_real_scheduler_and_workers_over_tls(
    zoo: Path,
    tmp_path: Path,
    irloop: Irloop,
    certificates: dict[str, str],
    real_cluster: RealCluster,
    verdicts: ReadVerdicts,
) -> None:
    results = tmp_path / "results"
    options = [part for option in certificates.items() for part in option]
    done = irloop(
        *("sweep", zoo, "-o", results, "--do", "validate,convert", "--big", "2K"),
        *("--scheduler", real_cluster.address, *options, "--patience", "60"),
    )
    assert done.returncode == 1, done.stderr
    assert verdicts(results) == EXPECTED


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Start an S3 server on this machine, and yield the environment with its address."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    yield environment
    server.stop()


def test_an_object_store_is_source_and_target(
    zoo: Path, irloop: Irloop, store: dict[str, str]
) -> None:
    setup = (
        "import sys, fsspec; fs = fsspec.filesystem('s3'); fs.mkdir('bucket'); "
        "fs.put(sys.argv[1], 'bucket/zoo', recursive=True)"
    )
    subprocess.run([sys.executable, "-c", setup, str(zoo)], check=True, timeout=120)
    arguments = [*("sweep", "s3://bucket/zoo", "-o", "s3://bucket/results")]
    arguments += ["--do", "validate,convert", "--workers", "1"]
    done = irloop(*arguments)
    assert done.returncode == 1, done.stderr
    again = irloop(*arguments)
    assert "0 models in this sweep, 6 were done before" in again.stdout
    read = (
        "import json; from irloop.fleet import table; import fsspec; print(json.dumps(["
        "[path.partition('zoo/')[2], step, verdict, bool(output)] "
        "for _, step, found in table.scan('s3://bucket/results', ('path', 'verdict', 'output')) "
        "for path, verdict, output in zip(*found.values())])); "
        "print(len(fsspec.filesystem('s3').find('bucket/results/models')))"
    )
    told = subprocess.run(
        [sys.executable, "-c", read], check=True, timeout=120, capture_output=True, text=True
    )
    table, models = told.stdout.splitlines()
    found = {(path, step): verdict for path, step, verdict, _ in json.loads(table)}
    assert found == EXPECTED
    assert int(models) == 2
