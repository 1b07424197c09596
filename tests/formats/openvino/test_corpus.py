"""An IR that is read, written and read again does not change, and OpenVINO runs the written
file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from irloop.formats.openvino.reader import read
from irloop.formats.openvino.writer import write
from irloop.graph.verify import verify
from tests.archives import opconf_cases, unpacked
from tests.equality import difference, model_difference

LOOPS = sorted(unpacked("loops").glob("*/*/model.xml"))
#: Every seventh case; all cases of each operation would take long and show little more.
OPERATIONS = sorted(opconf_cases().glob("*/*/model.xml"))[::7]


def check_round_trip(paths: list[Path], folder: Path) -> None:
    target = folder / "copy.xml"
    for path in paths:
        model = read(path)
        verify(model.graph)
        # Writing version 10 changes names that it cannot have; version 11 keeps all names.
        write(model, target, version=11)
        assert difference(model.graph, read(target).graph) is None, path
        write(model, target)
        once = read(target)
        verify(once.graph)
        first = target.read_bytes(), target.with_suffix(".bin").read_bytes()
        write(once, target)
        assert model_difference(once, read(target)) is None, path
        assert (target.read_bytes(), target.with_suffix(".bin").read_bytes()) == first, path


@pytest.mark.parametrize("paths", [LOOPS, OPERATIONS], ids=["loops", "operations"])
def test_round_trip(paths: list[Path], tmp_path: Path) -> None:
    assert len(paths) > 100
    check_round_trip(paths, tmp_path)


#: Runs both files with the same inputs in one process, and prints the differences.
CHILD = """
import json, sys
import numpy as np
import openvino as ov

core = ov.Core()
hints = {"INFERENCE_PRECISION_HINT": "f32", "EXECUTION_MODE_HINT": "ACCURACY"}

def run(xml, names, data):
    model = core.read_model(xml)
    compiled = core.compile_model(model, "CPU", hints)
    order = [node.get_friendly_name() for node in model.get_parameters()]
    inputs = {}
    for index, name in enumerate(names):
        port = order.index(name)
        kind = compiled.inputs[port].get_element_type().to_dtype()
        inputs[port] = data[f"in{index}"].astype(kind)
    results = compiled(inputs)
    ports = [node.get_friendly_name() for node in model.get_results()]
    return dict(zip(ports, (results[index] for index in range(len(ports)))))

def close(x, y):
    # Kernels of one type may add up in another order, by where weights lie in memory.
    if x.dtype.kind != "f":
        return np.array_equal(x, y)
    return x.shape == y.shape and np.allclose(x, y, 1e-4, 1e-5, equal_nan=True)

for line in sys.stdin:
    original, copy, names, inputs = json.loads(line)
    data = dict(np.load(inputs))
    one, two = run(original, names, data), run(copy, names, data)
    same = list(one) == list(two) and all(
        close(one[name], two[name]) for name in one
    )
    print(json.dumps([original, same]), flush=True)
"""


def test_openvino_runs_the_written_files(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    jobs = []
    for path in LOOPS:
        meta = json.loads((path.parent / "meta.json").read_text(encoding="utf-8"))
        if meta["agree"] and "ok" in meta["runs"].get("ov-xml", ()):
            jobs.append((path, [entry["name"] for entry in meta["ir"]["inputs"]]))
    lines = []
    for index, (path, names) in enumerate(jobs):
        copy, _ = write(read(path), tmp_path / f"{index}.xml")
        lines.append(json.dumps([str(path), str(copy), names, str(path.parent / "inputs_0.npz")]))
    assert len(lines) >= 30
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    reports = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(reports) == len(lines), child.stderr[-2000:]
    assert [path for path, same in reports if not same] == []
