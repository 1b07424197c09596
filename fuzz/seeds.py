"""Creates the initial corpus of the harnesses: small, each seed with another feature.

    python fuzz/seeds.py

Inputs that once did harm are added by hand, named by their effect.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import TensorProto, helper

import irloop
from irloop.fleet.table import schema_of_parts

CORPUS = Path(__file__).parent / "corpus"
MODELS = Path(__file__).parents[1] / "tests" / "fixtures" / "models"
OLD_IR = MODELS.parent / "legacy_ir.tar.xz"

#: Cases of IR of versions 2 to 7 with other sections, bodies, states and kinds of weights.
OLD_CASES = (
    "Convolution__legacy_attrs", "DetectionOutput__corner", "FakeQuantize__bin_v7",
    "PreProcess__mean", "Reshape__const_fp16", "ScaleShift__fp16", "TensorIterator__acc_ax1_last",
    "TensorIterator__lstmcell_bwd", "Split__uneven",
)  # fmt: skip

FLOATS: dict[str, dict[str, Any]] = {
    "Relu": {}, "Softmax": {"axis": 0}, "Transpose": {"perm": [1, 0]}, "Flatten": {},
    "ReduceMean": {}, "Cast": {"to": TensorProto.INT64}, "LRN": {"size": 3}, "Shape": {},
    "AveragePool": {"kernel_shape": [2, 2]}, "MaxPool": {"kernel_shape": [2, 2]},
    "HardSigmoid": {}, "ThresholdedRelu": {}, "DepthToSpace": {"blocksize": 2}, "IsNaN": {},
    "GlobalAveragePool": {}, "LpPool": {"kernel_shape": [2, 2]}, "Identity": {},
}  # fmt: skip

SETTINGS = b'select = ["IRL"]\nfail-on = "warning"\nseverity = {IRL9 = "info"}\nbaseline = "x"\n'
BASELINE = (
    b'{"schema": "irloop-baseline/1", "findings": [{"code": "IRL203", "file": "m.xml", '
    b'"path": "a/b", "message": "m", "count": 2}]}'
)


#: Settings, each file with other settings or another syntax of TOML.
ALL_SETTINGS: dict[str, bytes] = {
    "empty": b"",
    "select.toml": b"select = ['irl2', \"IRL203\", '''ONX''']\n",
    "ignore.toml": b'ignore = [\n  "IRL2", # all\n  "IRL301",\n]\n',
    "fail_on.toml": b'fail-on = "error"\n',
    "severity.toml": b'[severity]\nIRL203 = "error"\n"IRL5" = "warning"\nIRL = "info"\n',
    "severity_dotted.toml": b'severity.IRL203 = "error"\nseverity.IRL9 = "info"\n',
    "baseline.toml": b'baseline = "folder/known.json"\n',
    "baseline_escapes.toml": b'baseline = "a\\u00e9\\U0001F600\\t.json"\n',
    "engines.toml": b'engines = ["onnxruntime", "openvino-2021.4", "module:function"]\n',
    "same.toml": b"max-same-findings = 1_0\n",
    "same_zero.toml": b"max-same-findings = 0x0\n",
    "wrong_types.toml": b"select = 1979-05-27T07:32:00Z\nignore = nan\nengines = [[], {}]\n",
    "inline.toml": b'severity = { IRL2 = "info", "IRL3" = \'error\' }\nselect = []\n',
    "windows.toml": b'\xef\xbb\xbfselect = ["IRL"]\r\nfail-on = "warning"\r\n',
    "project.toml": b'[tool.irloop]\nselect = ["IRL"]\n[[tool.irloop.x]]\na = 1\n',
}

#: Baselines, each with other contents.
ALL_BASELINES: dict[str, object] = {
    "none": {"schema": "irloop-baseline/1", "findings": []},
    "other_schema": {"schema": "irloop-baseline/2", "findings": []},
    "count": {
        "schema": "irloop-baseline/1",
        "findings": [
            {"code": "IRL2", "file": "\u202e", "path": "", "message": "\n", "count": count}
            for count in (0, -1, "3", 1e300, True)
        ],
    },
}


def main() -> None:
    """Write all seeds."""
    for path in sorted(MODELS.glob("*/model.xml")):
        (CORPUS / "ir" / f"{path.parent.name}.xml").write_bytes(path.read_bytes())
        model, _ = irloop.convert(path)
        irloop.save_model(model, CORPUS / "onnx" / f"{path.parent.name}.onnx")
    for kind, attributes in FLOATS.items():
        shape = [1, 4, 4, 4] if kind in ("LRN", "DepthToSpace") or "Pool" in kind else [3, 4]
        model = _one(kind, shape, attributes)
        onnx.save(model, CORPUS / "onnx" / f"{kind}.onnx")
    stream = io.BytesIO()
    np.savez_compressed(stream, x=np.arange(4), y__bf16=np.zeros(2, np.uint16), t=np.array(["a"]))
    (CORPUS / "npz" / "several.npz").write_bytes(stream.getvalue())
    np.save(CORPUS / "npz" / "one.npy", np.zeros((2, 3), np.float32))
    for name, data in archives().items():
        (CORPUS / "npz" / name).write_bytes(data)
    (CORPUS / "settings" / "settings.toml").write_bytes(SETTINGS)
    (CORPUS / "settings" / "both").write_bytes(SETTINGS + b"\0" + BASELINE)
    for name, data in ALL_SETTINGS.items():
        (CORPUS / "settings" / name).write_bytes(data)
    for name, content in ALL_BASELINES.items():
        text = json.dumps(content).encode()
        (CORPUS / "settings" / f"baseline_{name}").write_bytes(SETTINGS + b"\0" + text)
    for name, data in readings().items():
        (CORPUS / "readings" / name).write_bytes(data)
    (CORPUS / "page" / "names.onnx").write_bytes(names().SerializeToString())
    cases = old_cases()
    for name in OLD_CASES:
        (CORPUS / "old-ir" / name).write_bytes(cases[name])
    for name, data in models_in_archives().items():
        (CORPUS / "archive" / name).write_bytes(data)
    for name, table in tables().items():
        pq.write_table(table, CORPUS / "table" / name, compression="none")


def old_cases() -> dict[str, bytes]:
    """The stored cases of IR of versions 2 to 7 by name: the .xml, a NUL, and the .bin."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(OLD_IR) as archive:
        for item in archive:
            file, path = archive.extractfile(item), Path(item.name)
            if file is not None and path.stem == "model":
                found.setdefault(path.parent.name, {})[path.suffix] = file.read()
    return {name: parts[".xml"] + b"\0" + parts.get(".bin", b"") for name, parts in found.items()}


def names() -> onnx.ModelProto:
    """A model whose names are markup, commands of CI services and invisible characters."""
    found = _one("Relu", [2], {})
    found.graph.node[0].name = "</script><img src=x onerror=alert(1)>"
    found.graph.name = "\n::error::x\x1b[31m\u202e"
    found.doc_string = "<!-- ]]> -->"
    return found


def models_in_archives() -> dict[str, bytes]:
    """An ONNX model, and an IR with its weights, in archives of several kinds."""
    model = _one("Relu", [2], {}).SerializeToString()
    layers = (CORPUS / "ir" / "halving.xml").read_bytes()
    files = {"a/m.onnx": model, "b.xml": layers, "b.bin": bytes(60), "../c.onnx": model}
    found = {}
    for name, method in (("stored.zip", zipfile.ZIP_STORED), ("packed.zip", zipfile.ZIP_DEFLATED)):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", method) as archive:
            for member, data in files.items():
                archive.writestr(zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0)), data)
        found[name] = stream.getvalue()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for member, data in files.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    plain = stream.getvalue()
    packed = {"gz": gzip.compress(plain, mtime=0), "bz2": bz2.compress(plain)}
    packed["xz"] = lzma.compress(plain)
    return found | {"plain.tar": plain} | {f"{kind}.tar": data for kind, data in packed.items()}


def tables() -> dict[str, pa.Table]:
    """Files of a table of results: complete, empty, with columns that are missing or foreign."""
    finding = {"code": "IRL203", "severity": "error", "message": "m", "line": 7, "place": "p"}
    row = {
        "path": "a.xml", "digest": "d", "mark": "1-2", "format": "ir", "size": 3, "settings": "",
        "versions": "irloop 1", "time": datetime(2026, 11, 28, tzinfo=UTC), "verdict": "invalid",
        "detail": "", "codes": [finding], "seconds": 0.5, "memory": 9, "max_abs": 0.25,
        "refusals": [{"operation": "Roll-7", "reason": "r", "place": "p"}],
    }  # fmt: skip
    schema = schema_of_parts()
    whole = pa.Table.from_pylist([row, row | {"path": "b.onnx", "verdict": "valid"}], schema=schema)
    nothing = pa.Table.from_pylist([dict.fromkeys(schema.names)], schema=schema)
    return {
        "whole.parquet": whole,
        "empty.parquet": whole.slice(0, 0),
        "nothing.parquet": nothing,
        "part.parquet": whole.select(["path", "verdict", "time"]),
        "numbers.parquet": pa.table({name: [1] for name in schema.names}),
    }


def readings() -> dict[str, bytes]:
    """Files that two readers might read differently."""
    one = _one("Relu", [2], {}).SerializeToString()
    graph = _one("Exp", [2], {}).graph.SerializeToString()
    layers = (CORPUS / "ir" / "halving.xml").read_bytes()
    return {
        "group.onnx": one + b"\xc3\x3e\xc4\x3e",
        "open_group.onnx": one + b"\xc3\x3e",
        "two_graphs.onnx": one + b"\x3a" + bytes([len(graph)]) + graph,
        "graph_as_number.onnx": one + b"\x38\x01",
        "long_length.onnx": one + b"\xca\x3e\x83\x80\x80\x80\x00abc",
        "field_0.onnx": one + b"\x00\x01",
        "two_layers.xml": layers.replace(b"<layers>", b"<layers/><layers>", 1),
        "comment_in_dim.xml": layers.replace(b"</dim>", b"<!-- -->1</dim>", 1),
        "default.xml": b"<!DOCTYPE net [<!ATTLIST data axis CDATA '1'>]>" + layers,
    }


def archives() -> dict[str, bytes]:
    """Arrays and archives, each with another feature of the formats."""
    two = np.arange(6, dtype=np.float32).reshape(2, 3)
    whole = _npz(x=_npy(two))
    encrypted = bytearray(whole)
    # Bit 0 of the flags, in the entry and in the directory.
    encrypted[6] |= 1
    encrypted[whole.index(b"PK\1\2") + 8] |= 1
    types = ("?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8")
    return {
        "types.npz": _npz(
            arrays={f"t{at}": _npy(np.zeros(2, kind)) for at, kind in enumerate(types)}
        ),
        "big_endian.npz": _npz(x=_npy(two.astype(">f4")), n=_npy(np.arange(3, dtype=">i8"))),
        "fortran.npy": _npy(np.asfortranarray(two)),
        "version_2.npy": _npy(two, (2, 0)),
        "version_3.npy": _npy(two, (3, 0)),
        "scalar.npy": _npy(np.float32(1)),
        "empty.npz": _npz(),
        "no_elements.npz": _npz(x=_npy(np.zeros((0, 3))), y=_npy(np.zeros((2, 0, 1 << 20), "u1"))),
        "huge.npy": _claimed("(1048576, 1048576)"),
        "negative.npy": _claimed("(-1, 2)"),
        "structured.npy": _npy(np.zeros(2, [("a", "<i4"), ("b", "<f4", (2,))])),
        "objects.npy": _npy(np.array([None, "a"], object)),
        "texts.npz": _npz(x=_npy(np.array(["a", "\u00e9"])), y=_npy(np.array([b"a", b""]))),
        "dates.npy": _npy(np.array(["2020-01-01", "NaT"], "datetime64[D]")),
        "nested.npz": _npz(arrays={"a/b/x": _npy(two), "../y": _npy(two), "/z": _npy(two)}),
        "sequence.npz": _npz(arrays={"x/0": _npy(two), "x/1": _npy(two[:1])}),
        "narrow.npz": _npz(a__bf16=_npy(np.ones(2, "u2")), b__float8_e4m3fn=_npy(np.ones(2, "u1"))),
        "twice.npz": _npz(("x.npy", _npy(two)), ("x.npy", _npy(two[:1]))),
        "other_files.npz": _npz(("readme.txt", b"text"), ("x.npy", _npy(two)), ("folder/", b"")),
        "deflated.npz": _npz(x=_npy(np.zeros(4096, np.float32)), method=zipfile.ZIP_DEFLATED),
        "bzip2.npz": _npz(x=_npy(two), method=zipfile.ZIP_BZIP2),
        "lzma.npz": _npz(x=_npy(two), method=zipfile.ZIP_LZMA),
        "zip64.npz": _npz(x=_npy(two), zip64=True),
        "encrypted.npz": bytes(encrypted),
        "truncated.npz": whole[:-30],
        "damaged.npz": whole.replace(two.tobytes(), bytes(24)),
        "before.npz": b"#!/bin/sh\n" + whole,
        "comment.npz": whole[:-2] + struct.pack("<H", 3) + b"abc",
    }


def _npy(array: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings():
        # NumPy says that older releases cannot read versions 2 and 3.
        warnings.simplefilter("ignore", UserWarning)
        np.lib.format.write_array(stream, np.asanyarray(array), version, allow_pickle=True)
    return stream.getvalue()


def _claimed(shape: str) -> bytes:
    """A file whose header claims a shape that its data do not have."""
    data = _npy(np.zeros(2, np.float32))
    text = data[10:].replace(b"(2,)", shape.encode()).split(b"}")[0] + b"}\n"
    return data[:8] + struct.pack("<H", len(text)) + text + bytes(8)


def _npz(
    *entries: tuple[str, bytes],
    method: int = zipfile.ZIP_STORED,
    zip64: bool = False,
    arrays: Mapping[str, bytes] | None = None,
    **named: bytes,
) -> bytes:
    files = {**(arrays or {}), **named}
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        # Two entries may have the same name.
        warnings.simplefilter("ignore", UserWarning)
        for name, data in (*entries, *((f"{name}.npy", data) for name, data in files.items())):
            # A fixed time, so that the seeds are always the same.
            item = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            item.compress_type = method
            with archive.open(item, "w", force_zip64=zip64) as file:
                file.write(data)
    return stream.getvalue()


def _one(kind: str, shape: list[int], attributes: dict[str, Any]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([helper.make_node(kind, ["x"], ["y"], **attributes)], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    main()
