"""Recognises models of other formats, and names the command that exports them to ONNX."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["OtherFormat", "other_folder", "other_format"]


class OtherFormat(NamedTuple):
    """What a file is, after "this is", and how to get a model that irloop reads.

    In the tables below, `fix` is a command of a shell after "$ ", code of Python after ">>> ", or
    any other advice. PATH is the file, FOLDER its folder, and OUTPUT the ONNX model to write.
    """

    what: str
    fix: str


_COMPILED = "convert the .xml or .onnx that it was compiled from: there is no way back"
_CORE_ML = OtherFormat(
    "a Core ML model", "export the model that it was made from to ONNX: there is no way back"
)
_TORCH = OtherFormat(
    "a PyTorch file",
    ">>> torch.onnx.export(model, inputs, OUTPUT), where model is the module with these weights",
)
_SAVED_MODEL = OtherFormat(
    "a TensorFlow SavedModel", "$ python -m tf2onnx.convert --saved-model FOLDER --output OUTPUT"
)
_WEIGHTS = OtherFormat(
    "weights without a model (safetensors)", "$ optimum-cli export onnx --model FOLDER OUTPUT"
)

#: How files begin, from a position on.
_STARTS: tuple[tuple[int, bytes, OtherFormat], ...] = (
    (
        4,
        b"TFL3",
        OtherFormat(
            "a TensorFlow Lite model",
            "$ python -m tf2onnx.convert --tflite PATH --output OUTPUT",
        ),
    ),
    (
        0,
        b"\x89HDF",
        OtherFormat(
            "an HDF5 file, as Keras writes",
            '>>> keras.models.load_model(PATH).export(OUTPUT, format="onnx")',
        ),
    ),
    (
        0,
        b"GGUF",
        OtherFormat(
            "weights of llama.cpp (GGUF)", "export the model that they were made from to ONNX"
        ),
    ),
    (0, b"RR_UPCVO", OtherFormat("a model that OpenVINO compiled for one device", _COMPILED)),
    (0, b"\x7fELF", OtherFormat("compiled code, such as a blob for an NPU or VPU", _COMPILED)),
    (0, b"ftrt", OtherFormat("an engine that TensorRT compiled", _COMPILED)),
    (0, b"\x80\x02", _TORCH),
)

#: Names in archives.
_MEMBERS: tuple[tuple[bytes, OtherFormat], ...] = (
    (b"/data.pkl", _TORCH),
    (
        b"/archive_format",
        OtherFormat(
            "an exported program of PyTorch (.pt2)",
            ">>> torch.onnx.export(torch.export.load(PATH)).save(OUTPUT)",
        ),
    ),
    (
        b"metadata.json",
        OtherFormat(
            "a Keras model", '>>> keras.models.load_model(PATH).export(OUTPUT, format="onnx")'
        ),
    ),
    (b".npy", OtherFormat("a NumPy archive", "give the model file")),
)

#: Suffixes of files whose first bytes may be those of an ONNX model, or of any file.
_SUFFIXES = {
    ".mlmodel": _CORE_ML,
    ".pdmodel": OtherFormat(
        "a PaddlePaddle model",
        "$ paddle2onnx --model_dir FOLDER --model_filename PATH --save_file OUTPUT",
    ),
}

_GRAPH = OtherFormat(
    "a frozen TensorFlow graph",
    "$ python -m tf2onnx.convert --graphdef PATH --inputs NAME:0 --outputs NAME:0 --output OUTPUT",
)


def other_format(path: str, head: bytes) -> OtherFormat | None:
    """Recognise a file by its name and its first bytes; None if it may be an IR or ONNX."""
    found = _found(path, head)
    return None if found is None else _told(found, path)


def other_folder(path: str) -> OtherFormat | None:
    """Recognise a model that is a folder; None if it is none that is known."""
    folder = os.path.normpath(path)
    if folder.lower().endswith((".mlpackage", ".mlmodelc")):
        return _CORE_ML
    for name, kind in (("saved_model.pb", _SAVED_MODEL), ("model.safetensors", _WEIGHTS)):
        file = os.path.join(folder, name)
        if os.path.isfile(file):
            return _told(kind, file)
    return None


def _found(path: str, head: bytes) -> OtherFormat | None:
    suffix = os.path.splitext(path)[1].lower()
    if os.path.basename(path) == "saved_model.pb":
        return _SAVED_MODEL
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    for at, start, found in _STARTS:
        if head[at : at + len(start)] == start:
            return found
    if head.startswith(b"PK\x03\x04"):
        return next((found for name, found in _MEMBERS if name in head), None)
    # The length of the JSON text, in 8 bytes, and its beginning.
    if head[8:9] == b"{" and head[5:8] == bytes(3):
        return _WEIGHTS
    return _GRAPH if suffix == ".pb" and head[:1] == b"\x0a" else None


def _told(other: OtherFormat, path: str) -> OtherFormat:
    """Fill in the names of files, quoted as the shell or Python requires."""
    stem = os.path.splitext(os.path.basename(path))[0]
    output = "model.onnx" if stem in ("saved_model", "") else f"{stem}.onnx"
    names = {"PATH": path, "FOLDER": os.path.dirname(path) or ".", "OUTPUT": output}
    quote: Callable[[str], str]
    if other.fix.startswith("$ "):
        head, quote = "export it to ONNX: ", shlex.quote
    elif other.fix.startswith(">>> "):
        head, quote = "export it to ONNX in Python: ", repr
    else:
        return other
    text = other.fix.partition(" ")[2]
    filled = re.sub("PATH|FOLDER|OUTPUT", lambda name: quote(names[name.group()]), text)
    return OtherFormat(other.what, head + filled)
