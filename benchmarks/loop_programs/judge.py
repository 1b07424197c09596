"""Takes one program through irloop and the engines in stages, each with a verdict.

An ONNX program is validated, run, written again, and converted to IR, which OpenVINO runs; the IR
is converted back, which ONNX Runtime runs with its default optimisations. For a program in IR the
directions are swapped. Then some outputs of the program are removed, and the other ones must stay
the same after a conversion and a pass. All inputs of a program run successively in one compiled
model.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import onnx

import irloop
from benchmarks.cases import differences
from benchmarks.engines import same_but_empty
from benchmarks.loop_programs.fewer_outputs import choices, with_outputs
from benchmarks.loop_programs.ir_programs import IrProgram
from benchmarks.loop_programs.onnx_programs import Program, twin
from irloop.engines.onnxruntime_runner import OnnxRuntimeRunner
from irloop.engines.openvino_runner import OpenVinoRunner
from irloop.passes.common import LIBRARY

__all__ = ["FINDINGS", "Case", "judge_ir", "judge_onnx"]

Array = np.ndarray[Any, np.dtype[Any]]
Sets = Sequence[Sequence[Array]]
Made = TypeVar("Made")

#: Verdicts that are faults, the worst first. A limitation of an engine is not a fault.
FINDINGS = ("died", "hung", "crashed", "invalid", "wrong", "stale", "engine refuses", "refused")

#: The passes that change no number, and the forms of loops.
PASSES = sorted(LIBRARY.keys() - {"compress_to_fp16", "low_latency"})
Form = Literal["keep", "scan", "loop", "unroll", "sequence"]
FORMS: tuple[Form | None, ...] = (None, *get_args(Form))

NO_STRINGS = "OpenVINO's CPU plugin runs no loop over strings"

UNKNOWN_RANK = "OpenVINO's CPU plugin runs no loop over values of unknown rank"

#: Messages about limitations of engines, whoever wrote the model; and their reasons.
LIMITS = {
    "non-string numpy arrays": "ONNX Runtime's Python interface takes no strings beside odd types",
    "dynamic rank": UNKNOWN_RANK,
    "Could not find an implementation": "ONNX Runtime has no kernel for the element type",
    "Can't slice a tensor with a subbyte": "ONNX Runtime slices no 4-bit tensors in a Scan",
    "Subgraph must have the shape set": "ONNX Runtime stacks no results of unknown rank",
}

#: Refusals of irloop because the other format lacks something: a part of the message, and the
#: reason.
NOT_EXPRESSED = {
    "empty optional": "an IR has no optionals",
    "carries an optional": "an IR has no optionals",
    "OpenVINO cannot compare strings": "OpenVINO has no operations on strings",
    "OpenVINO computes nothing on strings": "OpenVINO has no operations on strings",
    "which no loop of OpenVINO": NO_STRINGS,
    "found: string": "OpenVINO has no operations on strings",
}


@dataclass
class Case:
    """A program being judged. `tell` is called before each stage; `skipped` stages died before."""

    folder: Path
    tell: Callable[[str], None]
    skipped: frozenset[str] = frozenset()
    features: list[str] = field(default_factory=list)
    #: Verdict and reason of each stage.
    stages: dict[str, tuple[str, str]] = field(default_factory=dict)

    def stage(self, name: str, call: Callable[[], Made]) -> Made | None:
        """The result of `call`, or None, with a verdict, if it failed."""
        if name in self.skipped:
            return None
        self.tell(name)
        try:
            made = call()
        except irloop.IrloopError as error:
            reason = " ".join(str(error).split())
            known = next((why for part, why in NOT_EXPRESSED.items() if part in reason), "")
            self.stages[name] = ("no counterpart", known) if known else ("refused", reason[:600])
        except Exception as error:
            reason = " ".join(str(error).split())
            known = next((why for part, why in LIMITS.items() if part in reason), "")
            if known and "engine" in name:
                self.stages[name] = ("engine limit", known)
            elif "engine" in name:
                self.stages[name] = ("engine refuses", reason[-400:])
            else:
                place = traceback.extract_tb(error.__traceback__)[-1]
                at = f"{Path(place.filename).name}:{place.lineno}"
                self.stages[name] = ("crashed", f"{at} {type(error).__name__}: {reason[:300]}")
        else:
            self.stages[name] = ("right", "")
            return made
        return None

    def compare(self, name: str, found: list[list[Any]] | None, wanted: list[list[Any]]) -> bool:
        """True if all sets of outputs are right; otherwise the stage gets a verdict."""
        if found is None:
            return False
        reason = unlike(found, wanted)
        if reason:
            self.stages[name] = ("wrong", reason)
        return not reason

    def in_openvino(self, name: str, path: Path, sets: Sets, wanted: list[list[Any]]) -> None:
        """Run in OpenVINO; outputs that are right only in the first inference are stale."""
        found = self.stage(name, lambda: in_turn(OpenVinoRunner(str(path)), sets))
        if found is None or self.compare(name, found, wanted):
            return
        reason = self.stages[name][1]
        fresh = self.stage(name, lambda: [in_turn(OpenVinoRunner(str(path)), [x])[0] for x in sets])
        if self.compare(name, fresh, wanted):
            self.stages[name] = ("stale", reason)


def in_turn(run: Callable[[Sequence[Any]], list[Any]], sets: Sets) -> list[list[Any]]:
    """Run successive inferences."""
    return [run(inputs) for inputs in sets]


def unlike(found: list[list[Any]], wanted: list[list[Any]]) -> str:
    """How the outputs of the first differing inference differ; empty if all are equal."""
    for at, (got, want) in enumerate(zip(found, wanted, strict=True)):
        left = [x for x, y in zip(want, got, strict=True) if not same_but_empty(x, y)]
        right = [y for x, y in zip(want, got, strict=True) if not same_but_empty(x, y)]
        wide = [_wide(x) for x in left], [_wide(y) for y in right]
        reason = differences(*wide, factor=5) or _types(left, right)
        if reason:
            return f"inputs {at}: {reason}"
    return ""


def _wide(value: Any) -> Any:
    """8-bit floats as f16, whose tolerance is one step of theirs."""
    if isinstance(value, np.ndarray) and value.dtype.name.startswith("float8"):
        return value.astype(np.float16)
    return value


def _types(left: list[Any], right: list[Any]) -> str:
    pairs = zip(left, right, strict=True)
    wrong = [
        f"{x.dtype} for {y.dtype}"
        for y, x in pairs
        if np.asarray(x).dtype.kind not in "OUS" and x.dtype != y.dtype
    ]
    return ", ".join(wrong)


def _irloop(path: Path, sets: Sets) -> list[list[Any]]:
    session = irloop.Session(irloop.read_model(path))
    limits = irloop.Limits(max_iterations=100_000, max_seconds=60.0)
    return [list(session.run(list(inputs), limits=limits).values()) for inputs in sets]


def _valid(case: Case, name: str, path: Path) -> None:
    report = case.stage(name, lambda: irloop.validate(path))
    errors = (
        []
        if report is None
        else [item for item in report.diagnostics if item.severity.value == "error"]
    )
    if errors:
        case.stages[name] = ("invalid", f"{errors[0].code} {errors[0].message}")


def _check(path: Path) -> None:
    onnx.checker.check_model(str(path), full_check=True)


def _expected(case: Case, proto: onnx.ModelProto, sets: Sets) -> list[list[Any]] | None:
    """ONNX Runtime's outputs for a safe twin, in the types of the model itself."""
    path = case.folder / "twin.onnx"
    onnx.save(twin(proto), path)
    options = {"optimization": "none"}
    found = case.stage(
        "oracle engine", lambda: in_turn(OnnxRuntimeRunner(str(path), options), sets)
    )
    reason = case.stages.pop("oracle engine", ("", ""))[1]
    if found is None:
        case.stages["oracle"] = ("no oracle", reason)
        return None
    elements = [info.type.tensor_type.elem_type for info in proto.graph.output]
    types = [onnx.helper.tensor_dtype_to_np_dtype(element) for element in elements]
    return [[np.asarray(x).astype(t) for x, t in zip(row, types, strict=True)] for row in found]


def judge_onnx(case: Case, program: Program, random: Random) -> None:
    """Judge an ONNX program: unchanged, as IR, and converted back."""
    case.features = program.features
    source, ir, back = (case.folder / name for name in ("source.onnx", "ir.xml", "back.onnx"))
    onnx.save(program.proto, source)
    case.stage("program", lambda: _check(source))
    wanted = _expected(case, program.proto, program.sets)
    _valid(case, "validate the source", source)
    judge = wanted or []
    sets = program.sets if wanted else []
    found = case.stage("run the source", lambda: _irloop(source, sets))
    case.compare("run the source", found, judge)
    again = case.folder / "again.onnx"
    if case.stage("write the source", lambda: _again(source, again)):
        onnx_twin = case.folder / "again_twin.onnx"
        onnx.save(twin(onnx.load(again)), onnx_twin)
        if "oracle onnxruntime" in case.features:
            name, options = "the source written, engine", {"optimization": "none"}
            found = case.stage(
                name, lambda: in_turn(OnnxRuntimeRunner(str(onnx_twin), options), sets)
            )
            case.compare(name, found, judge)
    if not case.stage("convert to IR", lambda: _convert(source, ir, random)):
        return
    _valid(case, "validate the IR", ir)
    case.compare("run the IR", case.stage("run the IR", lambda: _irloop(ir, sets)), judge)
    if wanted:
        case.in_openvino("the IR, engine OpenVINO", ir, sets, judge)
    if not case.stage("convert back", lambda: _convert(ir, back, random)):
        _excuse_unknown_rank(case, source, sets)
        return
    _valid(case, "validate the way back", back)
    _in_onnxruntime(case, back, sets, judge)
    if wanted:
        _with_fewer_outputs(case, source, sets, wanted, random)


def _excuse_unknown_rank(case: Case, source: Path, sets: Sets) -> None:
    """Count a refused way back as a limit if OpenVINO runs neither the source nor its IR.

    The refusal must name an unknown rank, and OpenVINO must refuse the IR because of one. That it
    also refuses the source, possibly already in its ONNX reader, is measured for each program.
    """
    name = "the source, engine OpenVINO"
    verdict, reason = case.stages.get("convert back", ("", ""))
    if verdict != "refused" or "rank" not in reason or not sets:
        return
    if case.stages.get("the IR, engine OpenVINO") != ("engine limit", UNKNOWN_RANK):
        return
    runs = case.stage(name, lambda: in_turn(OpenVinoRunner(str(source)), sets))
    case.stages.pop(name, None)
    if runs is None:
        case.stages["convert back"] = (
            "engine limit",
            "the IR has an unknown rank, and OpenVINO runs neither it nor the source",
        )


def judge_ir(case: Case, program: IrProgram, random: Random) -> None:
    """Judge an IR program: unchanged, as ONNX, and converted back."""
    case.features = program.features
    source, there, back = (case.folder / name for name in ("source.xml", "there.onnx", "back.xml"))
    irloop.save_model(program.model, source, ir_version=random.choice([10, 11]))
    sets, wanted = program.sets, program.expected
    _valid(case, "validate the source", source)
    found = case.stage("run the source", lambda: _irloop(source, sets))
    case.compare("run the source", found, wanted)
    # Rounding to 8-bit floats cannot be expressed in older opsets.
    narrow = any(feature.startswith("to f8") for feature in program.features)
    opset = random.choice([None, None, 21] if narrow else [None, None, 13, 17, 21])
    if not case.stage("convert to ONNX", lambda: _convert(source, there, random, opset)):
        return
    _valid(case, "validate the ONNX", there)
    case.compare("run the ONNX", case.stage("run the ONNX", lambda: _irloop(there, sets)), wanted)
    _in_onnxruntime(case, there, sets, wanted)
    if not case.stage("convert back", lambda: _convert(there, back, random)):
        return
    _valid(case, "validate the way back", back)
    case.in_openvino("the way back, engine OpenVINO", back, sets, wanted)
    _with_fewer_outputs(case, source, sets, wanted, random)


def _with_fewer_outputs(
    case: Case, source: Path, sets: Sets, wanted: list[list[Any]], random: Random
) -> None:
    """Judge a program that lacks outputs: after a pass, as the other format, and converted back."""
    model = irloop.read_model(source)
    kept = random.choice(list(choices(len(wanted[0]))))
    few, inputs = with_outputs(model, kept, prune=random.random() < 0.5)
    some = [[given[at] for at in inputs] for given in sets]
    left = [[value for at, value in enumerate(row) if at in kept] for row in wanted]
    name = random.choice([x for x in PASSES if model.dialect in LIBRARY[x].dialects])
    stage = f"fewer outputs, pass {name}"
    found = case.stage(stage, lambda: _own(irloop.transform(few, [name])[0], some))
    case.compare(stage, found, left)
    there, back = (case.folder / f"fewer{suffix}" for suffix in (".xml", ".onnx"))
    if model.dialect == "openvino":
        there, back = back, there
    form = random.choice(FORMS)
    if not case.stage("fewer outputs, convert", lambda: _written(few, there, form)):
        return
    _in_engine(case, "fewer outputs", there, some, left)
    made = irloop.read_model(there)
    if case.stage("fewer outputs, convert back", lambda: _written(made, back, form)):
        _in_engine(case, "fewer outputs, the way back", back, some, left)


def _own(model: irloop.Model, sets: Sets) -> list[list[Any]]:
    session = irloop.Session(model)
    return [list(session.run(list(given)).values()) for given in sets]


def _written(model: irloop.Model, path: Path, form: Form | None) -> bool:
    irloop.save_model(irloop.convert(model, loops=form)[0], path)
    return True


def _in_engine(case: Case, name: str, path: Path, sets: Sets, wanted: list[list[Any]]) -> None:
    """Run a model in the engine of its format."""
    if path.suffix == ".xml":
        case.in_openvino(f"{name}, engine OpenVINO", path, sets, wanted)
        return
    stage = f"{name}, engine ONNX Runtime"
    found = case.stage(stage, lambda: in_turn(OnnxRuntimeRunner(str(path)), sets))
    case.compare(stage, found, wanted)


def _in_onnxruntime(case: Case, path: Path, sets: Sets, wanted: list[list[Any]]) -> None:
    name = "the ONNX, engine ONNX Runtime"
    case.stage("check the ONNX", lambda: _check(path))
    found = case.stage(name, lambda: in_turn(OnnxRuntimeRunner(str(path)), sets))
    case.compare(name, found, wanted)


def _again(source: Path, path: Path) -> bool:
    irloop.save_model(irloop.read_model(source), path)
    return True


def _convert(source: Path, path: Path, random: Random, opset: int | None = None) -> bool:
    model, _ = irloop.convert(source, opset=opset)
    version = random.choice([model.version, 11]) if path.suffix == ".xml" else None
    irloop.save_model(model, path, ir_version=version)
    return True
