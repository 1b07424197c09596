"""Measures in which releases of OpenVINO and ONNX Runtime each fault exists.

    python -m benchmarks.engine_versions --python PATH [--python PATH ...]
        [--engine openvino] [--release 2026.4.1 ...] [--fault OVN133 ...] [--jobs 2]

For each release, it makes an environment with one of the given Pythons (by default, the one that
runs this), runs the smallest case of each fault in it, as `irloop explain CODE --reproduce` writes
it, and deletes the environment. For OpenVINO, it also runs each case after a conversion to ONNX,
and back for this release, which should avoid the fault or warn. The results are entered into the
table of the engine in `irloop/faults`. By default, a release is the newest patch of each minor
version for which pip finds a file for one of the Pythons: OpenVINO from 2023.0 and also 2021.4.2,
ONNX Runtime from 1.16. A release that was named, but for which there is no file, is reported as
not measured.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import irloop
from benchmarks.engines import EngineError
from benchmarks.runtime_2021 import VERSION as OLD
from benchmarks.runtime_2021 import InferenceEngine
from irloop.building.ir_model import IrModel
from irloop.conformance.reproduction import reproduce, write_script
from irloop.conformance.suite import arrays_of, write_case
from irloop.conversion.targets import OLDEST, find_target
from irloop.dialects.openvino.elementwise import Add
from irloop.errors import InferenceError, UnsupportedError
from irloop.faults.case import Case, onnx_text
from irloop.faults.case import run as run_of
from irloop.faults.catalogue import ENGINES, faults, faults_of_engine
from irloop.faults.fault import Effect, Fault
from irloop.faults.measured import FIRST, NOT_RUN, RIGHT, SEEN, releases, table_path
from irloop.formats.openvino.writer import write as write_ir
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Value
from irloop.graph.op import Constant, Parameter, Result
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_nodes

#: The time limit of one case in seconds. A case takes one or two.
SECONDS = 30

#: The first releases that are installed with NumPy 2.
NUMPY_2 = {"onnxruntime": (1, 19), "openvino": (2025, 0)}

#: Prints what a release can read: the newest opset that it has whole, and the names of its element
#: types. Some operations crash OpenVINO if they lack their inputs, and so exist.
PROBES = {
    "openvino": """
import json, os, re, sys
import openvino
from openvino.frontend import FrontEndManager
frontend = FrontEndManager().load_by_framework("ir")
def lacks(kind, number):
    layers = (
        f'<layer id="0" name="a" type="{kind}" version="opset{number}"><output>'
        '<port id="0" precision="FP32"/></output></layer>'
        '<layer id="1" name="r" type="Result" version="opset1">'
        '<input><port id="0"/></input></layer>'
    )
    edge = '<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
    text = f'<net name="a" version="11"><layers>{layers}</layers><edges>{edge}</edges></net>'
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 1 << 8
    try:
        with open(sys.argv[2], "w") as file:
            file.write(text)
        frontend.convert(frontend.load(sys.argv[2]))
    except Exception as error:
        unknown = re.search("unsupported opset|doesn't contain the operation", str(error))
        os._exit(1 if unknown else 0)
    os._exit(0)
operations = json.loads(sys.argv[1])
lacked = [number for kind, number in operations if lacks(kind, number)]
whole = min(lacked, default=operations[-1][1] + 1) - 1
print(json.dumps([whole, dir(openvino.Type)]))
""",
    "onnxruntime": """
import json, sys
import onnxruntime
onnxruntime.set_default_logger_severity(4)
for opset, path in reversed(list(enumerate(sys.argv[1:], 1))):
    try:
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception:
        continue
    print(json.dumps([opset, []]))
    break
""",
}

#: Runs a script or a probe; older releases have the same names in another module.
LAUNCHER = """
import runpy, sys
sys.modules["openvino_telemetry"] = None
sys.argv = sys.argv[1:]
try:
    import openvino
    if not hasattr(openvino, "Core"):
        import openvino.runtime as runtime
        openvino.Core, openvino.Tensor, openvino.Type = runtime.Core, runtime.Tensor, runtime.Type
except ImportError:
    pass
runpy.run_path(sys.argv[0], run_name="__main__")
"""

#: Operations that every opset has, although later ones list them again.
BASICS = (Constant, Parameter, Result)

Table = dict[str, dict[str, str]]


def sum_in_ir() -> Model:
    """The sum of a vector and a scalar."""
    m = IrModel()
    return m.done(m(Add(), m.input("x", 2), m.input("y")))


#: A case for each engine that every release runs right.
CONTROLS = {
    engine: Case("sum", "", "Sum", "z = x + y", model, (run_of([[1, 2], 4], [[5, 6]]),))
    for engine, model in (
        ("openvino", sum_in_ir),
        ("onnxruntime", onnx_text("g (float[2] x, float y) => (float[2] z) { z = Add (x, y) }")),
    )
}


class Environment:
    """A Python with one release of an engine and NumPy."""

    def __init__(self, python: str, folder: Path) -> None:
        run([python, "-m", "venv", str(folder)], check=True)
        self.python = str(folder / "bin" / "python")

    def install(self, engine: str, version: str) -> None:
        """Install a release, and NumPy 1 if the release was built before NumPy 2.

        The packages do not say so: OpenVINO 2024.0 installs with NumPy 2 and misreads its arrays.
        """
        numpy = "numpy<2" if numbers_of(version) < NUMPY_2[engine] else "numpy"
        command = [self.python, "-m", "pip", "install", "-q", "--only-binary=:all:"]
        run([*command, f"{engine}=={version}", numpy], check=True)

    def launch(self, script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a script.

        Raises:
            subprocess.TimeoutExpired: when it hangs.
        """
        command = [self.python, "-W", "ignore", "-c", LAUNCHER, str(script), *arguments]
        return run(command, timeout=SECONDS)


def run(
    command: Sequence[str], *, check: bool = False, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and keep its output."""
    return subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, errors="replace", check=check, timeout=timeout
    )


def numbers_of(version: str) -> tuple[int, ...]:
    """A version as numbers, by which releases are sorted."""
    return tuple(map(int, version.split(".")))


def versions_of(engine: str, python: str) -> list[str]:
    """The releases that pip finds for a Python, newest first."""
    done = run([python, "-m", "pip", "index", "versions", engine])
    found = re.search(r"Available versions: (.*)", done.stdout)
    return found[1].split(", ") if found else []


def default_releases(engine: str, available: Iterable[str]) -> list[str]:
    """The newest patch of each minor version, oldest first."""
    newest: dict[tuple[int, ...], tuple[int, ...]] = {}
    for version in available:
        parts = numbers_of(version)
        if parts[:2] >= FIRST[engine] or version == OLD:
            newest[parts[:2]] = max(parts, newest.get(parts[:2], parts))
    return [".".join(map(str, parts)) for parts in sorted(newest.values())]


def measure(
    engine: str, version: str, python: str, chosen: Mapping[str, type[Fault]], jobs: int
) -> dict[str, str]:
    """A column of the table: what a release reads, and the verdict on each fault.

    Raises:
        RuntimeError: when the release runs even a sum wrongly, so that nothing is measured.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environment = Environment(python, folder / "environment")
        environment.install(engine, version)
        if version == OLD:
            return measure_2021(environment.python, chosen, folder)
        opset, lacks = probe(environment, engine, folder)
        column = {"opset": str(opset), "lacks": " ".join(sorted(map(str, lacks)))}
        done = environment.launch(write_script(CONTROLS[engine], "A sum", folder / "control"))
        if done.stdout.split()[-1:] != [RIGHT]:
            raise RuntimeError(f"{engine} {version} fails on a sum: {done.stdout}{done.stderr}")

        def verdict(fault: type[Fault]) -> str:
            script = reproduce(fault.code, folder / fault.code)
            if engine == "openvino" and not is_readable(fault.smallest_model(), opset, lacks):
                return NOT_RUN
            return verdict_of(fault, environment, script)

        def is_left(fault: type[Fault]) -> bool:
            script = written_again(fault, version, folder / f"{fault.code}_written")
            return script is not None and verdict_of(fault, environment, script) != RIGHT

        with ThreadPoolExecutor(jobs) as pool:
            column |= dict(zip(chosen, pool.map(verdict, chosen.values()), strict=True))
            left = zip(chosen, pool.map(is_left, chosen.values()), strict=True)
            codes = [code for code, is_wrong in left if is_wrong]
        # Some faults say nothing about the others.
        is_whole = engine == "openvino" and len(chosen) == len(faults_of_engine(engine))
        return column | ({"left": " ".join(codes) or "none"} if is_whole else {})


def written_again(fault: type[Fault], version: str, folder: Path) -> Path | None:
    """The script of a case that was converted to ONNX, and back for a release, or None.

    The release is no target before it was measured for the first time. None if the case cannot be
    converted, if a note warns of a fault, or if the case is an ONNX model.
    """
    if fault.smallest.format == "onnx":
        return None
    try:
        is_known = any(item.version == version for item in releases("openvino"))
        target = f"openvino-{version}" if is_known else None
        there, _ = irloop.convert(fault.smallest_model(), "onnx")
        back, notes = irloop.convert(there, "openvino", target=target)
    except UnsupportedError:
        return None
    if any(note.code == "CNV109" for note in notes):
        return None
    back.version = 11
    case = replace(fault.smallest, model=lambda: back)
    return write_script(case, f"{fault.code}, converted", folder)


def probe(
    environment: Environment, engine: str, folder: Path
) -> tuple[int, frozenset[ElementType]]:
    """The newest opset of a release, and the element types that it does not know."""
    script = folder / "probe.py"
    script.write_text(PROBES[engine])
    if engine == "openvino":
        arguments = [json.dumps(newer_operations()), str(folder / "probe.xml")]
    else:
        arguments = [str(path) for path in empty_models(folder)]
    done = environment.launch(script, *arguments)
    opset, types = json.loads(done.stdout)
    if engine == "onnxruntime":
        return opset, frozenset()
    return opset, frozenset(item for item in ElementType if str(item) not in types)


def newer_operations() -> list[tuple[str, int]]:
    """The operations of OpenVINO that not every measured release has, by type and opset."""
    rows = [item for item in irloop.operations() if item.dialect == "openvino"]
    labels = [(item.type, int(item.label.removeprefix(f"{item.type}-"))) for item in rows]
    return sorted((item for item in labels if item[1] > 8), key=lambda item: item[1])


def empty_models(folder: Path) -> Iterator[Path]:
    """A model of each opset that the installed onnx package knows, from 1."""
    from onnx import defs, parser

    graph = "g (float[1] x) => (float[1] y) { y = Abs (x) }"
    for opset in range(1, defs.onnx_opset_version() + 1):
        path = folder / f"{opset}.onnx"
        path.write_bytes(parser.parse_model(onnx_text(graph, opset)).SerializeToString())
        yield path


def is_readable(model: Model, opset: int, lacks: Set[ElementType], *, dynamic: bool = True) -> bool:
    """Return whether a release knows the operations, element types and shapes of a model."""
    inputs = [node.output.type for node in model.graph.parameters]
    if not dynamic and not all(isinstance(t, TensorType) and t.shape.is_static for t in inputs):
        return False
    with suppress(InferenceError):
        # Some cases contradict themselves, so that types are unknown.
        Inference().run(model.graph)
    nodes = [*model.graph.parameters, *all_nodes(model.graph)]
    if any(node.op.since > opset for node in nodes if not isinstance(node.op, BASICS)):
        return False
    types = [value.type for node in nodes for value in node.outputs]
    return not any(isinstance(item, TensorType) and item.element in lacks for item in types)


def verdict_of(fault: type[Fault], environment: Environment, script: Path) -> str:
    """Run a script of `reproduce`."""
    try:
        done = environment.launch(script)
    except subprocess.TimeoutExpired:
        return "hung"
    lines = done.stdout.split()
    if lines and lines[-1] in (RIGHT, "wrong"):
        return lines[-1]
    if done.returncode < 0:
        return "crashed"
    return refusal(fault)


def refusal(fault: type[Fault]) -> str:
    """The verdict on a refusal: right if the specification refuses the case, too."""
    is_right = fault.smallest.may_be_refused and fault.effect is not Effect.REFUSAL
    return RIGHT if is_right else "refused"


def measure_2021(python: str, chosen: Mapping[str, type[Fault]], folder: Path) -> dict[str, str]:
    """The column of OpenVINO 2021.4, which has another API."""
    target = find_target(OLDEST)
    # It knows the names of 4-bit integers, but reads them in the other order.
    lacks = target.types - {ElementType.I4, ElementType.U4}
    column = {"opset": str(target.opset), "lacks": " ".join(sorted(map(str, lacks)))}
    engine = InferenceEngine(python)
    for code, fault in chosen.items():
        is_read = is_readable(fault.smallest_model(), target.opset, lacks, dynamic=False)
        column[code] = verdict_2021(fault, engine, folder) if is_read else NOT_RUN
    engine.close()
    return column


def verdict_2021(fault: type[Fault], engine: InferenceEngine, folder: Path) -> str:
    """Run a case in OpenVINO 2021.4."""
    case = fault.smallest
    model, _ = write_case(case, folder)
    path, _ = write_ir(model, folder / "old.xml", version=10)
    for item in case.runs:
        given = arrays_of(item.inputs, model.graph.inputs)
        try:
            got = engine.run(path, given, len(item.outputs), folder)
        except EngineError as error:
            words = {"crash": "crashed", "time-out": "hung"}
            return words.get(str(error)) or refusal(fault)
        if not all(map(is_near_in_2021, got, item.outputs, model.graph.outputs)):
            return "wrong"
    return RIGHT


def is_near_in_2021(found: Any, wanted: Any, declared: Value) -> bool:
    """Return whether an output is right, whose type 2021.4 changes; None is an undefined output."""
    if wanted is None:
        return True
    (array,) = arrays_of([wanted], [declared])
    if np.shape(found) != array.shape:
        return False
    return np.allclose(np.asarray(found, np.float64), array.astype(np.float64), atol=1e-5)


def read_table(engine: str) -> Table:
    """The columns of a table, keyed by release."""
    path = Path(table_path(engine))
    if not path.exists():
        return {}
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    names = [row[0] for row in rows[1:]]
    versions = rows[0][1:]
    return {
        version: dict(zip(names, (row[at] for row in rows[1:]), strict=True))
        for at, version in enumerate(versions, 1)
    }


def write_table(engine: str, table: Table) -> None:
    """Write a table: a row for each fault that has a file."""
    versions = sorted(table, key=numbers_of)
    codes = [code for code, fault in faults().items() if fault.engine == engine]
    rows = [["release", *versions]]
    for name in ("opset", "lacks", "left", *codes):
        rows += [[name, *(table[version].get(name, "") for version in versions)]]
    text = "".join(f"{','.join(row)}\n" for row in rows)
    Path(table_path(engine)).write_text(text, encoding="utf-8")


def enter(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """A column with new verdicts; a case that shows nothing does not replace what was seen."""
    kept = {name for name, verdict in new.items() if (old.get(name), verdict) == (SEEN, RIGHT)}
    return {**old, **{name: verdict for name, verdict in new.items() if name not in kept}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], help="an interpreter to use")
    parser.add_argument("--engine", choices=ENGINES, help="by default both")
    parser.add_argument("--release", action="append", default=[], help="a release of the engine")
    parser.add_argument("--fault", action="append", default=[], help="the code of a fault")
    parser.add_argument("--jobs", type=int, default=1, help="cases that run at a time")
    options = parser.parse_args()
    if options.release and not options.engine:
        parser.error("--release needs --engine")
    for engine in [options.engine] if options.engine else ENGINES:
        chosen = {
            code: fault
            for code, fault in faults().items()
            if fault.engine == engine and code in (options.fault or [code])
        }
        pythons = options.python or [sys.executable]
        #: For each release, the last of the given Pythons that has it.
        available = {name: python for python in pythons for name in versions_of(engine, python)}
        for version in options.release or default_releases(engine, available):
            if version not in available:
                print(f"{engine} {version}: not measured: no file for these Pythons", flush=True)
                continue
            column = measure(engine, version, available[version], chosen, options.jobs)
            table = read_table(engine)
            table[version] = enter(table.get(version, {}), column)
            write_table(engine, table)
            count = sum(column[code] not in (RIGHT, NOT_RUN) for code in chosen)
            left = column.get("left", "not measured")
            print(f"{engine} {version}: {count} of {len(chosen)}; left: {left}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
