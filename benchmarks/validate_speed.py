"""The time of `validate`, as a ratio to parsing the same file with lxml, in one run.

    python benchmarks/validate_speed.py [layers] [rounds]

Writes an IR of that many layers (20,000 by default) into a temporary folder and prints the median
ratio; the goal is at most 4.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lxml import etree

from irloop.validation.engine import validate

AIM = 4.0
_DIMS = "".join(f"<dim>{size}</dim>" for size in (1, 3, 8, 8))


def _port(number: int) -> str:
    return f'<port id="{number}" precision="FP32">\n{_DIMS}\n</port>\n'


def _layer(number: int, name: str, kind: str, data: str, inputs: int) -> str:
    ports = "".join(map(_port, range(inputs)))
    section = f"<input>\n{ports}</input>\n" if inputs else ""
    output = "" if kind == "Result" else f"<output>\n{_port(inputs)}</output>\n"
    head = f'<layer id="{number}" name="{name}" type="{kind}" version="opset1">\n'
    return f"{head}{data}{section}{output}</layer>\n"


def _net(count: int) -> tuple[str, str]:
    """Layers and edges of a chain of Add (of a constant) and ReLU between Parameter and Result."""
    parameter = '<data shape="1,3,8,8" element_type="f32" />\n'
    constant = '<data element_type="f32" shape="1,3,8,8" offset="0" size="768" />\n'
    layers = [_layer(0, "x", "Parameter", parameter, 0)]
    edges: list[tuple[int, int, int, int]] = []
    last = (0, 0)
    for number in range(1, count - 3, 3):
        layers.append(_layer(number, f"c{number}", "Const", constant, 0))
        numpy = '<data auto_broadcast="numpy" />\n'
        layers.append(_layer(number + 1, f"add{number}", "Add", numpy, 2))
        layers.append(_layer(number + 2, f"relu{number}", "ReLU", "", 1))
        edges += [(*last, number + 1, 0), (number, 0, number + 1, 1)]
        edges.append((number + 1, 2, number + 2, 0))
        last = (number + 2, 1)
    layers.append(_layer(count, "y", "Result", "", 1))
    edges.append((*last, count, 0))
    lines = (
        f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}" />\n'
        for a, b, c, d in edges
    )
    return "".join(layers), "".join(lines)


def write_model(path: Path, count: int) -> None:
    """An IR of about `count` layers and its .bin, written to `path`."""
    layers, edges = _net(count)
    text = f'<net name="big" version="10">\n<layers>\n{layers}</layers>\n<edges>\n{edges}</edges>\n'
    path.write_text(f'<?xml version="1.0"?>\n{text}</net>\n', encoding="utf-8")
    path.with_suffix(".bin").write_bytes(bytes(768))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> int:
    """Print the figures; returns 1 if the goal is missed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.xml"
        write_model(path, count)
        report = validate(path)
        parse, check = [], []
        for _ in range(rounds):
            parse.append(_seconds(lambda: etree.parse(path)))
            check.append(_seconds(lambda: validate(path)))
    ratio = statistics.median(check) / statistics.median(parse)
    print(f"{count} layers, {len(report)} findings")
    print(f"lxml.etree.parse  {statistics.median(parse):.3f} s")
    print(f"irloop validate   {statistics.median(check):.3f} s, {ratio:.2f} times (aim: {AIM})")
    return 0 if ratio <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
