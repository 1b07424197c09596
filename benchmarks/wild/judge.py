"""Judges one model in a process of its own, and prints a line of JSON: see `benchmarks.wild`.

    python -m benchmarks.wild.judge MODEL.onnx|MODEL.xml

Each step is "ok", or what went wrong. Converted models run in the engine of their format, against
the engine of the source; the peer is OpenVINO's own reader of ONNX.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import irloop
from benchmarks.wild.decoding import decoded, has_variables

__all__ = ["STEPS"]

#: The steps in order: "there" is the conversion to the other format and "back" the one from there;
#: "standard" is only for models with operations of ONNX Runtime, and "peer" for ONNX.
STEPS = ("engine", "validate", "run", "there", "back", "standard", "peer")


def main() -> None:
    """Print the results of one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    model = parser.parse_args().model
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(judged(model, Path(scratch))))


def judged(model: Path, scratch: Path) -> dict[str, str]:
    """The result of each step."""
    if model.suffix == ".xml":
        return _judged_ir(model, scratch)
    inputs, wanted, engine = _in_onnxruntime(model)
    found = {"engine": engine, "validate": _step(lambda: _validated(model))}
    there, back, plain = scratch / "there.xml", scratch / "back.onnx", scratch / "plain.onnx"
    found["run"] = _step(lambda: _compared(model, model, engine_a="numpy", engine_b="onnxruntime"))
    found["there"] = _step(lambda: _converted(model, there, "openvino"))
    if found["there"] != "ok" and inputs is not None:
        # OpenVINO runs some models only with fixed shapes.
        shapes = {name: value.shape for name, value in inputs.items()}
        fixed = _step(lambda: _converted(model, there, "openvino", shapes=shapes))
        found["there"] = "ok with fixed shapes" if fixed == "ok" else found["there"]
    if there.exists():
        found["back"] = _step(lambda: _converted(there, back, "onnx"))
    if "com.microsoft" in _domains(model):
        found["standard"] = _step(lambda: _converted(model, plain, "onnx", standard=True))
    if wanted is not None:
        found["peer"] = _step(lambda: _in_openvino(model, inputs, wanted))
    return found


def _judged_ir(model: Path, scratch: Path) -> dict[str, str]:
    there, back = scratch / "there.onnx", scratch / "back.xml"
    found = {"engine": _step(lambda: _in_engine(model))}
    found["validate"] = _step(lambda: _validated(model))
    found["run"] = _step(lambda: _compared(model, model, engine_a="numpy", engine_b="openvino"))
    if has_variables(model):
        found["there"] = _step(lambda: decoded(model, there))
    else:
        found["there"] = _step(lambda: _converted(model, there, "onnx"))
    if there.exists():
        found["back"] = _step(lambda: _converted(there, back, "openvino"))
    return found


def _in_engine(model: Path) -> str:
    import openvino

    openvino.compile_model(model, "CPU")(list(irloop.random_inputs(model).values()))
    return "ok"


def _step(work: Callable[[], str]) -> str:
    try:
        return work()
    except irloop.IrloopError as error:
        return f"refused: {error.message}: {error.diagnostics[0].message}"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _domains(model: Path) -> set[str]:
    import onnx

    return {item.domain for item in onnx.load(model, load_external_data=False).opset_import}


def _validated(model: Path) -> str:
    errors = [item for item in irloop.validate(model).sorted() if item.severity.name == "ERROR"]
    return "ok" if not errors else f"error: {errors[0].code} {errors[0].message}"


def _converted(source: Path, target: Path, to: Any, **options: Any) -> str:
    converted, _ = irloop.convert(source, to, **options)
    irloop.save_model(converted, target)
    engines = "onnxruntime,openvino" if source.suffix != target.suffix else "onnxruntime"
    return _compared(source, target, engines=engines)


def _compared(first: Path, second: Path, **engines: Any) -> str:
    found = irloop.compare(first, second, seeds=1, seconds=30, converted=True, **engines)
    return "ok" if found.converts else str(found).replace("\n", " | ")[:700]


def _in_onnxruntime(model: Path) -> tuple[Any, Any, str]:
    import onnxruntime

    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(model), options)
        inputs = irloop.random_inputs(model)
        return inputs, session.run(None, inputs), "ok"
    except Exception as error:
        return None, None, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _in_openvino(model: Path, inputs: dict[str, Any], wanted: list[Any]) -> str:
    import openvino

    exact = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}
    compiled = openvino.compile_model(model, "CPU", exact)
    found = list(compiled(list(inputs.values())).values())
    for left, right in zip(wanted, found, strict=True):
        if not _near(np.asarray(left), np.asarray(right)):
            return "another result"
    return "ok"


def _near(left: Any, right: Any) -> bool:
    if left.shape != right.shape:
        return False
    if left.dtype.kind in "OU":
        return bool((left.astype(str) == right.astype(str)).all())
    return bool(np.allclose(left, right, rtol=1e-3, atol=1e-4, equal_nan=True))


if __name__ == "__main__":
    main()
