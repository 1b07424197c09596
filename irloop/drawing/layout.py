"""Places boxes and lines: each graph has its own layers, bodies are inside their owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from irloop.drawing.coordinates import horizontal
from irloop.drawing.layers import Edge, Layered, layered, ranks
from irloop.drawing.scene import Box, Link, Scene
from irloop.drawing.text import width
from irloop.progress import counted

__all__ = ["Line", "Placed", "Shelf", "place"]

#: Text: size of titles, size of lines, and line spacing.
TITLE, TEXT, LEADING = 12.0, 10.0, 13.0
#: Space around the text of a box, between boxes of a layer, between layers, and around a body.
PAD, GAP, RISE, MARGIN = 8.0, 22.0, 34.0, 14.0
#: Space between the lines of two back edges.
TRACK = 8.0
#: If the edges of a graph have more than BENDS bends together, an edge across more than LONG layers
#: is not drawn. The name of its value is written at its reader instead, unless the reader has
#: bodies.
LONG, BENDS = 40, 6000

Point = tuple[float, float]


@dataclass(slots=True)
class Placed:
    """A box with its position and size in the scene, and the bodies that were placed in it.

    The position is that of the top left corner, relative to the scene.
    """

    box: Box
    x: float
    y: float
    width: float
    height: float
    bodies: list[Shelf] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the drawing; it goes through `points`, and `back` marks a back edge."""

    points: tuple[Point, ...]
    back: bool = False


@dataclass(slots=True)
class Shelf:
    """A scene whose boxes and lines are placed; `x` and `y` are relative to the enclosing box."""

    label: str
    boxes: list[Placed]
    lines: list[Line]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def place(scene: Scene) -> Shelf:
    """Compute the position of every box and line of a scene, and the size of the whole drawing."""
    placed = [_sized(box) for box in counted("boxes", scene.boxes, len(scene.boxes), every=16)]
    links, rank = _ranked(scene)
    for drawn, box in zip(placed, scene.boxes, strict=True):
        # `_ranked` may have replaced long links by a line of text in the box, so its size is
        # computed again.
        if not drawn.bodies:
            drawn.width, drawn.height = _text_size(box)
    layers = layered(rank, _edges(links))
    tops, bottoms, height = _rows(layers, placed, len(scene.backs))
    widths = [drawn.width for drawn in placed] + [1.0] * (len(layers.above) - layers.count)
    bends = [False] * layers.count + [True] * (len(layers.above) - layers.count)
    centres = horizontal(layers.layers, layers.above, layers.below, widths, bends, GAP)
    left = min((x - w / 2 for x, w in zip(centres, widths, strict=True)), default=0.0)
    centres = [x - left for x in centres]
    for vertex, drawn in enumerate(placed):
        middle = (tops[rank[vertex]] + bottoms[rank[vertex]]) / 2
        drawn.x = centres[vertex] - drawn.width / 2
        drawn.y = middle - drawn.height / 2
    lines = [
        _line(link, route, placed, centres, rank, tops, bottoms)
        for link, route in zip(links, layers.routes, strict=True)
    ]
    right = max((drawn.x + drawn.width for drawn in placed), default=0.0)
    backs, room = _back_lines(scene, placed, right)
    return Shelf(scene.label, placed, lines + backs, right + room, height)


def _text_size(box: Box) -> Point:
    wide = max([width(box.title, TITLE, bold=True), *(width(line, TEXT) for line in box.lines)])
    return max(48.0, wide + 2 * PAD), TITLE + LEADING * len(box.lines) + 1.4 * PAD


def _sized(box: Box) -> Placed:
    """A box that is large enough for its text and, below it, its bodies side by side."""
    wide, high = _text_size(box)
    placed = Placed(box, 0.0, 0.0, wide, high)
    placed.bodies = [place(body) for body in box.bodies]
    if not placed.bodies:
        return placed
    x, between = MARGIN, 1.75 * MARGIN
    label = LEADING if len(placed.bodies) > 1 else 0.0
    for body in placed.bodies:
        body.x, body.y = x, high + label + MARGIN / 2
        x += body.width + between
    x += MARGIN - between
    placed.width = max(wide, x)
    placed.height = high + label + MARGIN * 1.5 + max(body.height for body in placed.bodies)
    spare = (placed.width - x) / 2
    for body in placed.bodies:
        body.x += spare
    return placed


def _edges(links: Sequence[Link]) -> list[Edge]:
    return [(link.source, link.target, link.output) for link in links]


def _ranked(scene: Scene) -> tuple[list[Link], list[int]]:
    """Return the links to draw, and the layer of each box.

    If the links would have too many bends in total, long links are left out. The box at the end of
    such a link then gets a line of text, which names what the box reads.
    """
    rank = ranks(len(scene.boxes), _edges(scene.links), scene.first, scene.last)
    spans = [rank[link.target] - rank[link.source] for link in scene.links]
    if sum(spans) <= BENDS:
        return scene.links, rank
    drawn = []
    for link, span in zip(scene.links, spans, strict=True):
        if span <= LONG or scene.boxes[link.target].bodies:
            drawn.append(link)
            continue
        box = scene.boxes[link.target]
        source = scene.boxes[link.source]
        name = source.lines[0] if source.kind == "operation" and source.lines else source.title
        box.lines = (*box.lines, f"reads {name}")
    return drawn, rank


def _rows(
    layering: Layered, placed: list[Placed], backs: int
) -> tuple[list[float], list[float], float]:
    """Return the y coordinates of the top and bottom of each layer, and the total height.

    `placed` holds the boxes with their heights. `backs` is the number of back edges; there is
    room for their lines after each layer that contains a pin or a result.
    """
    tops, bottoms = [], []
    y = 0.0
    for layer in layering.layers:
        high = max((placed[v].height for v in layer if v < layering.count), default=0.0)
        tops.append(y)
        bottoms.append(y + high)
        around = {placed[v].box.kind for v in layer if v < layering.count} & {"pin", "result"}
        y += high + RISE + (TRACK * backs if backs and around else 0.0)
    return tops, bottoms, bottoms[-1] if bottoms else 0.0


def _line(
    link: Link,
    route: list[int],
    placed: list[Placed],
    centres: list[float],
    rank: list[int],
    tops: list[float],
    bottoms: list[float],
) -> Line:
    source, target = placed[link.source], placed[link.target]
    points = [(_exit(source, link.output), source.y + source.height)]
    points.append((points[0][0], bottoms[rank[link.source]]))
    for step, bend in enumerate(route, start=rank[link.source] + 1):
        points += [(centres[bend], tops[step]), (centres[bend], bottoms[step])]
    x = _entry(target, link)
    points += [(x, tops[rank[link.target]]), (x, target.y)]
    return Line(tuple(points))


def _exit(placed: Placed, output: int) -> float:
    """The horizontal position at which the link of output `output` leaves a box."""
    pin = placed.box.exits.get(output)
    if pin is not None:
        return placed.x + _pin_middle(placed, pin)
    return placed.x + placed.width * (output + 1) / (placed.box.n_outputs + 1)


def _entry(placed: Placed, link: Link) -> float:
    """The x coordinate at which a link enters a box.

    This is above the pin of the body to which the link leads. In a box without pins, the links are
    distributed evenly over the width.
    """
    if placed.box.entries:
        return placed.x + _pin_middle(placed, placed.box.entries[link.entry])
    count = placed.box.n_links
    return placed.x + placed.width * (link.entry + 1) / (count + 1)


def _pin_middle(item: Placed, pin: tuple[int, int]) -> float:
    body = item.bodies[pin[0]]
    box = body.boxes[pin[1]]
    return body.x + box.x + box.width / 2


def _back_lines(scene: Scene, placed: list[Placed], right: float) -> tuple[list[Line], float]:
    """Lay out the back edges, each on its own track to the right of all boxes.

    Return the lines, and the width that the tracks need.
    """
    if not scene.backs:
        return [], 0.0
    # The back edges that end farthest to the left get the outer tracks, so that fewer lines cross.
    order = sorted(scene.backs, key=lambda back: -placed[back[1]].x)
    lines = []
    for number, (result, parameter) in enumerate(order, start=1):
        start, end = placed[result], placed[parameter]
        x, track = right + GAP / 2 + TRACK * number, TRACK * number + 4
        out = start.x + start.width * 0.75
        into = end.x + end.width * 0.75
        low, high = start.y + start.height + track, end.y - track
        points = (
            (out, start.y + start.height),
            (out, low),
            (x, low),
            (x, high),
            (into, high),
            (into, end.y),
        )
        lines.append(Line(points, back=True))
    return lines, GAP + TRACK * len(order)
