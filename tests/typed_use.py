"""A script as a user writes it: type checkers understand it, and it runs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import irloop


def build(steps: int) -> irloop.Model:
    """A loop that doubles its input `steps` times."""
    b = irloop.Builder("openvino", name="doubling")
    x = b.input("x", "f32", [1, 3])
    with b.loop(steps) as body:
        state = body.state(x, name="state")
        body.next(state, body.op("Add", state, state))
        last = body.last(state)
    b.output("y", last)
    return b.model()


def prove(source: Path) -> bool:
    """Convert a file, and compare both."""
    result, notes = irloop.convert(irloop.read_model(source), loops="loop")
    for note in notes:
        print(note.code, note.message, note.location.path)
    files = irloop.save_model(result, source.with_suffix(".onnx"))
    found = irloop.compare(source, files[0])
    print(found.outcome, found.notes)
    return found.equal


def total(source: Path) -> float:
    """The sum of all outputs."""
    outputs = irloop.run(source, {"x": np.ones((1, 3), np.float32)})
    again = irloop.Session(irloop.read_model(source)).run({"x": [[1.0, 1.0, 1.0]]})
    assert sorted(outputs) == sorted(again)
    return float(sum(value.sum() for value in outputs.values()))


def errors(source: Path) -> list[str]:
    """What is wrong with a file."""
    try:
        report = irloop.validate(source)
    except irloop.ReadError as error:
        return [str(error), *(item.message for item in error.diagnostics)]
    return [item.message for item in report if item.severity is irloop.Severity.ERROR]


def smaller(source: Path) -> tuple[irloop.Model, float]:
    """The model after a pass, and the seconds that it took."""
    model, profile = irloop.transform(source, ["dead_code"])
    return model, sum(record.seconds for record in profile)


def main(folder: Path) -> None:
    """Do all of it."""
    source = folder / "model.xml"
    irloop.save_model(build(3), source)
    assert not errors(source)
    assert prove(source)
    assert total(source) == 24.0
    assert smaller(source)[0].graph.nodes


if __name__ == "__main__":
    main(Path(sys.argv[1]))
