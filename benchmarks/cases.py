"""Recorded cases: a model, its inputs and the outputs of a trusted engine.

Two collections are read. A *corpus* has one folder per case with `model.xml` or `model.onnx` (or
both), `inputs_k.npz`, `outputs_k.npz` and `meta.json`; an *operation suite* has `<op>/<case>/` with
`model.xml`, `data.npz` and `meta.json`.
"""

from __future__ import annotations

import atexit
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from irloop.execution.session import Session
from irloop.formats import npz
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.openvino import reader as ir_reader
from irloop.graph.model import Model
from irloop.graph.types import TensorType, ValueType

Array = np.ndarray[Any, np.dtype[Any]]

DIALECTS = {"onnx": "model.onnx", "openvino": "model.xml"}

#: Relative and absolute tolerance by type; everything else is exact.
TOLERANCES = {
    "bfloat16": (4e-2, 2e-2),
    "float16": (1e-2, 2e-3),
    "float32": (1e-4, 2e-5),
    "float64": (1e-4, 2e-5),
}


#: Weights generated from a recipe; they must exist as long as the process, because models map them.
_MADE = tempfile.TemporaryDirectory(prefix="irloop-cases-")
atexit.register(_MADE.cleanup)


@dataclass(frozen=True)
class CorpusCase:
    """One model of a corpus in one dialect."""

    folder: Path
    dialect: str

    @property
    def name(self) -> str:
        """Family, case and dialect."""
        return f"{self.folder.parent.name}/{self.folder.name}/{self.dialect}"

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The recorded metadata of the case."""
        found: dict[str, Any] = json.loads((self.folder / "meta.json").read_text("utf-8"))
        return found

    def read(self) -> Model:
        """The model."""
        if self.dialect == "onnx":
            return onnx_reader.read(self.folder / "model.onnx")
        recipe = self.meta.get("bin_recipe")
        if not recipe or (self.folder / "model.bin").exists():
            return ir_reader.read(self.folder / "model.xml")
        weights = Path(_MADE.name) / f"{self.folder.name}.bin"
        weights.write_bytes(weights_by_recipe(self.folder / "model.xml", recipe))
        return ir_reader.read(self.folder / "model.xml", weights)

    def sets(self) -> Iterator[tuple[int, list[Any], list[Any]]]:
        """Number, inputs and expected outputs of each data set that has outputs."""
        for path in sorted(self.folder.glob("outputs_*.npz")):
            number = int(path.stem.split("_")[1])
            expected = positional(path, "out")
            if expected:
                yield number, positional(self.folder / f"inputs_{number}.npz", "in"), expected

    def run(self, session: Session, model: Model, given: list[Any]) -> list[Any]:
        """Outputs in the order of the data files."""
        if self.dialect == "onnx":
            return list(session.run(given).values())
        ports = self.meta["ir"]
        declared = {node.name: node.outputs[0].type for node in model.graph.parameters}
        named = {
            port["name"]: _as_declared(value, declared[port["name"]])
            for port, value in zip(ports["inputs"], given, strict=True)
        }
        found = session.run(named)
        order = [port["name"] for port in ports["outputs"]]
        if set(order) <= set(found) and len(set(order)) == len(order):
            return [found[name] for name in order]
        return list(found.values())

    def as_declared(self, expected: list[Any], found: list[Any]) -> list[Any]:
        """Expected integers in the type of the output: an IR may declare i32 for ONNX's i64."""
        if self.dialect == "onnx":
            return expected
        pairs = zip(expected, found, strict=False)
        return [_same_integers(want, got) for want, got in pairs]

    @property
    def factor(self) -> float:
        """The factor by which the tolerance is widened."""
        return float(self.meta.get("tolerance_factor", 1.0))


def _as_declared(value: Any, type: ValueType) -> Any:
    """Integers in the type that the model declares."""
    if not isinstance(value, np.ndarray) or not isinstance(type, TensorType):
        return value
    return value.astype(type.element.numpy()) if value.dtype.kind in "iu" else value


def _same_integers(want: Any, got: Any) -> Any:
    both = isinstance(want, np.ndarray) and isinstance(got, np.ndarray)
    return want.astype(got.dtype) if both and want.dtype.kind + got.dtype.kind == "ii" else want


def corpus_cases(root: Path, only: Sequence[str] = ()) -> Iterator[CorpusCase]:
    """Every model of the corpus in each available dialect; `only` filters by prefix."""
    for folder in sorted(path.parent for path in root.glob("*/*/meta.json")):
        for dialect, file in DIALECTS.items():
            case = CorpusCase(folder, dialect)
            if (folder / file).exists() and (not only or case.name.startswith(tuple(only))):
                yield case


@dataclass(frozen=True)
class OperationCase:
    """One case of an operation suite."""

    folder: Path

    @property
    def name(self) -> str:
        """Operation and case."""
        return f"{self.folder.parent.name}/{self.folder.name}"

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The recorded metadata of the case."""
        found: dict[str, Any] = json.loads((self.folder / "meta.json").read_text("utf-8"))
        return found

    def read(self) -> Model:
        """The model."""
        return ir_reader.read(self.folder / "model.xml")

    def steps(self) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        """Inputs by name and expected outputs of each successive inference."""
        data = npz.read(self.folder / "data.npz")
        for step in range(self.meta.get("steps", 1)):
            prefix = f"s{step}_" if step else ""
            names = [item["name"] for item in self.meta["inputs"]]
            given = {name: data[f"{prefix}in{at}"] for at, name in enumerate(names)}
            count = len(self.meta["outputs"])
            yield given, [data[f"{prefix}out{at}"] for at in range(count)]

    def difference(self, expected: Sequence[Any], found: Sequence[Any]) -> str:
        """The reason why the outputs do not agree within the case's tolerance; empty if they do."""
        tolerance = self.meta["tolerance"]
        limits = (tolerance["rtol"], tolerance["atol"])
        how = str(self.meta.get("compare", ""))
        if how.startswith("rows up to"):
            expected, found = [_detections(expected[0])], [_detections(found[0])]
        elif how.startswith("rows of an image"):
            expected, found = _sorted_rows(expected), _sorted_rows(found)
        return differences(expected, found, limits=limits)


def _detections(rows: Array) -> Array:
    """The rows up to and including the first whose image number is -1."""
    ends = np.flatnonzero(rows[..., 0].reshape(-1) == -1)
    flat = rows.reshape(-1, rows.shape[-1])
    return flat[: ends[0] + 1] if len(ends) else flat


def _sorted_rows(outputs: Sequence[Any]) -> list[Any]:
    """The rows in sorted order, because the case leaves the order open."""
    rows = np.asarray(outputs[0])
    order = np.lexsort(np.round(rows.astype(np.float64), 4).T[::-1])
    paired = [item[order] if item.shape[:1] == rows.shape[:1] else item for item in outputs]
    return list(paired)


def operation_cases(root: Path, only: Sequence[str] = ()) -> Iterator[OperationCase]:
    """Every case below `root`; `only` filters by prefix of the name."""
    for folder in sorted(path.parent for path in root.glob("*/*/meta.json")):
        case = OperationCase(folder)
        if not only or case.name.startswith(tuple(only)):
            yield case


def positional(path: Path, prefix: str) -> list[Any]:
    """The values prefix0, prefix1, ... of a file."""
    data = npz.read(path)
    values: list[Any] = []
    while f"{prefix}{len(values)}" in data:
        values.append(data[f"{prefix}{len(values)}"])
    return values


def differences(
    expected: Sequence[Any],
    found: Sequence[Any],
    *,
    factor: float = 1.0,
    limits: tuple[float, float] | None = None,
) -> str:
    """The first reason why the values do not agree; empty if they do.

    `limits` are a relative and an absolute tolerance; the default depends on the type, and is a
    little larger if the tensor contains large numbers.
    """
    if len(expected) != len(found):
        return f"{len(found)} outputs, {len(expected)} expected"
    for at, pair in enumerate(zip(expected, found, strict=True)):
        reason = _difference(*pair, factor, limits)
        if reason:
            return f"out{at}: {reason}"
    return ""


def _difference(want: Any, got: Any, factor: float, limits: tuple[float, float] | None) -> str:
    if want is None or got is None:
        return "" if want is got else "absent on one side"
    if isinstance(want, list) or isinstance(got, list):
        if not (isinstance(want, list) and isinstance(got, list)):
            return "sequence against tensor"
        return differences(want, got, factor=factor, limits=limits)
    want, got = np.asarray(want), np.asarray(got)
    if want.dtype.kind in "OUS":
        same = want.shape == got.shape and bool((want.astype(str) == got.astype(str)).all())
        return "" if same else "strings differ"
    if want.dtype != got.dtype:
        return f"type {got.dtype}, {want.dtype} expected"
    if want.shape != got.shape:
        return f"shape {list(got.shape)}, {list(want.shape)} expected"
    return _numbers(want, got, factor, limits)


def _numbers(want: Array, got: Array, factor: float, limits: tuple[float, float] | None) -> str:
    scale = 0.1 if limits is None else 0.0
    relative, absolute = limits or TOLERANCES.get(want.dtype.name, (0.0, 0.0))
    if want.dtype.kind in "iub" and not absolute:
        wrong = int((want != got).sum())
        return f"{wrong} of {want.size} values differ" if wrong else ""
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    x, y = want.astype(kind), got.astype(kind)
    finite = np.isfinite(x)
    size = np.where(finite, np.abs(x), 0.0)
    allowed = factor * (absolute + relative * (size + scale * size.max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y)) | (finite & (np.abs(x - y) <= allowed))
        worst = np.abs(np.where(same, 0, x - y)).max(initial=0.0)
    wrong = int((~same).sum())
    return f"{wrong} of {x.size} values differ, by up to {worst:.3g}" if wrong else ""


def weights_by_recipe(xml: Path, recipe: Mapping[str, Any]) -> bytes:
    """Generate the .bin of a model that was published without one, by splitmix64.

    `recipe` has `size`, `seed`, `scale` (amplitude), `scales` by offset, and `fills` and `values`,
    which overwrite the numbers at an offset.
    """
    import xml.etree.ElementTree as ET

    buffer = np.zeros(recipe["size"], np.uint8)
    seed, scales = recipe.get("seed", 1), recipe.get("scales", {})
    kinds = {"f32": np.float32, "f16": np.float16, "f64": np.float64}
    for layer in ET.parse(xml).getroot().iter("layer"):  # noqa: S314
        data = layer.find("data")
        if layer.get("type") != "Const" or data is None:
            continue
        offset, size = int(data.get("offset", 0)), int(data.get("size", 0))
        element = data.get("element_type")
        if element == "u8":
            codes = 127.5 + 127.5 * _splitmix(seed + offset, size)
            buffer[offset : offset + size] = np.clip(codes, 0, 255).astype(np.uint8)
        elif element in kinds:
            kind = np.dtype(kinds[element])
            scale = scales.get(str(offset), recipe.get("scale", 0.1))
            numbers = (scale * _splitmix(seed + offset, size // kind.itemsize)).astype(kind)
            buffer[offset : offset + size] = np.frombuffer(numbers.tobytes(), np.uint8)
    written = {at: np.full(n, v, kind) for at, (kind, n, v) in recipe.get("fills", {}).items()}
    written |= {at: np.array(v, kind) for at, (kind, v) in recipe.get("values", {}).items()}
    for at, array in written.items():
        raw = array.tobytes()
        buffer[int(at) : int(at) + len(raw)] = np.frombuffer(raw, np.uint8)
    return buffer.tobytes()


def _splitmix(seed: int, count: int) -> Array:
    """`count` numbers in [-1, 1): splitmix64 of seed + i times the golden ratio."""
    with np.errstate(over="ignore"):
        steps = np.arange(count, dtype=np.uint64) + np.uint64(1)
        state = np.uint64(seed) + steps * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return (state >> np.uint64(11)).astype(np.float64) * (2.0 / (1 << 53)) - 1.0
