"""The backend tests of the installed onnx package, converted and run in the real engines.

    python -m benchmarks.backend_conversion [--only test_loop] [--direction onnx2ir] [-v]

onnx2ir: ONNX -> IR v10 by irloop, run by OpenVINO's CPU in f32, against the expected outputs.
ir2onnx: OpenVINO converts and saves as IR v10; the tests that it runs right are converted by
irloop to ONNX and run by ONNX Runtime, against the expected outputs.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

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


def model_file(case: TestCase, folder: Path) -> Path:
    """The model of a test as a file."""
    if case.model_dir is not None:
        return Path(case.model_dir) / "model.onnx"
    path = folder / "model.onnx"
    assert case.model is not None
    onnx.save(case.model, path)
    return path


def compared(
    case: TestCase, engine: str, path: Path, engines: Engines, folder: Path, *, loose: bool
) -> str:
    """ "equal" or how a model's outputs differ from the expected ones."""
    for given, wanted in sets(case):
        try:
            found = engines.run(engine, path, given, folder)
        except EngineError as error:
            return f"{engine}: {error}"
        for want, got in zip(wanted, found, strict=False):
            if same_but_empty(want, got):
                continue
            if loose and hasattr(want, "astype") and want.dtype != got.dtype:
                # OpenVINO itself narrows types in the v10 files it writes.
                want = want.astype(got.dtype)  # noqa: PLW2901
            limits = (max(case.rtol, 1e-3), max(case.atol, 1e-5))
            why = differences([want], [got], limits=limits)
            if why:
                return f"different: {why}"
    return "equal"


def onnx_to_ir(case: TestCase, engines: Engines, folder: Path) -> str:
    """The verdict on ONNX -> IR v10."""
    source = onnx_reader.read(model_file(case, folder), expand=only_by_function)
    path = folder / "converted.xml"
    ir_writer.write(to_openvino(source)[0], path)
    return compared(case, "openvino", path, engines, folder, loose=False)


def ir_to_onnx(case: TestCase, engines: Engines, folder: Path) -> str:
    """The verdict on OpenVINO's IR v10 -> ONNX; "unfair" where OpenVINO is wrong already."""
    saved = folder / "saved.xml"
    try:
        engines.save_as_ir(model_file(case, folder), saved)
    except EngineError as error:
        return f"unfair: {error}"
    if compared(case, "openvino", saved, engines, folder, loose=True) != "equal":
        return "unfair: OpenVINO gives other values"
    path = folder / "converted.onnx"
    onnx_writer.write(to_onnx(ir_reader.read(saved))[0], path)
    check_onnx(path)
    return compared(case, "onnxruntime", path, engines, folder, loose=True)


def judge(case: TestCase, direction: str, engines: Engines) -> str:
    """The verdict on one test, whatever happens."""
    with tempfile.TemporaryDirectory() as name:
        try:
            if direction == "onnx2ir":
                return onnx_to_ir(case, engines, Path(name))
            return ir_to_onnx(case, engines, Path(name))
        except IrloopError as error:
            return f"{type(error).__name__}: {error.diagnostics[0].message}"
        except Exception as error:  # what escapes irloop, or what the checker says
            return f"escaped {type(error).__name__}: {error}"


def has_control_flow(case: TestCase) -> bool:
    """True when a test holds an operation with a body or a recurrent one."""
    model = case.model
    if model is None:
        assert case.model_dir is not None
        model = onnx.load(Path(case.model_dir) / "model.onnx")
    return any(node.op_type in CONTROL_FLOW for node in model.graph.node)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="prefix of the test's name")
    parser.add_argument("--direction", action="append", choices=DIRECTIONS)
    parser.add_argument("--control-flow", action="store_true", help="only control flow, recurrence")
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
            verdict = judge(case, direction, engines)
            tally[verdict.split(":")[0]] += 1
            if verdict.split(":")[0] not in ("equal", "unfair") or options.verbose:
                print(f"{direction} {case.name}: {' '.join(verdict.split())[:300]}", flush=True)
        print(
            f"== {direction}: {tally['equal']} of {tally.total()} equal; {dict(tally)}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
