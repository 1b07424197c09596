"""One-node models with each operand once computed, constant, of unknown size, and a scalar.

    python -m benchmarks.operands [--cases CASES] [--only Roll]

From an operation suite (IR to ONNX) or from the backend tests of the installed onnx package (ONNX
to IR) one node of each class is taken. A model that the engine of its format refuses is left out;
any other must convert to what returns the same in the engine of the other format, or be refused
by name. Prints failures, refusals and a summary.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.test.loader import load_model_tests

import irloop
from benchmarks.cases import OperationCase, differences, operation_cases
from benchmarks.engines import EngineError, Engines, check_onnx
from benchmarks.onnx_backend import RANDOM, sets
from irloop.errors import IrloopError, UnsupportedError
from irloop.formats.onnx import reader as onnx_reader
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Operand:
    """The value of an operand, and whether it is a constant or an input of known size."""

    array: Array
    element: ElementType
    constant: bool
    known: bool = True


@dataclass(frozen=True)
class Subject:
    """A node with its operands; None is one that is left out."""

    op: Op
    operands: tuple[Operand | None, ...]
    count: int
    opsets: dict[str, int]

    def variants(self) -> Iterator[tuple[str, Subject]]:
        """Each operand in each form that it does not have."""
        for at, one in enumerate(self.operands):
            if one is None:
                continue
            forms = {"computed": replace(one, constant=False)} if one.constant else {}
            forms["unknown"] = replace(one, constant=False, known=False)
            if not one.constant:
                forms["constant"] = replace(one, constant=True)
            if one.array.size == 1 and one.array.ndim < 2:
                shape = (1,) if one.array.ndim == 0 else ()
                word = "scalar" if one.array.ndim else "list"
                forms[word] = replace(one, array=one.array.reshape(shape))
                forms[f"computed {word}"] = replace(forms[word], constant=False)
            for word, form in forms.items():
                others = (*self.operands[:at], form, *self.operands[at + 1 :])
                yield f"{self.op.label} input {at} {word}", replace(self, operands=others)

    def model(self) -> tuple[Model, list[Array]]:
        """A model of the node, and its inputs."""
        graph, given = Graph("g"), []
        values: list[Value | None] = []
        for at, one in enumerate(self.operands):
            if one is None:
                values.append(None)
                continue
            if one.constant:
                tensor = ArrayTensor(one.array, one.element)
                values.append(graph.add_constant(tensor, f"c{at}"))
                continue
            shape = Shape(one.array.shape) if one.known else Shape.of_rank(one.array.ndim)
            values.append(
                graph.add_parameter(f"x{at}", TensorType(one.element, shape), (f"x{at}",))
            )
            given.append(one.array)
        node = graph.add_node(self.op, "node", tuple(values), self.count)
        for at, value in enumerate(node.outputs):
            value.names = (f"y{at}",)
            graph.add_result(value, f"y{at}")
        onnx = bool(self.opsets)
        model = Model(graph, "onnx" if onnx else "openvino", 9 if onnx else 11, self.opsets)
        Inference().run(graph)
        return model, given


def subject_of(model: Model, given: Sequence[Any]) -> Subject | None:
    """The only node of a model, or None if it has several, or bodies."""
    nodes = [node for node in model.graph.nodes if not isinstance(node.op, Constant)]
    if len(nodes) != 1 or nodes[0].bodies or not nodes[0].outputs or not nodes[0].op.pure:
        return None
    inputs = dict(zip(model.graph.inputs, given, strict=True))
    operands: list[Operand | None] = []
    for value in nodes[0].inputs:
        if value is None:
            operands.append(None)
            continue
        op = value.producer.op
        array = op.tensor.numpy() if isinstance(op, Constant) else inputs.get(value)
        if not isinstance(array, np.ndarray) or not isinstance(value.type, TensorType):
            return None
        operands.append(Operand(array, value.type.element, isinstance(op, Constant)))
    return Subject(nodes[0].op, tuple(operands), _used(nodes[0]), dict(model.opsets))


def _used(node: Node) -> int:
    return max((value.index + 1 for value in node.outputs if value.is_used), default=0)


def judge(subject: Subject, engines: Engines, folder: Path) -> str:
    """ "equal", "left out", "refused: REASON", or the failure."""
    names = {"onnx": ("m.onnx", "onnxruntime"), "openvino": ("m.xml", "openvino")}
    try:
        model, given = subject.model()
        here = names[model.dialect]
        there = names["openvino" if model.dialect == "onnx" else "onnx"]
        irloop.save_model(model, folder / here[0], ir_version=11 if here[0] == "m.xml" else None)
        if model.dialect == "onnx":
            check_onnx(folder / here[0])
        wanted = engines.run(here[1], folder / here[0], given, folder)
    except Exception:
        return "left out"
    try:
        made, _ = irloop.convert(folder / here[0])
    except UnsupportedError as error:
        return f"refused: {error.diagnostics[0].message}"
    except IrloopError as error:
        return f"failed: {type(error).__name__} {error}"
    try:
        ir_version = 11 if there[0] == "m.xml" else None
        irloop.save_model(made, folder / there[0], ir_version=ir_version)
        if there[0] == "m.onnx":
            check_onnx(folder / there[0])
        found = engines.run(there[1], folder / there[0], given, folder)
    except (IrloopError, EngineError, Exception) as error:
        return f"failed: {type(error).__name__} {error}"
    why = differences(wanted, found, limits=(1e-3, 1e-4))
    return f"different: {why}" if why else "equal"


def subjects(cases: Path | None, only: Sequence[str]) -> Iterator[tuple[str, Subject]]:
    """One node of each class and set of forms, with the name of its case."""
    seen: set[object] = set()
    for name, model, given in _models(cases):
        if only and not any(word in name for word in only):
            continue
        found = subject_of(model, given)
        if found is None:
            continue
        forms = tuple(None if one is None else one.constant for one in found.operands)
        if (type(found.op), forms) not in seen:
            seen.add((type(found.op), forms))
            yield name, found


def _models(cases: Path | None) -> Iterator[tuple[str, Model, list[Any]]]:
    if cases is not None:
        for case in operation_cases(cases, []):
            assert isinstance(case, OperationCase)
            model = case.read()
            given, _ = next(case.steps())
            yield case.name, model, [given[node.name] for node in model.graph.parameters]
        return
    for test in load_model_tests(kind="node"):
        if any(word in test.name for word in RANDOM) or test.model is None:
            continue
        with contextlib.suppress(IrloopError, TypeError):
            yield test.name, onnx_reader.from_proto(test.model), sets(test)[0][0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="an operation suite; default: onnx's tests")
    parser.add_argument("--only", action="append", default=[], help="part of the case's name")
    options = parser.parse_args()
    engines, tally = Engines(), collections.Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for name, subject in subjects(options.cases, options.only):
            if judge(subject, engines, Path(folder)) != "equal":
                tally["base differs"] += 1
                continue
            for words, variant in subject.variants():
                verdict = judge(variant, engines, Path(folder))
                tally[verdict.split(":")[0]] += 1
                if verdict not in ("equal", "left out"):
                    print(f"{name} {words}: {' '.join(verdict.split())[:300]}", flush=True)
    print(dict(tally))
    engines.close()
    return int(bool(tally["failed"] or tally["different"]))


if __name__ == "__main__":
    sys.exit(main())
