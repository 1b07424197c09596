"""The backend tests of the installed onnx package, converted and run in the real engines.

    python -m benchmarks.backend_conversion [--only test_loop] [--direction onnx2ir] [-v]

onnx2ir: ONNX -> IR v10 by irloop, run by OpenVINO's CPU in f32, against the expected outputs. A
sequence or optional that is a model input or output becomes several tensors; their number comes
from the data. ir2onnx: for the tests that OpenVINO itself runs correctly (the fair ones), OpenVINO
saves an IR v10, which irloop converts to ONNX (`--opset`). onnx.checker checks it with full check,
and ONNX Runtime runs it, against the expected outputs. A v10 file has i32 and f32 outputs even if
the model had other types; those count as equal, too.

`--keep FOLDER` keeps the files that OpenVINO saved, and the list of fair tests, for the next run.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from benchmarks.cases import differences
from benchmarks.engines import EngineError, Engines, check_onnx, same_but_empty
from benchmarks.onnx_backend import KINDS, RANDOM, sets
from irloop.conversion.pipelines import only_by_function, to_onnx, to_openvino
from irloop.errors import IrloopError
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import reader as ir_reader
from irloop.formats.openvino import writer as ir_writer

DIRECTIONS = ("onnx2ir", "ir2onnx")
CONTROL_FLOW = {"Loop", "Scan", "If", "LSTM", "GRU", "RNN", "SequenceMap"}


def model_of(case: TestCase) -> onnx.ModelProto:
    """The model of a test."""
    if case.model is not None:
        return case.model
    assert case.model_dir is not None
    return onnx.load(Path(case.model_dir) / "model.onnx")


def model_file(case: TestCase, folder: Path) -> Path:
    """The model of a test as a file."""
    if case.model_dir is not None:
        return Path(case.model_dir) / "model.onnx"
    path = folder / "model.onnx"
    assert case.model is not None
    onnx.save(case.model, path)
    return path


def input_names(case: TestCase) -> list[str]:
    """The names of a test's inputs; OpenVINO drops unread ones."""
    model = model_of(case)
    stored = {item.name for item in model.graph.initializer}
    return [item.name for item in model.graph.input if item.name not in stored]


def held(names: list[str], values: list[Any]) -> list[tuple[str, Any]]:
    """The tensors in sequences and optionals, with the names that irloop gives them."""
    found: list[tuple[str, Any]] = []
    for name, value in zip(names, values, strict=False):
        if isinstance(value, list):
            found += [(f"{name}_{at}", item) for at, item in enumerate(value)]
        elif value is not None:
            found.append((name, value))
    return found


def lengths_of(case: TestCase) -> dict[str, int]:
    """The number of tensors in each sequence or optional input, from the data of a test."""
    given = dict(zip(input_names(case), next(iter(sets(case)))[0], strict=False))
    return {
        item.name: len(held([""], [given[item.name]]))
        for item in model_of(case).graph.input
        if not item.type.HasField("tensor_type") and item.name in given
    }


#: Two units in the last place, for types in which no engine computes.
ROUNDING = {
    np.dtype(np.float16): 2.0**-9,
    np.dtype(ml_dtypes.bfloat16): 2.0**-7,
}


def compared(
    case: TestCase, engine: str, path: Path, engines: Engines, folder: Path, *, narrowed: bool
) -> str:
    """The verdict "equal", or how a model's outputs differ from the expected ones.

    With `narrowed`, outputs may have the type that OpenVINO gives them in a v10 file.
    """
    for given, wanted in sets(case):
        inputs = held(input_names(case), given)
        wanted = [array for _, array in held([""] * len(wanted), wanted)]  # noqa: PLW2901
        try:
            found = engines.run(
                engine, path, [array for _, array in inputs], folder, [name for name, _ in inputs]
            )
        except EngineError as error:
            return f"{engine}: {error}"
        if len(wanted) != len(found):
            return f"different: {len(found)} outputs, {len(wanted)} expected"
        for want, got in zip(wanted, found, strict=True):
            if same_but_empty(want, got):
                continue
            numbers = isinstance(want, np.ndarray) and isinstance(got, np.ndarray)
            if narrowed and numbers and got.dtype == in_version_10(want.dtype):
                with np.errstate(all="ignore"):
                    want = want.astype(got.dtype)  # noqa: PLW2901
            rounding = ROUNDING.get(want.dtype, 1e-3) if numbers else 1e-3
            limits = (max(case.rtol, 1e-3, rounding), max(case.atol, 1e-5))
            why = differences([want], [got], limits=limits)
            if why:
                return f"different: {why}"
    return "equal"


def in_version_10(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that OpenVINO gives an output when it reads a v10 file."""
    wide = dtype.name in ("int64", "uint64", "int32", "uint32")
    return np.dtype(np.int32 if wide else np.float32)


def onnx_to_ir(case: TestCase, engines: Engines, folder: Path) -> str:
    """The verdict on ONNX -> IR v10."""
    source = onnx_reader.read(model_file(case, folder), expand=only_by_function)
    path = folder / "converted.xml"
    ir_writer.write(to_openvino(source, lengths=lengths_of(case))[0], path)
    return compared(case, "openvino", path, engines, folder, narrowed=False)


def saved_ir(case: TestCase, engines: Engines, folder: Path) -> Path | str:
    """The IR v10 that OpenVINO saves, or why the test is not fair: OpenVINO itself is wrong."""
    verdict, xml = folder / "fair.txt", folder / "saved.xml"
    if not verdict.exists():
        verdict.write_text(_judge_openvino(case, xml, engines, folder))
    text = verdict.read_text()
    return xml if text == "equal" else f"unfair: {text}"


def _judge_openvino(case: TestCase, xml: Path, engines: Engines, folder: Path) -> str:
    model = model_file(case, folder)
    direct = compared(case, "openvino", model, engines, folder, narrowed=False)
    if direct != "equal":
        return direct
    try:
        engines.save_as_ir(model, xml)
    except EngineError as error:
        return str(error)
    return "equal"


def ir_to_onnx(
    case: TestCase, engines: Engines, folder: Path, keep: Path | None, opset: int | None
) -> str:
    """The verdict on OpenVINO's IR v10 -> ONNX; "unfair" if OpenVINO itself is wrong."""
    kept = folder if keep is None else keep / case.name
    kept.mkdir(parents=True, exist_ok=True)
    saved = saved_ir(case, engines, kept)
    if isinstance(saved, str):
        return saved
    path = folder / "converted.onnx"
    onnx_writer.write(to_onnx(ir_reader.read(saved), opset=opset)[0], path)
    check_onnx(path)
    return compared(case, "onnxruntime", path, engines, folder, narrowed=True)


def judge(
    case: TestCase, direction: str, engines: Engines, keep: Path | None, opset: int | None
) -> str:
    """The verdict on one test; never raises."""
    with tempfile.TemporaryDirectory() as name:
        try:
            if direction == "onnx2ir":
                return onnx_to_ir(case, engines, Path(name))
            return ir_to_onnx(case, engines, Path(name), keep, opset)
        except IrloopError as error:
            return f"{type(error).__name__}: {error.diagnostics[0].message}"
        except Exception as error:  # exceptions of irloop, or of the checker
            return f"escaped {type(error).__name__}: {error}"


def has_control_flow(case: TestCase) -> bool:
    """True when a test contains an operation with a body or a recurrent one."""
    return any(node.op_type in CONTROL_FLOW for node in model_of(case).graph.node)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="prefix of the test's name")
    parser.add_argument("--direction", action="append", choices=DIRECTIONS)
    parser.add_argument("--control-flow", action="store_true", help="only control flow, recurrence")
    parser.add_argument("--keep", type=Path, help="folder of what OpenVINO saved")
    parser.add_argument("--opset", type=int, help="of the ONNX that ir2onnx writes")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    engines = Engines()
    for direction in options.direction or DIRECTIONS:
        tally: collections.Counter[str] = collections.Counter()
        for case in (item for kind in KINDS for item in load_model_tests(kind=kind)):
            if options.only and not case.name.startswith(tuple(options.only)):
                continue
            if any(word in case.name for word in RANDOM):
                continue
            if options.control_flow and not has_control_flow(case):
                continue
            verdict = judge(case, direction, engines, options.keep, options.opset)
            tally[verdict.split(":")[0]] += 1
            if verdict.split(":")[0] not in ("equal", "unfair") or options.verbose:
                print(f"{direction} {case.name}: {' '.join(verdict.split())[:300]}", flush=True)
        fair = tally.total() - tally["unfair"]
        print(f"== {direction}: {tally['equal']} of {fair} equal; {dict(tally)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
