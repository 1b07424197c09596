"""Writes the page of conformance tables: `python -m docs.generate.conformance`.

The tables are measurements of engines, so that they are made by hand and kept in the repository,
not made again with each build of the site.
"""

from __future__ import annotations

from pathlib import Path

from docs.generate.commands import run

__all__ = ["main"]

PAGE = Path(__file__).parents[1] / "pages" / "reference" / "conformance.md"

#: What the page shows, in this order.
ENGINES = ("irloop", "onnxruntime", "openvino", "onnx.reference")

HEAD = """\
# What engines get wrong about loops

`irloop conformance ENGINE` runs some hundred and thirty small models with loops, each in a process
of its own and with several inferences of one compiled model, and compares the outputs with results
that were worked out by hand from the sentence of the specification that the report quotes. ENGINE
is `onnxruntime`, `openvino`, `onnx.reference`, `irloop`, or `module:function` for a runtime of your
own; `--programs 500` adds generated programs.

An engine is asked about the formats that it reads: OpenVINO reads IR and, through its own importer,
ONNX. *Refused* counts models that the engine does not load and inferences that end with an error.

These tables were measured on one machine with the CPU devices of the engines. Make them again with
`python -m docs.generate.conformance`.
"""


def main() -> None:
    """Run the suite on every engine and write the page."""
    parts = [HEAD]
    for engine in ENGINES:
        path = PAGE.with_name(f"{engine}.part.md")
        run(["conformance", engine, "-o", path.name, "--quiet"], path.parent)
        parts.append(path.read_text(encoding="utf-8"))
        path.unlink()
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
