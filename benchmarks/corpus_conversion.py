"""Converts every loop model of a corpus both ways and runs the results in the real engines.

    python benchmarks/corpus_conversion.py ../shared/corpus [--only mo2021/torch_gru] [-v]

Directions: ir2onnx (onnx.checker with full check, then ONNX Runtime), onnx2ir (OpenVINO's CPU),
ir2onnx2ir (OpenVINO), onnx2ir2onnx (ONNX Runtime); --executor adds irloop's own executor on the
converted model. A case counts as equal when every data set gives the stored outputs within the
corpus's tolerance. Prints one line a failure and a summary by class.
"""

from __future__ import annotations

import argparse
import collections
import json
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from engine_worker import load_arrays, store_arrays

from irloop.conversion.pipelines import to_onnx, to_openvino
from irloop.errors import IrloopError
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import writer as onnx_writer
from irloop.formats.openvino import reader as ir_reader
from irloop.formats.openvino import writer as ir_writer
from irloop.graph.types import ElementType, TensorType

Array = np.ndarray[Any, np.dtype[Any]]
SECONDS = 60
DIRECTIONS = ("ir2onnx", "onnx2ir", "ir2onnx2ir", "onnx2ir2onnx")


class Engines:
    """A child process that runs jobs; restarted after a crash or a time-out."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None

    def run(self, engine: str, model: Path, inputs: list[Any], folder: Path) -> list[Any]:
        """Outputs of `model`.

        Raises:
            RuntimeError: with the engine's message, or "crash", or "time-out".
        """
        given, made = folder / "job_in.npz", folder / "job_out.npz"
        store_arrays(str(given), "in", inputs)
        job = {"engine": engine, "model": str(model), "inputs": str(given), "outputs": str(made)}
        child = self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(job) + "\n")
        child.stdin.flush()
        ready, _, _ = select.select([child.stdout], [], [], SECONDS)
        line = child.stdout.readline() if ready else ""
        if not line:
            child.kill()
            self._child = None
            raise RuntimeError("time-out" if not ready else "crash")
        answer = json.loads(line)
        if not answer["ok"]:
            raise RuntimeError(answer["error"])
        return load_arrays(str(made), "out")

    def _start(self) -> subprocess.Popen[str]:
        if self._child is None or self._child.poll() is not None:
            worker = Path(__file__).with_name("engine_worker.py")
            self._child = subprocess.Popen(
                [sys.executable, "-W", "ignore", str(worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        return self._child


def tolerance(kind: np.dtype[Any]) -> tuple[float, float, float]:
    """Relative, relative to the tensor's scale, absolute (INDEX.md of the corpus)."""
    if kind == np.float16:
        return 1e-2, 0.0, 2e-3
    if kind.name == "bfloat16":
        return 4e-2, 0.0, 2e-2
    if kind.kind == "f":
        return 1e-4, 1e-5, 2e-5
    return 0.0, 0.0, 0.0


def difference(got: Any, want: Any, factor: float) -> str:
    """Why two values differ, or nothing."""
    if isinstance(want, list) or want is None or isinstance(got, list) or got is None:
        same = type(got) is type(want) and (want is None or len(got) == len(want))
        if not same:
            return "sequence differs"
        return next(
            filter(None, map(lambda g, w: difference(g, w, factor), got or [], want or [])), ""
        )
    if got.size == want.size == 0 and got.dtype == want.dtype:
        # Engines agree that nothing is there, not on the other dimensions (INDEX.md, 2).
        return ""
    if got.shape != want.shape:
        return f"shape {list(got.shape)} for {list(want.shape)}"
    if got.dtype != want.dtype and want.dtype.kind not in "OUS":
        return f"type {got.dtype} for {want.dtype}"
    if want.dtype.kind not in "f" and want.dtype.name != "bfloat16":
        return "" if np.array_equal(got, want) else "values differ"
    left, right = got.astype(np.float64), want.astype(np.float64)
    relative, scaled, absolute = (factor * item for item in tolerance(want.dtype))
    scale = float(np.max(np.abs(right), initial=0.0, where=np.isfinite(right)))
    close = np.abs(left - right) <= relative * np.abs(right) + scaled * scale + absolute
    close |= (left == right) | (np.isnan(left) & np.isnan(right))
    if close.all():
        return ""
    with np.errstate(invalid="ignore"):
        return f"values differ by up to {np.nanmax(np.abs(left - right)):.3g}"


class Case:
    """One folder of the corpus."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"{folder.parent.name}/{folder.name}"
        self.meta: dict[str, Any] = json.loads((folder / "meta.json").read_text())
        self.onnx = folder / "model.onnx"
        self.xml = folder / "model.xml"

    def sets(self) -> list[tuple[list[Any], list[Any]]]:
        """(inputs, outputs) of every data set that has stored outputs, numbered as in meta."""
        found = []
        for outputs in sorted(self.folder.glob("outputs_*.npz")):
            inputs = self.folder / outputs.name.replace("outputs", "inputs")
            given = load_arrays(str(inputs), "in") if inputs.exists() else []
            found.append((given, load_arrays(str(outputs), "out")))
        return found

    def ir_files(self, folder: Path) -> tuple[Path, ...]:
        """The .xml, and the .bin where the corpus tells how to make it instead of holding it."""
        if (self.folder / "model.bin").exists() or not self.meta.get("bin_recipe"):
            return (self.xml,)
        sys.path.insert(0, str(self.folder.parents[1]))
        from check import make_bin

        made = folder / "model.bin"
        made.write_bytes(make_bin(str(self.xml), self.meta["bin_recipe"]))
        return self.xml, made

    def order(self, kind: str, names: list[str]) -> list[int]:
        """For each of the IR's `names` (inputs or outputs) the number of its array."""
        listed = [item["name"] for item in self.meta["ir"][kind]]
        return [listed.index(name) for name in names]


def check_onnx(path: Path) -> None:
    """onnx.checker with full check."""
    import onnx

    onnx.checker.check_model(str(path), full_check=True)


def convert_case(case: Case, direction: str, folder: Path) -> tuple[Path, Any]:
    """The converted file and the source model."""
    if direction.startswith("ir2onnx"):
        source = ir_reader.read(*case.ir_files(folder))
        path = folder / "converted.onnx"
        onnx_writer.write(to_onnx(source)[0], path)
        check_onnx(path)
        if direction == "ir2onnx2ir":
            again = folder / "again.xml"
            ir_writer.write(to_openvino(onnx_reader.read(path))[0], again)
            return again, source
        return path, source
    source = onnx_reader.read(case.onnx)
    path = folder / "converted.xml"
    ir_writer.write(to_openvino(source)[0], path)
    if direction == "onnx2ir2onnx":
        again = folder / "again.onnx"
        onnx_writer.write(to_onnx(ir_reader.read(path))[0], again)
        check_onnx(again)
        return again, source
    return path, source


def _as_declared(value: Any, node: Any) -> Any:
    """An array in the element type that the model declares."""
    type = (node.outputs[0] if node.outputs else node.inputs[0]).type
    if not isinstance(value, np.ndarray) or not isinstance(type, TensorType):
        return value
    if value.dtype.kind in "OUS" or type.element is ElementType.DYNAMIC:
        return value
    return value.astype(type.element.numpy())


def judge(case: Case, direction: str, engines: Engines, folder: Path) -> str:
    """ "equal", or the class of failure and its message."""
    try:
        path, source = convert_case(case, direction, folder)
    except IrloopError as error:
        return f"{type(error).__name__}: {error.diagnostics[0].message}"
    except Exception as error:
        return f"CRASH {type(error).__name__}: {error}"[:400]
    ins, outs = list(range(len(source.graph.parameters))), list(range(len(source.graph.results)))
    if direction.startswith("ir2onnx"):
        ins = case.order("inputs", [node.name for node in source.graph.parameters])
        outs = case.order("outputs", [node.name for node in source.graph.results])
    engine = "onnxruntime" if path.suffix == ".onnx" else "openvino"
    factor = float(case.meta.get("tolerance_factor") or 1)
    for number, (inputs, outputs) in enumerate(case.sets()):
        try:
            given = [
                _as_declared(inputs[at], node) for at, node in zip(ins, source.graph.parameters)
            ]
            got = engines.run(engine, path, given, folder)
        except RuntimeError as error:
            return f"{engine} set {number}: {error}"
        except Exception as error:
            return f"HARNESS {type(error).__name__}: {error}"
        for position, at in enumerate(outs):
            if at >= len(outputs):
                continue
            want = outputs[at]
            if direction.startswith("ir2onnx"):
                # Model Optimizer narrowed i64; the corpus stores what its source model gave.
                want = _as_declared(want, source.graph.results[position])
            why = difference(got[position], want, factor)
            if why:
                return f"set {number} output {at}: {why}"
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
        tally: collections.Counter[str] = collections.Counter()
        for meta in sorted(options.corpus.glob("*/*/meta.json")):
            case = Case(meta.parent)
            needed = case.xml if direction.startswith("ir2onnx") else case.onnx
            if not needed.exists() or "negative" in case.name or "unreadable" in case.name:
                continue
            if options.only and not any(case.name.startswith(item) for item in options.only):
                continue
            with tempfile.TemporaryDirectory() as folder:
                verdict = judge(case, direction, engines, Path(folder))
            tally[verdict.split(":")[0].split(" set")[0]] += 1
            if verdict != "equal" or options.verbose:
                sys.stdout.write(f"{direction} {case.name}: {verdict}\n")
                sys.stdout.flush()
        total = sum(tally.values())
        sys.stdout.write(f"== {direction}: {tally['equal']} of {total} equal; {dict(tally)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
