"""Malformed files: files that are not models, or damaged as a whole."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.malformed.cases import Case, edited
from tests.malformed.ir_bases import FLAT, FLAT_WEIGHTS
from tests.malformed.onnx_bases import flat_onnx

__all__ = ["CASES"]

_BYTES = FLAT.encode()
_LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 1234567\n" % (b"0" * 64)
_PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Sign in</body></html>\n"
_HEAD = '<?xml version="1.0"?>\n'
#: Each entity contains the previous one ten times: a billion copies at the end.
_LAUGHS = "\n".join(
    ['<!ENTITY e0 "ha">'] + [f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)]
)


def _write(data: bytes, path: Path) -> None:
    path.write_bytes(data)


def _zip() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("model.xml", FLAT)
    return held.getvalue()


def _tar() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        member = tarfile.TarInfo("model.xml")
        member.size = len(_BYTES)
        archive.addfile(member, io.BytesIO(_BYTES))
    return held.getvalue()


#: Files that people may pass as a model by mistake; irloop recognises their kind.
_FOREIGN: dict[str, bytes] = {
    "empty": b"",
    "white space": b" \n\t\n ",
    "Git LFS pointer": _LFS,
    "HTML page": _PAGE,
    "gzip": gzip.compress(_BYTES, mtime=0),
    "zip": _zip(),
    "tar": _tar(),
    "text": b"404: Not Found",
    "JSON": b'{"message": "Bad credentials"}',
    "NUL bytes": bytes(4096),
    "random bytes": bytes((n * 197 + 31) % 251 + 4 for n in range(3000)),
    "pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01w\x94G?\xf0\x00\x00s.",
    "TFLite": struct.pack("<I", 28) + b"TFL3" + bytes(64),
    "NumPy array": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'shape': (1,)}\n",
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(64),
    "safetensors": struct.pack("<Q", 20) + b'{"w":{"dtype":"F32"}' + bytes(8),
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(64),
}


def _given(name: str, code: str, data: bytes, *, suffix: str = ".xml", at: str = "") -> Case:
    def make(folder: Path) -> Path:
        path = folder / f"model{suffix}"
        path.write_bytes(data)
        if suffix == ".xml":
            path.with_suffix(".bin").write_bytes(FLAT_WEIGHTS)
        return path

    return Case(name, make, code, at)


def _foreign() -> Iterator[Case]:
    for name, data in _FOREIGN.items():
        yield _given(f"{name} as .xml", "IRL101", data)
        yield _given(f"{name} as .onnx", "ONX101", data, suffix=".onnx")
    yield _given("an ONNX model as .xml", "IRL101", flat_onnx().SerializeToString())
    yield _given("an IR as .onnx", "ONX101", _BYTES, suffix=".onnx")
    yield _given(
        "other XML", "IRL102", b'<?xml version="1.0"?>\n<project>\n</project>\n', at="<proj"
    )
    yield _given("HTML without DOCTYPE", "IRL101", b"<html><body>Not found</body></html>")
    yield _given("XHTML", "IRL102", b'<?xml version="1.0"?>\n<html><body/></html>', at="<html>")


def _xml() -> Iterator[Case]:
    for at, share in (("in a tag", 0.31), ("in a value", 0.5), ("in the edges", 0.9)):
        yield _given(f"truncated {at}", "IRL101", _BYTES[: int(len(_BYTES) * share)])
    yield _given("truncated after the declaration", "IRL101", _HEAD.encode())
    yield _given("truncated before </net>", "IRL101", _BYTES[: _BYTES.index(b"</net>")])

    def case(name: str, old: str, new: str, at: str = "") -> Case:
        return _given(name, "IRL101", edited(FLAT, (old, new)).encode(), at=at)

    yield case("end tag of another element", "</layers>", "</nets>", "</nets>")
    yield case("attribute twice", 'name="mm"', 'name="mm" name="m2"', 'name="m2"')
    yield case("bare ampersand", 'name="mm"', 'name="m & m"', "m & m")
    yield case("bare less-than", 'name="mm"', 'name="a<b"', "a<b")
    yield case("value without quotes", 'name="mm"', "name=mm", "name=mm")
    yield case("comment not closed", "<layers>", "<!-- <layers>")
    yield case("two roots", "</net>", "</net>\n<net/>", "<net/>")
    yield case("text behind the root", "</net>", "</net>\njunk", "junk")
    yield case("control character", 'name="mm"', 'name="m\x01m"', "\x01")
    yield case("NUL in the text", 'name="mm"', 'name="m\0m"', "\0")
    yield case("undeclared entity", 'name="mm"', 'name="&mm;"', "&mm;")
    broken = _BYTES.replace(b'name="mm"', b'name="\xff\xfe"')
    yield _given("no UTF-8", "IRL101", broken)
    yield _given("UTF-16 truncated", "IRL101", FLAT.encode("utf-16")[:999])
    yield _given("unknown encoding", "IRL101", b'<?xml version="1.0" encoding="klingon"?><net/>')
    yield _given(
        "billion laughs",
        "IRL101",
        f'{_HEAD}<!DOCTYPE net [\n{_LAUGHS}\n]>\n<net name="&e9;" version="10"/>'.encode(),
        at="e0",
    )
    entity = '<!ENTITY file SYSTEM "file:///etc/passwd">'
    yield _given(
        "external entity",
        "IRL101",
        f'{_HEAD}<!DOCTYPE net [{entity}]>\n<net version="10">&file;</net>'.encode(),
        at="ENTITY",
    )
    entity = '<!ENTITY % p SYSTEM "http://localhost/x.dtd"> %p;'
    yield _given(
        "parameter entity",
        "IRL101",
        f"{_HEAD}<!DOCTYPE net [{entity}]>\n<net/>".encode(),
        at="ENTITY",
    )
    yield _given(
        "external DTD with a reference",
        "IRL101",
        f'{_HEAD}<!DOCTYPE net SYSTEM "file:///etc/host">\n<net version="10">&a;</net>'.encode(),
        at="&a;",
    )
    deep = "<a>" * 5000 + "</a>" * 5000
    yield _given(
        "5000 unknown elements inside each other",
        "IRL101",
        edited(FLAT, ("<layers>", f"{deep}<layers>")).encode(),
    )
    deep = f"<rt_info>{'<a>' * 5000}{'</a>' * 5000}</rt_info>"
    yield _given(
        "5000 levels of rt_info", "IRL101", edited(FLAT, ("</net>", f"{deep}</net>")).encode()
    )


def _good() -> Iterator[Case]:
    """Files that look malformed but are valid for all readers."""
    yield _given("good: UTF-8 with a byte order mark", "", b"\xef\xbb\xbf" + _BYTES)
    utf16 = FLAT.replace('"1.0"', '"1.0" encoding="UTF-16"').encode("utf-16")
    yield _given("good: UTF-16", "", utf16)
    yield _given("good: no declaration", "", _BYTES[len(_HEAD) :])
    yield _given(
        "good: comments and white space",
        "",
        edited(FLAT, ("<layers>", "<!-- <a> -->\n\n<layers>")).encode(),
    )
    yield _given("good: lines of Windows", "", _BYTES.replace(b"\n", b"\r\n"))
    yield _given("good: more bytes than needed", "", _BYTES)
    yield _given("good: ONNX", "", flat_onnx().SerializeToString(), suffix=".onnx")


def _places() -> Iterator[Case]:
    """Paths that are not a readable file."""

    def case(
        name: str,
        code: str,
        make: Callable[[Path], Path],
        *,
        options: Callable[[Path], tuple[str, ...]] = lambda _: (),
        at: str = "",
        path: str = "",
    ) -> Case:
        return Case(name, make, code, at, path, options=options)

    def weights(make: Callable[[Path], object]) -> Callable[[Path], Path]:
        def made(folder: Path) -> Path:
            (folder / "model.xml").write_bytes(_BYTES)
            make(folder / "model.bin")
            return folder / "model.xml"

        return made

    yield case("weights missing", "IRL301", weights(lambda _: None))
    yield case("weights are a folder", "IRL301", weights(Path.mkdir))
    yield case(
        "weights are a link to nothing", "IRL301", weights(lambda path: path.symlink_to("gone"))
    )
    yield case(
        "weights are a link to themselves", "IRL301", weights(lambda path: path.symlink_to(path))
    )
    for name, data in (("a Git LFS pointer", _LFS), ("an HTML page", _PAGE), ("the .xml", _BYTES)):
        yield case(f"weights are {name}", "IRL301", weights(partial(_write, data)))
    yield case(
        "weights are gzip",
        "IRL302",
        weights(lambda path: path.write_bytes(gzip.compress(FLAT_WEIGHTS * 99, mtime=0))),
    )

    def swapped(folder: Path) -> Path:
        (folder / "model.xml").write_bytes(_BYTES)
        (folder / "model.bin").write_bytes(FLAT_WEIGHTS)
        return folder / "model.bin"

    yield case(
        "swapped arguments",
        "IRL101",
        swapped,
        options=lambda folder: ("--bin", str(folder / "model.xml")),
    )
    yield case("the .bin for the .xml", "IRL101", swapped)


CASES: list[Case] = [*_foreign(), *_xml(), *_places(), *_good()]
