"""Listing models: sources, pairs with weights, parts, constant memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irloop.errors import UsageError
from irloop.fleet import archives
from irloop.fleet.fetching import Fetched, fetch
from irloop.fleet.sources import Entry, Shard, entries, in_shard
from irloop.fleet.task import path_of

NAMES = {
    "bad/bad_from_port.xml",
    "bad/bad_from_result.xml",
    "bad/bad_in_body.xml",
    "bad/bad_to_port.xml",
    "good/halving/model.xml",
    "good/recurrent/model.xml",
}


def found_in(source: str, root: Path) -> set[str]:
    return {os.path.relpath(entry.address, root) for entry in entries([source])}


def test_a_folder_is_searched_and_weights_are_paired(zoo: Path) -> None:
    assert {os.path.relpath(item.address, zoo) for item in entries([str(zoo)])} == NAMES
    (entry,) = entries([str(zoo / "good" / "recurrent")])
    model = zoo / "good" / "recurrent" / "model.xml"
    assert entry.weights == str(model.with_suffix(".bin"))
    assert entry.size == model.stat().st_size + model.with_suffix(".bin").stat().st_size


def test_a_pattern_matches_folders_at_any_depth(zoo: Path) -> None:
    assert found_in(f"{zoo}/**/model.xml", zoo) == {name for name in NAMES if "good" in name}
    assert found_in(f"{zoo}/*/bad_[ft]*.xml", zoo) == {
        name for name in NAMES if "bad_f" in name or "bad_t" in name
    }
    assert found_in(f"{zoo}/*.xml", zoo) == set()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("bad/bad_[z-a]*.xml", ""),
        ("bad/bad_[[:alpha:]]*.xml", ""),
        (r"bad/bad_[\f]*.xml", "bad_f"),
        ("bad/bad_[a&&b]n_body.xml", ""),
        ("bad/bad_[!i]*.xml", "bad_[ft]"),
        ("good[!x]recurrent/model.xml", ""),
    ],
)
def test_a_set_in_a_pattern_means_the_same_as_in_a_shell(
    zoo: Path, pattern: str, found: str
) -> None:
    """An empty range matches nothing, and a set never matches a slash."""
    names = {name for name in NAMES if found and re.search(found, name)}
    assert found_in(f"{zoo}/{pattern}", zoo) == names


def test_a_list_names_sources(zoo: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text(f"# models\n{zoo}/good\n\n{zoo}/bad/bad_in_body.xml\n", "utf-8")
    assert found_in(f"@{listed}", zoo) == {name for name in NAMES if "good" in name} | {
        "bad/bad_in_body.xml"
    }


def test_a_source_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        list(entries([str(tmp_path / "missing")]))
    with pytest.raises(UsageError, match="nosuch"):
        list(entries(["nosuch://bucket/x.onnx"]))


def test_links_out_of_a_folder_are_not_followed(zoo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.onnx"
    outside.write_bytes(b"\x08\x01")
    (zoo / "link.onnx").symlink_to(outside)
    (zoo / "folder").symlink_to(tmp_path)
    assert found_in(str(zoo), zoo) == NAMES


def test_parts_are_disjoint_and_complete() -> None:
    paths = [f"zoo/{number}.onnx" for number in range(500)]
    parts = [{path for path in paths if in_shard(path, Shard(number, 7))} for number in range(1, 8)]
    assert sum(map(len, parts)) == len(paths)
    assert set().union(*parts) == set(paths)
    assert all(parts)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
def test_models_in_archives_are_listed_and_extracted(zoo: Path, tmp_path: Path, kind: str) -> None:
    archive = tmp_path / f"zoo.{kind}"
    pack(archive, {str(item.relative_to(zoo)): item for item in zoo.rglob("*") if item.is_file()})
    listed = list(entries([str(archive)]))
    assert {entry.address for entry in listed} == NAMES
    fetched = fetched_from(listed, tmp_path)
    for item in fetched:
        original = zoo / item.entry.address
        assert Path(item.path).read_bytes() == original.read_bytes()
        weights = original.with_suffix(".bin")
        copied = Path(item.path).with_suffix(".bin")
        assert copied.exists() == weights.exists()
        assert not weights.exists() or copied.read_bytes() == weights.read_bytes()


def pack(archive: Path, files: dict[str, Path]) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for name, path in files.items():
                file.write(path, name)
        return
    compression = archive.suffix.removeprefix(".").removeprefix("tar")
    mode: Any = f"w:{compression}"
    with tarfile.open(archive, mode) as tar:
        for name, path in files.items():
            tar.add(path, name)


def fetched_from(listed: list[Entry], tmp_path: Path, most: int = 1 << 30) -> list[Fetched]:
    folder = tmp_path / "scratch"
    folder.mkdir(exist_ok=True)
    return list(fetch(listed, str(folder), most))


def test_names_in_archives_never_become_paths(tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    content = b"\x08\x01"
    with tarfile.open(archive, "w") as tar:
        for name in ("../../evil.onnx", "/etc/evil.onnx"):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.onnx")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    listed = list(entries([str(archive)]))
    assert {entry.address for entry in listed} == {"../../evil.onnx", "/etc/evil.onnx"}
    for item in fetched_from(listed, tmp_path):
        assert Path(item.path).is_relative_to(tmp_path / "scratch")
        assert Path(item.path).read_bytes() == content


def test_archive_bombs_are_extracted_only_up_to_the_limit(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.onnx", b"\x08\x01" * 5_000_000)
        file.writestr("b.onnx", b"\x08\x01")
    found = fetched_from(list(entries([str(archive)])), tmp_path, most=1_000_000)
    assert {item.entry.address: item.verdict for item in found} == {
        "a.onnx": "too-big",
        "b.onnx": "",
    }
    written = sum(path.stat().st_size for path in (tmp_path / "scratch").rglob("*.onnx"))
    assert written <= 1_000_002


#: The compression functions, and the maximum memory that reading takes; the window of xz alone
#: takes 8 MB.
COMPRESSIONS: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "gz": (gzip.compress, 4 << 20),
    "bz2": (bz2.compress, 4 << 20),
    "xz": (lzma.compress, 16 << 20),
}


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_a_tar_is_unpacked_in_small_pieces(tmp_path: Path, kind: str) -> None:
    """tarfile keeps everything that ten kilobytes decompress to, and copies it for each block that
    it skips.
    """
    compress, most = COMPRESSIONS[kind]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, size in (("huge.bin", 32 << 20), ("model.onnx", 5)):
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(bytes(size)))
    archive = tmp_path / f"bomb.tar.{kind}"
    archive.write_bytes(compress(content.getvalue()))
    list(archives.models_in(str(archive)))
    tracemalloc.start()
    try:
        assert [member.name for member in archives.models_in(str(archive))] == ["model.onnx"]
        assert archives.extract(str(archive), {"model.onnx": str(tmp_path / "m.onnx")}, 5) == {}
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    assert (tmp_path / "m.onnx").read_bytes() == bytes(5)


@pytest.mark.parametrize("kind", COMPRESSIONS)
def test_a_tar_that_unpacks_to_a_huge_multiple_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """gzip reaches 1032 times its size at most; bzip2 and xz reach thousands of times."""
    monkeypatch.setattr(archives, "SPARE", 1 << 20)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, size in (("model.onnx", 5), ("huge.bin", 64 << 20), ("last.onnx", 5)):
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(bytes(size)))
    archive = tmp_path / f"bomb.tar.{kind}"
    archive.write_bytes(COMPRESSIONS[kind][0](content.getvalue()))
    entry = Entry("last.onnx", 5, archive=str(archive))
    if kind == "gz":
        assert [item.name for item in archives.models_in(str(archive))] == [
            "model.onnx",
            "last.onnx",
        ]
        assert [item.verdict for item in fetched_from([entry], tmp_path)] == [""]
        return
    with pytest.raises(UsageError, match="unpacks to a huge multiple") as raised:
        list(archives.models_in(str(archive)))
    assert "at most 1,048,576 bytes, and 1,032 for each byte" in str(raised.value)
    (found,) = fetched_from([entry], tmp_path)
    assert (found.verdict, "huge multiple" in found.detail) == ("unavailable", True)


def damaged(archive: Path, how: str) -> None:
    """Damage the first member of a ZIP with two members."""
    data = bytearray(archive.read_bytes())
    entry = data.find(b"PK\1\2")
    if how == "encrypted":
        data[6] |= 1
        data[entry + 8] |= 1
    elif how == "compression":
        data[8] = data[entry + 10] = 99
    elif how == "name":
        data[30] ^= 1
    else:
        # The first block of the compressed data gets a type that does not exist.
        data[30 + len("bad.xml")] |= 6
    archive.write_bytes(data)


@pytest.mark.parametrize(
    ("how", "detail"),
    [
        ("encrypted", "it is encrypted"),
        ("compression", "its compression is not supported"),
        ("name", "the archive is damaged"),
        ("data", "the archive is damaged"),
    ],
)
def test_a_damaged_member_of_a_zip_does_not_affect_others(
    tmp_path: Path, how: str, detail: str
) -> None:
    archive = tmp_path / "zoo.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("bad.xml", "good.xml"):
            file.writestr(name, "<net></net>" * 100)
    damaged(archive, how)
    found = {
        item.entry.address: (item.verdict, item.detail)
        for item in fetch(list(entries([str(archive)])), str(tmp_path), 10_000)
    }
    assert found == {"bad.xml": ("unreadable", f"bad.xml: {detail}"), "good.xml": ("", "")}


def test_a_huge_header_of_a_tar_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "header.tar"
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
        info = tarfile.TarInfo("x" * (archives.HEADER + 1) + ".onnx")
        tar.addfile(info)
    (entry,) = entries([str(archive)])
    assert (entry.address, "cannot be read" in entry.problem) == (str(archive), True)


def test_a_zip_with_a_huge_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "many.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for number in range(100):
            file.writestr(f"{number}.onnx", b"")
    monkeypatch.setattr(archives, "DIRECTORY", 4000)
    (entry,) = entries([str(archive)])
    assert "whose directory has" in entry.problem


def test_a_damaged_archive_does_not_end_the_sweep(tmp_path: Path) -> None:
    """It is an entry of its own, which says why; what comes before the damage is listed."""
    (tmp_path / "a.zip").write_bytes(b"PK\3\4 and nothing that follows")
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as tar:
        for name, data in (("first.onnx", b"1"), ("second.onnx", os.urandom(100_000))):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    (tmp_path / "b.tar.gz").write_bytes(whole.getvalue()[:-20_000])
    (tmp_path / "c.onnx").write_bytes(b"model")
    found = list(entries([f"{tmp_path}/*"]))
    assert {(os.path.basename(item.path), bool(item.problem)) for item in found} == {
        ("a.zip", True),
        ("first.onnx", False),
        ("second.onnx", False),
        ("b.tar.gz", True),
        ("c.onnx", False),
    }
    with_problem = [item for item in found if item.problem]
    for item in fetch(with_problem, str(tmp_path / "copies"), 1 << 20):
        assert item.verdict == "unavailable"
        assert "cannot be read" in item.detail


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_named_like_an_archive_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    (entry,) = entries([str(tmp_path / "a.zip")])
    assert "this is a pipe, not a file" in entry.problem


def test_the_name_of_a_member_is_one_line_in_the_table(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a\n::error::b\x1b[31m.onnx", b"")
    (entry,) = entries([str(archive)])
    assert path_of(entry) == f"{archive}!/a\\n::error::b\\x1b[31m.onnx"


def test_lfs_pointers_are_reported(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    (tmp_path / "net.onnx").write_bytes(pointer)
    (tmp_path / "net.xml").write_bytes(b"<net/>")
    (tmp_path / "net.bin").write_bytes(pointer)
    for model, named in (("net.onnx", "net.onnx"), ("net.xml", "net.bin")):
        (found,) = fetched_from(list(entries([str(tmp_path / model)])), tmp_path)
        assert found.verdict == "lfs-pointer"
        assert found.detail == f"{named} is a Git LFS pointer: run `git lfs pull`"


def test_files_of_a_store_are_fetched_with_a_limit(zoo: Path, tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(zoo), "/fleet-zoo", recursive=True)
    listed = list(entries(["memory://fleet-zoo"]))
    assert len(listed) == len(NAMES)
    assert sum(bool(entry.weights) for entry in listed) == 2
    size = max(path.stat().st_size for path in zoo.rglob("*.xml"))
    small = fetched_from(listed, tmp_path, most=size - 1)
    assert "too-big" in {item.verdict for item in small}
    memory.rm("/fleet-zoo", recursive=True)


MILLION = """
import re, sys
import fsspec
from fsspec.spec import AbstractFileSystem
from irloop.fleet.sources import entries

class Folders(AbstractFileSystem):
    protocol = "folders"

    def ls(self, path, detail=True, **more):
        if path.strip("/") == "zoo":
            return [{"name": f"zoo/{n}", "size": 0, "type": "directory"} for n in range(1000)]
        return [
            {"name": f"{path}/{n:06}.onnx", "size": n, "type": "file", "ETag": f"{path}{n}"}
            for n in range(1000)
        ]

class Pages(Folders):
    protocol = "pages"

    def split_path(self, path):
        return "bucket", "zoo", None

    async def _iterdir(self, bucket, delimiter, prefix):
        for n in range(1_000_000):
            yield {"name": f"zoo/{n:07}.onnx", "size": n, "type": "file", "ETag": str(n)}

    @property
    def loop(self):
        from fsspec.asyn import get_loop
        return get_loop()

fsspec.register_implementation("folders", Folders)
fsspec.register_implementation("pages", Pages)
list(entries(["folders://zoo/1"]))
count = sum(1 for _ in entries([sys.argv[1]]))
# Not `ru_maxrss`, which a process inherits from the one that started it.
print(count, re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measured by Linux")
@pytest.mark.parametrize("address", ["folders://zoo", "pages://zoo"])
def test_a_million_entries_are_listed_in_constant_memory(address: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MILLION, address],
        capture_output=True,
        check=True,
        text=True,
        timeout=300,
    )
    count, kilobytes = map(int, done.stdout.split())
    assert count == 1_000_000
    assert kilobytes < 200_000
