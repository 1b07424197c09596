"""Converts every loop model of a corpus both ways and runs the results in the real engines.

    python -m benchmarks.corpus_conversion CORPUS [--only mo2021/torch_gru] [-v]

Directions: ir2onnx (onnx.checker with full check, then ONNX Runtime), onnx2ir (OpenVINO's CPU),
ir2onnx2ir (OpenVINO), onnx2ir2onnx (ONNX Runtime). A case counts as equal when every data set gives
the stored outputs within the corpus's tolerance. Prints one line per failure and a summary by
class.
A corpus is a folder as `tests/fixtures/loops.tar.xz` holds one (see `benchmarks/cases.py`).
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases import CorpusCase, corpus_cases, differences
from benchmarks.engines import EngineError, Engines, check_onnx, same_but_empty
from irloop.conversion.pipelines import to_onnx, to_openvino
from irloop.errors import IrloopError
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import reader as ir_reader
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType, TensorType

DIRECTIONS = ("ir2onnx", "onnx2ir", "ir2onnx2ir", "onnx2ir2onnx")


def converted(source: Model, direction: str, folder: Path) -> Path:
    """The file that results from converting the source model in this direction."""
    if direction.startswith("ir2onnx"):
        path = folder / "converted.onnx"
        onnx_writer.write(to_onnx(source)[0], path)
        check_onnx(path)
        if direction == "ir2onnx":
            return path
        again = folder / "again.xml"
        ir_writer.write(to_openvino(onnx_reader.read(path))[0], again)
        return again
    path = folder / "converted.xml"
    ir_writer.write(to_openvino(source)[0], path)
    if direction == "onnx2ir":
        return path
    again = folder / "again.onnx"
    onnx_writer.write(to_onnx(ir_reader.read(path))[0], again)
    check_onnx(again)
    return again


def as_declared(value: Any, node: Node) -> Any:
    """An array in the declared element type of the model, because Model Optimizer narrowed i64."""
    value_of = node.outputs[0] if node.outputs else node.inputs[0]
    type = None if value_of is None else value_of.type
    if not isinstance(value, np.ndarray) or not isinstance(type, TensorType):
        return value
    if value.dtype.kind in "OUS" or type.element is ElementType.DYNAMIC:
        return value
    return value.astype(type.element.numpy())


def positions(case: CorpusCase, kind: str, nodes: list[Node]) -> list[int]:
    """For each input or output of the model, the number of its array."""
    if case.dialect == "onnx":
        return list(range(len(nodes)))
    listed = [item["name"] for item in case.meta["ir"][kind]]
    return [listed.index(node.name) for node in nodes]


def judge(case: CorpusCase, direction: str, engines: Engines, folder: Path) -> str:
    """ "equal", or the class of failure and its message."""
    try:
        source = case.read()
        path = converted(source, direction, folder)
    except IrloopError as error:
        return f"{type(error).__name__}: {error.diagnostics[0].message}"
    except Exception as error:  # exceptions of irloop, or of the checker
        return f"{type(error).__name__}: {error}"
    ins = positions(case, "inputs", source.graph.parameters)
    outs = positions(case, "outputs", source.graph.results)
    engine = "onnxruntime" if path.suffix == ".onnx" else "openvino"
    for number, inputs, outputs in case.sets():
        pairs = zip(ins, source.graph.parameters, strict=True)
        given = [as_declared(inputs[at], node) for at, node in pairs]
        try:
            found = engines.run(engine, path, given, folder)
        except EngineError as error:
            return f"{engine}: set {number}: {error}"
        for got, at, node in zip(found, outs, source.graph.results, strict=True):
            want = as_declared(outputs[at], node) if case.dialect == "openvino" else outputs[at]
            why = (
                "" if same_but_empty(want, got) else differences([want], [got], factor=case.factor)
            )
            if why:
                return f"different: set {number} output {at}: {why}"
    return "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--only", action="append", default=[], help="family or family/case prefix")
    parser.add_argument("--direction", action="append", choices=DIRECTIONS)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    engines = Engines()
    for direction in options.direction or DIRECTIONS:
        dialect = "openvino" if direction.startswith("ir") else "onnx"
        tally: collections.Counter[str] = collections.Counter()
        for case in corpus_cases(options.corpus, options.only):
            family = case.folder.parent.name
            if case.dialect != dialect or "negative" in family or "unreadable" in family:
                continue
            with tempfile.TemporaryDirectory() as folder:
                verdict = judge(case, direction, engines, Path(folder))
            tally[verdict.split(":")[0]] += 1
            if verdict != "equal" or options.verbose:
                print(f"{direction} {case.name}: {verdict[:400]}", flush=True)
        print(
            f"== {direction}: {tally['equal']} of {tally.total()} equal; {dict(tally)}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
