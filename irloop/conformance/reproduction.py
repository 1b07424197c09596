"""Writes a fault of an engine as a report to its developers: the smallest model and a script.

The script needs only the engine and NumPy. It prints the expected and the returned outputs, and
ends with "right" or "wrong"; if the engine refuses the model, it ends with the engine's error.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irloop.conformance.suite import NEARNESS, write_case
from irloop.errors import UsageError, WriteError
from irloop.faults.case import Case, Empty
from irloop.faults.catalogue import DIALECTS, faults
from irloop.files import write_report
from irloop.graph.model import Model, Value
from irloop.graph.types import ElementType, TensorType

__all__ = ["SCRIPT", "reproduce", "write_script"]

#: The name of the script.
SCRIPT = "reproduce.py"

_HEAD = '''\
"""{title}.

{source}: {text}
"""

from pathlib import Path

import numpy as np
import {module}

#: Successive inferences: inputs and expected outputs.
RUNS = [
{runs}
]
is_right = True
model = str(Path(__file__).with_name("{model}"))
'''

_TAIL = """\
{margin}for number, (expected, found) in enumerate(zip(outputs, got)):
{margin}    if expected is None:
{margin}        continue  # undefined
{margin}    print(f"output {{number}}: expected {{expected.tolist()}}, got {{found.tolist()}}")
{margin}    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
{margin}        is_right = False
{margin}    elif not {compared}:
{margin}        is_right = False
print("right" if is_right else "wrong")
"""

#: A fault may occur only if an inference has its own request, or only if it has not.
_OPENVINO = """\
hints = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = openvino.Core().compile_model(model, "CPU", hints)
for one_request in (True, False):
    request = compiled.create_infer_request()
    for inputs, outputs in RUNS:
        request = request if one_request else compiled.create_infer_request()
        for number, value in enumerate(inputs):
            request.set_input_tensor(number, openvino.Tensor(value))
        results = request.infer()
        got = [results[number] for number in range(len(outputs))]
"""

_ONNXRUNTIME = """\
session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
names = [item.name for item in session.get_inputs()]
for inputs, outputs in RUNS:
    got = session.run(None, dict(zip(names, inputs)))
"""

_BODIES = {"onnxruntime": (_ONNXRUNTIME, "    "), "openvino": (_OPENVINO, "        ")}


def reproduce(code: str, folder: str | os.PathLike[str]) -> Path:
    """Write the smallest model with a fault, and the script that runs it; return the script.

    Raises:
        UsageError: for a code that no fault has.
        WriteError: when the folder cannot be made or written.
    """
    fault = faults().get(code.strip().upper())
    if fault is None:
        raise UsageError(f"no fault has the code {code!r}", expected=", ".join(faults()))
    return write_script(fault.smallest, f"{fault.code}: {fault.title}", Path(folder))


def write_script(case: Case, title: str, place: Path) -> Path:
    """Write the model of a case, and the script that runs it in the engine of its format.

    Raises:
        WriteError: when the folder cannot be made or written.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        model, path = write_case(case, place, "model")
        script = place / SCRIPT
        write_report(script, _script(case, title, model, path.name).encode())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WriteError(f"cannot write into the folder {str(place)!r}: {reason}") from None
    return script


def _script(case: Case, title: str, model: Model, file: str) -> str:
    engine = DIALECTS[case.format]
    body, margin = _BODIES[engine]
    inputs, outputs = model.graph.inputs, model.graph.outputs
    head = _HEAD.format(
        title=title.replace('"', "'"),
        source=case.source,
        text=case.text.replace('"', "'"),
        module=engine,
        runs=_runs(case, inputs, outputs),
        model=file,
    )
    return head + body + _TAIL.format(margin=margin, compared=_compared(outputs))


def _runs(case: Case, inputs: Sequence[Value], outputs: Sequence[Value]) -> str:
    lines = []
    for item in case.runs:
        given = ", ".join(map(_literal, item.inputs, inputs))
        wanted = ", ".join(map(_literal, item.outputs, outputs))
        lines.append(f"    ([{given}], [{wanted}]),")
    return "\n".join(lines)


def _literal(value: Any, declared: Value) -> str:
    """The text of an array in Python; None is an output that is undefined."""
    if value is None:
        return "None"
    name = _element(declared).numpy().name
    if isinstance(value, Empty):
        return f'np.zeros({value.shape}, "{name}")'
    return f'np.array({value!r}, "{name}")'


def _compared(outputs: Sequence[Value]) -> str:
    """The expression that compares a returned output with the expected one."""
    floats = [_element(item) for item in outputs if _element(item).is_float]
    if not floats:
        return "np.array_equal(found, expected)"
    near = max(NEARNESS[item.bits // 8] for item in floats)
    close = f"np.allclose(found, expected, {near}, {near})"
    if len(floats) == len(outputs):
        return close
    return f'({close} if found.dtype.kind == "f" else np.array_equal(found, expected))'


def _element(value: Value) -> ElementType:
    assert isinstance(value.type, TensorType)
    return value.type.element
