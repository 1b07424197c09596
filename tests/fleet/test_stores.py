"""Sweeps over Google Cloud and Hugging Face stores that are emulated on this machine."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.spec import AbstractFileSystem

from irloop.errors import UsageError
from irloop.fleet import places
from irloop.fleet.driver import Plan, sweep
from irloop.fleet.sources import Shard
from tests.fleet import hub_server
from tests.fleet.conftest import Verdicts, rows
from tests.fleet.inline import InlineCluster
from tests.fleet.test_driver import EXPECTED, end_children

Irloop = Callable[..., subprocess.CompletedProcess[str]]
ReadVerdicts = Callable[[Path | str], Verdicts]

#: The stores are servers on this machine.
HERE = {"no_proxy": "*"}

#: gcsfs looks for buckets with folders, which the emulated Google Cloud lacks.
EMULATED = {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The environment for an emulated Google Cloud Storage with the empty bucket `models`."""
    server_of = pytest.importorskip(
        "gcp_storage_emulator.server", reason="needs the emulator: pip install '.[stores]'"
    )
    pytest.importorskip("gcsfs", reason="needs gcsfs: pip install '.[stores]'")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = server_of.create_server("127.0.0.1", port, in_memory=True, default_bucket="models")
    server.start()
    given = {**HERE, **EMULATED, "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    yield given
    server.stop()


def test_google_cloud_storage_is_source_and_target(
    google: dict[str, str], zoo: Path, irloop: Irloop
) -> None:
    """The second sweep recognises every model by its entry in the listing."""
    # Separate processes are used because gcsfs reads the environment when it is imported.
    upload = "import fsspec, sys; fsspec.filesystem('gs').put(*sys.argv[1:], recursive=True)"
    arguments = [sys.executable, "-c", upload, str(zoo), "models/"]
    subprocess.run(arguments, check=True, timeout=120)
    command = ("sweep", "gs://models/zoo", "-o", "gs://models/results", "--workers", 1)
    first = irloop(*command, "--do", "validate,convert")
    assert first.returncode == 1, first.stderr
    for verdict, count in (("valid", 2), ("invalid", 4)):
        assert f"validate: {verdict} {count}\n" in first.stdout
    again = irloop(*command, "--do", "validate,convert")
    assert "0 models in this sweep, 6 were done before" in again.stdout
    report = irloop("sweep", "report", "gs://models/results")
    assert "converted" in report.stdout


#: The public account of the emulator, from its documentation.
AZURITE = (
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmE"
    "tlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;"
    "BlobEndpoint=http://127.0.0.1:{port}/devstoreaccount1;"
)


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An Azure Blob Storage without containers."""
    pytest.importorskip("adlfs", reason="adlfs is not installed")
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("the emulator azurite-blob is not installed (npm install azurite)")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    given = {**HERE, "AZURE_STORAGE_CONNECTION_STRING": AZURITE.format(port=port)}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    options = ("--blobPort", str(port), "--skipApiVersionCheck", "--location", str(tmp_path / "az"))
    with subprocess.Popen(
        [program, "--disableTelemetry", *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while "successfully listens" not in (line := process.stdout.readline()):
            assert line, "the emulator has ended"
        yield
        process.kill()


@pytest.mark.usefixtures("azure")
def test_azure_is_source_and_target(zoo: Path, irloop: Irloop) -> None:
    """The second sweep finds every model by its mark in the listing."""
    upload = (
        "import fsspec, sys; fs = fsspec.filesystem('abfs'); fs.mkdir('models'); "
        "fs.put(sys.argv[1], 'models/zoo', recursive=True)"
    )
    subprocess.run([sys.executable, "-c", upload, str(zoo)], check=True, timeout=120)
    command = ("sweep", "abfs://models/zoo", "-o", "abfs://models/results", "--workers", 1)
    first = irloop(*command, "--do", "validate,convert")
    assert first.returncode == 1, first.stderr
    for verdict, count in (("valid", 2), ("invalid", 4)):
        assert f"validate: {verdict} {count}\n" in first.stdout
    again = irloop(*command, "--do", "validate,convert")
    assert "0 models in this sweep, 6 were done before" in again.stdout
    report = irloop("sweep", "report", "abfs://models/results")
    assert "converted" in report.stdout


def test_models_of_a_repository_of_hugging_face(
    zoo: Path, tmp_path: Path, irloop: Irloop, verdicts: ReadVerdicts
) -> None:
    """Folders are listed, weights are fetched, and a second sweep recognises files by their
    blobs.
    """
    pytest.importorskip("huggingface_hub", reason="needs it: pip install '.[stores]'")
    results = tmp_path / "results"
    with hub_server.serving(zoo.parent) as endpoint:
        given = {**HERE, "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "home")}
        command = ("sweep", "hf://owner/zoo/zoo", "-o", results, "--workers", 1)
        done = irloop(*command, "--do", "validate,convert", **given)
        again = irloop(*command, "--do", "validate,convert", **given)
    assert done.returncode == 1, done.stderr
    found = verdicts(results)
    assert {
        (path.removeprefix("zoo/"), step): found[path, step] for path, step in found
    } == EXPECTED
    assert "0 models in this sweep, 6 were done before" in again.stdout


@pytest.mark.parametrize(
    ("address", "module", "package"),
    [
        ("gs://bucket/zoo", "gcsfs", "gcsfs"),
        ("s3://bucket/zoo", "s3fs", "s3fs"),
        ("hf://owner/zoo", "huggingface_hub", "huggingface_hub"),
        ("https://host/zoo", "aiohttp", "aiohttp"),
    ],
)
def test_the_missing_package_of_a_store_is_named(
    irloop: Irloop, tmp_path: Path, address: str, module: str, package: str
) -> None:
    """The modules of a package that is not installed cannot be imported."""
    (tmp_path / f"{module}.py").write_text(f"raise ImportError('No module named {module}')")
    done = irloop("sweep", address, "-o", tmp_path / "results", path=tmp_path)
    assert done.returncode == 2
    assert f"pip install {package}" in done.stderr


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://key:secret@bucket/zoo", "s3://bucket/zoo"),
        ("https://user:secret@host/zoo", "https://host/zoo"),
        ("abfs://container@account.dfs.core.windows.net/zoo", None),
        ("az://container@account.blob.core.windows.net/zoo", None),
        ("oci://bucket@namespace/zoo", None),
        ("simplecache::oci://bucket@namespace/zoo", None),
    ],
)
def test_only_secrets_are_left_out_of_an_address(address: str, shown: str | None) -> None:
    """Without its container, an address in the table could be that of another model."""
    assert places.without_secrets(address) == (shown or address)


class Buckets(MemoryFileSystem):  # type: ignore[misc]
    """A store in this process whose paths begin with bucket@namespace, as those of OCI do."""

    protocol = "oci"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix("oci://").strip("/")


def test_models_of_two_buckets_of_oci_have_their_own_rows(zoo: Path, tmp_path: Path) -> None:
    fsspec.register_implementation("oci", Buckets, clobber=True)
    model = (zoo / "bad" / "bad_in_body.xml").read_bytes()
    for bucket in ("first", "second"):
        Buckets().pipe_file(f"{bucket}@namespace/zoo/model.xml", model)
    addresses = tuple(f"oci://{bucket}@namespace/zoo" for bucket in ("first", "second"))
    plan = Plan(addresses, str(tmp_path / "results"), ("validate",), "onnx", Shard(1, 1))
    sweep(plan, InlineCluster())
    found = rows(plan.target, ("path", "verdict"))
    assert found == [("validate", f"{address}/model.xml", "invalid") for address in addresses]
    Buckets.store.clear()
    end_children()


def test_an_account_in_an_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """adlfs takes the account out of the address, so that of a model would not have it."""

    def parted(address: str, **options: object) -> tuple[AbstractFileSystem, str]:
        return AbstractFileSystem(), "container/zoo"

    monkeypatch.setattr("fsspec.core.url_to_fs", parted)
    assert places.place_of("abfs://container/zoo").path == "container/zoo"
    with pytest.raises(UsageError, match="an account in an address is not supported"):
        places.place_of("abfs://container@account.dfs.core.windows.net/zoo")


def test_an_unknown_kind_of_address_is_refused() -> None:
    with pytest.raises(UsageError, match="nowhere://host/zoo cannot be opened"):
        places.place_of("nowhere://host/zoo")


@pytest.mark.parametrize(
    "address",
    [
        "hf://owner/zoo/results",
        "https://user:secret@host/results",
        "oci://bucket/results",
        "memory://results",
        "simplecache::hf://owner/zoo/results",
    ],
)
def test_a_target_that_takes_no_results_is_refused_by_name(
    irloop: Irloop, zoo: Path, address: str
) -> None:
    """The target is refused before a cluster is started or a model is read."""
    done = irloop("sweep", zoo, "-o", address)
    assert done.returncode == 2
    kind = address.partition("://")[0].rpartition("::")[2]
    assert f"results are not written to {kind}://" in done.stderr
    assert "secret" not in done.stderr
