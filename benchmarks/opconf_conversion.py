"""The cases of an operation suite, converted to ONNX and back, run in the real engines.

    python -m benchmarks.opconf_conversion CASES [--only opset1_Add] [--opset 17]

IR -> ONNX is checked by onnx.checker with full check and run by ONNX Runtime; --back converts that
ONNX to IR again and runs it in OpenVINO's CPU. Prints each failure and a summary by class.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path

from benchmarks.cases import OperationCase, operation_cases
from benchmarks.engines import EngineError, Engines, check_onnx
from irloop.conversion.pipelines import DEFAULT_ONNX_OPSET, to_onnx, to_openvino
from irloop.errors import IrloopError
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import writer as ir_writer


def judge(case: OperationCase, opset: int, back: bool, engines: Engines, folder: Path) -> str:
    """ "equal", or the class of failure and its message."""
    path = folder / "converted.onnx"
    try:
        model = case.read()
        onnx_writer.write(to_onnx(model, opset=opset)[0], path)
        check_onnx(path)
        if back:
            again = folder / "again.xml"
            ir_writer.write(to_openvino(onnx_reader.read(path))[0], again)
            path = again
    except IrloopError as error:
        return f"{type(error).__name__}: {error.diagnostics[0].message}"
    except Exception as error:  # exceptions of irloop, or of the checker
        return f"escaped {type(error).__name__}: {error}"
    engine = "openvino" if back else "onnxruntime"
    for given, expected in case.steps():
        arrays = [given[node.name] for node in model.graph.parameters]
        try:
            found = engines.run(engine, path, arrays, folder)
        except EngineError as error:
            return f"{engine}: {error}"
        why = case.difference(expected, found)
        if why:
            return f"different: {why}"
    return "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--only", action="append", default=[], help="prefix of the case's name")
    parser.add_argument("--opset", type=int, default=DEFAULT_ONNX_OPSET)
    parser.add_argument("--back", action="store_true", help="and back to IR, run by OpenVINO")
    options = parser.parse_args()
    engines = Engines()
    tally: collections.Counter[str] = collections.Counter()
    for case in operation_cases(options.cases, options.only):
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge(case, options.opset, options.back, engines, Path(folder))
        tally[verdict.split(":")[0]] += 1
        if verdict != "equal":
            print(f"{case.name}: {' '.join(verdict.split())[:300]}", flush=True)
    print(f"== {tally['equal']} of {tally.total()} equal; {dict(tally)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
