"""Draws graphs as DOT, the language of Graphviz, which many programs can lay out."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import one_line
from irloop.drawing.scene import Box, Link, Scene, Style, scene_of
from irloop.graph.model import Graph
from irloop.progress import counted, told

__all__ = ["dot"]

_SHAPES = {
    "operation": 'style="rounded,filled" fillcolor="#eef4fb" color="#4a7fb5"',
    "parameter": 'style="rounded,filled" fillcolor="#e8f5ec" color="#3f8f5b"',
    "result": 'style="rounded,filled" fillcolor="#f3ecfa" color="#7d55a8"',
    "constant": 'style="rounded,filled" fillcolor="#f4f4f4" color="#7b8794"',
    "pin": 'style="filled" fillcolor="#f5f0dc" color="#a08a3c"',
    "note": 'style="dashed" color="#c0392b"',
}
_OWNER = 'color="#a08a3c"'
_MARKS = {"new": 'penwidth=3 color="#1b8a3a"', "gone": 'penwidth=3 color="#c0392b"'}


def dot(graph: Graph, style: Style, title: str = "") -> str:
    """A picture of `graph` as DOT; bodies are clusters, back edges dashed lines.

    Equal graphs have equal texts.
    """
    told("phases", 0, 2)
    scene = scene_of(graph, style)
    told("phases", 1, 2)
    rows = [
        f"digraph {_quoted(title or graph.name)} {{",
        f"  label={_quoted(title)} labelloc=t fontname=Helvetica compound=true",
        "  node [shape=box fontname=Helvetica fontsize=10]",
        "  edge [fontname=Helvetica fontsize=9 arrowsize=0.7]",
        *_scene(scene, "n", "  "),
        "}",
        "",
    ]
    told("phases", 2, 2)
    return "\n".join(rows)


def _scene(scene: Scene, prefix: str, indent: str) -> Iterator[str]:
    boxes = counted("boxes", scene.boxes, len(scene.boxes), every=16)
    for number, box in enumerate(boxes):
        yield from _box(box, f"{prefix}{number}", indent)
    for layer in sorted({*scene.first.values()}):
        yield _same_rank([at for at, own in scene.first.items() if own == layer], prefix, indent)
    for layer in sorted({*scene.last.values()}):
        yield _same_rank([at for at, own in scene.last.items() if own == layer], prefix, indent)
    for link in scene.links:
        yield f"{indent}{_link(scene, link, prefix)}"
    for result, parameter in scene.backs:
        # The back edge must not pull the parameter below the result.
        look = 'style=dashed color="#d9660a" constraint=false'
        yield f"{indent}{prefix}{result} -> {prefix}{parameter} [{look}]"


def _same_rank(boxes: list[int], prefix: str, indent: str) -> str:
    names = "; ".join(f"{prefix}{at}" for at in sorted(boxes))
    return f"{indent}{{rank=same; {names}}}"


def _box(box: Box, name: str, indent: str) -> Iterator[str]:
    label = _quoted("\n".join(map(one_line, (box.title, *box.lines))))
    mark = _MARKS.get(box.mark, "")
    if not box.bodies:
        look = f"{_SHAPES[box.kind]} {mark}".rstrip()
        yield f"{indent}{name} [label={label} tooltip={_quoted(box.path)} {look}]"
        return
    yield f"{indent}subgraph cluster_{name} {{"
    yield f"{indent}  label={label} style=rounded {mark or _OWNER}"
    for number, body in enumerate(box.bodies):
        inner = f"{name}_{number}_"
        yield f"{indent}  subgraph cluster_{inner} {{"
        yield f'{indent}    label={_quoted(body.label)} color="#d9cfa8"'
        yield from _scene(body, inner, f"{indent}    ")
        yield f"{indent}  }}"
    yield f"{indent}}}"


def _link(scene: Scene, link: Link, prefix: str) -> str:
    """A line of DOT for a link from one box to another.

    If a box is an operation with bodies, the link starts or ends at a pin of a body.
    """
    source, target = scene.boxes[link.source], scene.boxes[link.target]
    start, end = f"{prefix}{link.source}", f"{prefix}{link.target}"
    if source.exits:
        # A damaged port map may lack an output; the line of that output then starts at another
        # output.
        body, pin = source.exits.get(link.output) or next(iter(source.exits.values()))
        start = f"{start}_{body}_{pin}"
    if target.entries:
        body, pin = target.entries[link.entry]
        end = f"{end}_{body}_{pin}"
    label = f" [taillabel={_quoted(str(link.output))}]" if source.n_outputs > 1 else ""
    return f"{start} -> {end}{'' if source.exits else label}"


def _quoted(text: str) -> str:
    lines = map(one_line, text.split("\n"))
    escaped = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
