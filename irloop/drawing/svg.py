"""Draws graphs as SVG, which any browser shows, without another program."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from irloop.diagnostics import one_line
from irloop.drawing.layout import (
    LEADING,
    MARGIN,
    PAD,
    TEXT,
    TITLE,
    Line,
    Placed,
    Point,
    Shelf,
    place,
)
from irloop.drawing.scene import Style, scene_of
from irloop.drawing.text import width
from irloop.graph.model import Graph
from irloop.progress import counted, told

__all__ = ["svg"]

_EDGE = 24.0
_RADIUS = 5.0

#: The colours are the same on light and on dark pages.
_STYLE = """\
text{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;fill:#1f2933}
.t{font-weight:bold}
.l{fill:#52606d}
.b{stroke-width:1.2;fill:#ffffff;stroke:#7b8794}
.operation{fill:#eef4fb;stroke:#4a7fb5}
.owner{fill:#fbfaf4;stroke:#a08a3c;stroke-width:1.6}
.body{fill:#ffffff;stroke:#d9cfa8;stroke-dasharray:none}
.parameter{fill:#e8f5ec;stroke:#3f8f5b}
.result{fill:#f3ecfa;stroke:#7d55a8}
.constant{fill:#f4f4f4}
.pin{fill:#f5f0dc;stroke:#a08a3c}
.note{fill:#fff1f0;stroke:#c0392b;stroke-dasharray:4 3}
.new{stroke:#1b8a3a;stroke-width:3}
.gone{stroke:#c0392b;stroke-width:3;stroke-dasharray:6 3}
.e{fill:none;stroke:#5f6c7b;stroke-width:1.1}
.k{fill:none;stroke:#d9660a;stroke-width:1.5;stroke-dasharray:5 3}"""

_ARROWS = """\
<defs>
<marker id="a" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0,0.8L8,4L0,7.2z" fill="#5f6c7b"/></marker>
<marker id="c" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0,0.8L8,4L0,7.2z" fill="#d9660a"/></marker>
</defs>"""


def svg(graph: Graph, style: Style, title: str = "") -> str:
    """A picture of `graph` as the text of an SVG file. Equal graphs have equal texts."""
    told("phases", 0, 3)
    scene = scene_of(graph, style)
    told("phases", 1, 3)
    shelf = place(scene)
    told("phases", 2, 3)
    head = 26.0 if title else 0.0
    wide = max(shelf.width, width(title, TITLE + 2, bold=True)) + 2 * _EDGE
    high = shelf.height + 2 * _EDGE + head
    size = f'width="{_n(wide)}" height="{_n(high)}"'
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_n(wide)} {_n(high)}">',
        f"<style>\n{_STYLE}\n</style>",
        _ARROWS,
        f'<rect width="{_n(wide)}" height="{_n(high)}" fill="#ffffff"/>',
    ]
    if title:
        rows.append(_text(title, _EDGE, _EDGE + 4, TITLE + 2, "t"))
    spare = (wide - 2 * _EDGE - shelf.width) / 2
    rows += _shelf(shelf, _EDGE + spare, _EDGE + head)
    told("phases", 3, 3)
    return "\n".join([*rows, "</svg>", ""])


def _shelf(shelf: Shelf, x: float, y: float) -> Iterator[str]:
    """Yield the SVG of a placed scene: first its boxes with their bodies, then its lines.

    `x` and `y` are the position of its top left corner in the drawing.
    """
    for item in counted("boxes", shelf.boxes, len(shelf.boxes), every=16):
        yield from _box(item, x, y)
    for line in shelf.lines:
        yield _path(line, x, y)


def _box(placed: Placed, x: float, y: float) -> Iterator[str]:
    box, left, top = placed.box, placed.x + x, placed.y + y
    kinds = f"b {box.kind} {box.mark}".rstrip()
    yield "<g>"
    if box.path:
        yield f"<title>{_escaped(box.path)}</title>"
    yield _rectangle(left, top, placed.width, placed.height, kinds)
    centre = left + placed.width / 2
    row = top + PAD * 0.7 + TITLE * 0.85
    yield _text(box.title, centre, row, TITLE, "t", middle=True)
    for line in box.lines:
        row += LEADING
        yield _text(line, centre, row, TEXT, "l", middle=True)
    for body in placed.bodies:
        inner_x, inner_y = left + body.x, top + body.y
        half = MARGIN / 2
        yield _rectangle(
            inner_x - half, inner_y - half, body.width + MARGIN, body.height + MARGIN, "b body"
        )
        if len(placed.bodies) > 1:
            yield _text(body.label, inner_x, inner_y - half - 3, TEXT, "t")
        yield from _shelf(body, inner_x, inner_y)
    yield "</g>"


def _rectangle(x: float, y: float, wide: float, high: float, kinds: str) -> str:
    return (
        f'<rect class="{kinds}" x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(high)}" '
        f'rx="{_n(_RADIUS)}"/>'
    )


def _text(text: str, x: float, y: float, size: float, kind: str, *, middle: bool = False) -> str:
    bold = kind == "t"
    anchor = ' text-anchor="middle"' if middle else ""
    # The length is given, so that the text fits into its box in every font.
    long = _n(width(text, size, bold=bold))
    return (
        f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{anchor} '
        f'textLength="{long}" lengthAdjust="spacingAndGlyphs">{_escaped(text)}</text>'
    )


def _path(line: Line, x: float, y: float) -> str:
    # Round as in the output, so that the path leaves out lines of length 0: an arrow at the end of
    # such a line would have an arbitrary direction.
    points = [(round(px + x, 1), round(py + y, 1)) for px, py in line.points]
    if line.back:
        return f'<path class="k" d="{_rounded(points)}" marker-end="url(#c)"/>'
    return f'<path class="e" d="{_curved(points)}" marker-end="url(#a)"/>'


def _curved(points: list[Point]) -> str:
    """Return the SVG path of a link through `points`.

    Between two points with the same x it is a vertical line, otherwise an S-shaped curve.
    """
    text = f"M{_p(points[0])}"
    for (x1, y1), (x2, y2) in pairwise(points):
        if x1 == x2:
            text += f"V{_n(y2)}" if y1 != y2 else ""
        else:
            middle = (y1 + y2) / 2
            text += f"C{_p((x1, middle))} {_p((x2, middle))} {_p((x2, y2))}"
    return text


def _rounded(points: list[Point]) -> str:
    """Return the data of an SVG path: straight lines through `points`, with rounded corners."""
    text = f"M{_p(points[0])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        text += f"L{_p(_towards(corner, before))}Q{_p(corner)} {_p(_towards(corner, after))}"
    return f"{text}L{_p(points[-1])}"


def _towards(start: Point, end: Point) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    far = abs(dx) + abs(dy)
    part = min(_RADIUS, far / 2) / far if far else 0.0
    return start[0] + dx * part, start[1] + dy * part


def _p(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(number: float) -> str:
    """Write a number with one decimal; a decimal of 0 is omitted, as in ``3`` for 3.04."""
    return f"{number:.1f}".removesuffix(".0")


def _escaped(text: str) -> str:
    # XML cannot represent most control characters.
    return escape(one_line(text), quote=False)
