"""The content of a drawing: boxes with text, links between boxes, bodies inside their owners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from irloop.drawing.port_words import fed, given, input_label
from irloop.drawing.text import clipped
from irloop.graph.describe import attributes, constant
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import TensorType
from irloop.graph.walk import all_nodes, node_path
from irloop.progress import counted

__all__ = ["Box", "Link", "Scene", "Style", "scene_of"]

#: Maximum number of characters per line of a box, and of lines for attributes or runtime
#: information.
LINE, LINES = 44, 6

#: Maximum depth of nesting that is drawn; deeper bodies would be too small to see.
DEEPEST = 30


@dataclass(frozen=True, slots=True)
class Style:
    """What to show: shapes, element types, runtime information, and bodies down to `depth`.

    At most `limit` operations are drawn: bodies are omitted first, the deepest ones before the
    others, then all operations after the first `limit`. A note in the drawing states what is
    omitted. `marks` has the paths of highlighted nodes as keys, and "new" or "gone" as values.
    """

    shapes: bool = True
    types: bool = True
    info: bool = False
    depth: int | None = None
    limit: int = 1000
    marks: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Box:
    """A rectangle with a title and text; the bodies of an operation are drawn inside.

    If bodies are drawn, a link to an input or from an output is attached to a box inside a body.
    This point is called a pin. A pin is a pair: the number of the body, and the number of the box
    in that body. `entries` lists the pins of the input links, in the order of the links. `exits`
    maps output numbers to pins.
    """

    kind: str
    title: str
    lines: tuple[str, ...] = ()
    path: str = ""
    mark: str = ""
    n_outputs: int = 1
    n_links: int = 0
    bodies: list[Scene] = field(default_factory=list)
    entries: list[tuple[int, int]] = field(default_factory=list)
    exits: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A link: input number `entry` of box `target` is output number `output` of box `source`."""

    source: int
    output: int
    target: int
    entry: int


@dataclass(slots=True)
class Scene:
    """The boxes of one graph, in executable order.

    `first` and `last` give the layer (row) of each box at the top and at the bottom. In `first`,
    layer 0 is the topmost. In `last`, 0 is the first layer below all boxes that are not in `last`.
    `backs` holds the back edges, each from the box of a result to the box of a parameter. All three
    refer to boxes by their position in `boxes`.
    """

    label: str = ""
    boxes: list[Box] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    backs: list[tuple[int, int]] = field(default_factory=list)


def scene_of(graph: Graph, style: Style) -> Scene:
    """The scene of a model's graph."""
    depth = _depth(graph, style)
    return _Builder(graph, style, depth).build()


def _depth(graph: Graph, style: Style) -> int:
    """Return the depth down to which bodies are drawn; 0 means only the graph itself.

    It is the largest depth that exceeds neither the limits of `style` nor `DEEPEST`.
    """
    counts: list[int] = []
    level = [graph]
    while level and (style.depth is None or len(counts) <= style.depth):
        counts.append(sum(len(item) for item in level))
        level = [body.graph for item in level for node in item.nodes for body in node.bodies]
    while len(counts) > 1 and (sum(counts) > style.limit or len(counts) > DEEPEST):
        counts.pop()
    return len(counts) - 1


class _Builder:
    """Builds the scene of one graph."""

    def __init__(self, graph: Graph, style: Style, depth: int, body: Body | None = None) -> None:
        self.graph = graph
        self.style = style
        self.depth = depth
        self.body = body
        self.scene = Scene("" if body is None else body.label)
        #: The box and output that produce a value.
        self.made: dict[Value, tuple[int, int]] = {}

    def build(self) -> Scene:
        """The scene of the top-level graph."""
        for node in self.graph.parameters:
            self._add(node, Box("parameter", node.name, self._typed(node.outputs[0])))
        self._add_nodes()
        for node in self.graph.results:
            value = node.inputs[0]
            lines = () if value is None else self._typed(value)
            self._read(self._add(node, Box("result", node.name, lines)), node.inputs)
        return self.scene

    def build_body(self, node: Node, pins: list[int]) -> tuple[dict[int, int], dict[int, int]]:
        """Build the scene of a body of `node`; return the boxes of its inputs and outputs.

        These boxes are called pins. The first dictionary maps the position of an input of `node` to
        the number of its pin; the second does the same for outputs.

        `pins` lists the positions of further inputs to draw, although no body uses them.
        """
        body = self.body
        assert body is not None
        ports = body.ports
        mapped = {port.external for port in ports.inputs} | set(pins)
        entries = {
            position: self._pin(input_label(node, position), layer=0)
            for position in sorted(mapped)
            if position < len(node.inputs)
        }
        for index, parameter in enumerate(self.graph.parameters):
            port = ports.by_parameter.get(index)
            words = fed(port, index == ports.iteration)
            added = self._add(
                parameter,
                Box("parameter", parameter.name, (words, *self._typed(parameter.outputs[0]))),
            )
            self.scene.first[added] = 1
            if port is not None and port.external in entries:
                self._link(entries[port.external], 0, added, 0)
        first = len(self.scene.boxes)
        self._add_nodes()
        results = []
        for index, result in enumerate(self.graph.results):
            words = "goes on while true" if index == ports.condition else ""
            value = result.inputs[0]
            typed = () if value is None else self._typed(value)
            lines = tuple(filter(None, (words, *typed)))
            added = self._add(result, Box("result", result.name, lines))
            self._read(added, result.inputs)
            self.scene.last[added] = 0
            results.append(added)
        exits = {}
        for out in sorted(ports.outputs, key=lambda item: item.external):
            label = (f"output {out.external}", given(out, body.label))
            pin = exits[out.external] = self._pin(label, layer=None)
            self._link(results[out.result], 0, pin, 0)
        parameters = first - len(self.graph.parameters)
        self.scene.backs = [
            (results[port.result], parameters + port.parameter) for port in ports.carried
        ]
        return entries, exits

    def _pin(self, lines: tuple[str, ...], layer: int | None) -> int:
        title, *rest = lines
        number = len(self.scene.boxes)
        self.scene.boxes.append(
            Box("pin", title, tuple(clipped(line, LINE) for line in rest if line))
        )
        if layer is None:
            self.scene.last[number] = 1
        else:
            self.scene.first[number] = layer
        return number

    def _add(self, node: Node, box: Box) -> int:
        number = len(self.scene.boxes)
        box.path = node_path(node)
        box.title = clipped(box.title, LINE)
        box.lines = tuple(clipped(line, LINE) for line in box.lines)
        box.mark = self.style.marks.get(box.path, "")
        box.n_outputs = max(1, len(node.outputs))
        self.scene.boxes.append(box)
        for value in node.outputs:
            self.made[value] = (number, value.index)
        return number

    def _link(self, source: int, output: int, target: int, entry: int) -> None:
        self.scene.links.append(Link(source, output, target, entry))
        self.scene.boxes[target].n_links += 1

    def _read(self, target: int, inputs: tuple[Value | None, ...]) -> None:
        drawn = [self.made[value] for value in inputs if value in self.made]
        for entry, (source, output) in enumerate(drawn):
            self._link(source, output, target, entry)

    def _add_nodes(self) -> None:
        left_out = max(0, len(self.graph) - self.style.limit)
        count = len(self.graph) - left_out
        for node in counted("operations", islice(self.graph.nodes, count), count, every=16):
            if isinstance(node.op, Constant):
                self._add_constant(node)
            elif node.bodies:
                self._add_owner(node)
            else:
                at = self._add(node, Box("operation", node.op.label, self._lines(node)))
                self._read(at, node.inputs)
        if left_out:
            note = f"{left_out} more operations are not drawn"
            self.scene.boxes.append(Box("note", note, ("the limit can be raised",)))

    def _add_constant(self, node: Node) -> None:
        """Draw a box for a constant if it is itself a result.

        Other constants have no box of their own.
        """
        assert isinstance(node.op, Constant)
        if node.outputs[0].is_output:
            lines = (constant(node.op), *self._typed(node.outputs[0]))
            self._add(node, Box("constant", node.name, lines))

    def _add_owner(self, node: Node) -> None:
        box = Box("owner", node.op.label, self._lines(node))
        own = self._add(node, box)
        if not self.depth:
            inside = sum(1 for body in node.bodies for _ in all_nodes(body.graph))
            box.kind = "operation"
            box.lines = (*box.lines, f"{inside} operations in bodies, not drawn")
            self._read(own, node.inputs)
            return
        mapped = {port.external for body in node.bodies for port in body.ports.inputs}
        alone = [k for k, v in enumerate(node.inputs) if v is not None and k not in mapped]
        for number, body in enumerate(node.bodies):
            inner = _Builder(body.graph, self.style, self.depth - 1, body)
            entries, exits = inner.build_body(node, [] if number else alone)
            box.bodies.append(inner.scene)
            for external, pin in exits.items():
                box.exits.setdefault(external, (number, pin))
            for external, pin in entries.items():
                value = node.inputs[external]
                if value in self.made:
                    source, output = self.made[value]
                    self._link(source, output, own, len(box.entries))
                    box.entries.append((number, pin))

    def _lines(self, node: Node) -> tuple[str, ...]:
        rows = [node.name]
        rows += _few(f"{key} = {value}" for key, value in attributes(node).items())
        if not node.bodies:
            rows += _few(_constant_inputs(node))
        rows += [line for value in node.outputs for line in self._output(node, value)]
        if self.style.info:
            rows += _few(f"{key}: {value}" for key, value in node.info.items())
        return tuple(rows)

    def _output(self, node: Node, value: Value) -> tuple[str, ...]:
        number = f"{value.index}: " if len(node.outputs) > 1 else ""
        return tuple(f"→ {number}{line}" for line in self._typed(value))

    def _typed(self, value: Value) -> tuple[str, ...]:
        """The type and shape of a value as one line, without what the style hides.

        There is no line if the style hides both.
        """
        style, type = self.style, value.type
        if not isinstance(type, TensorType):
            return (str(type),) if style.types else ()
        text = (str(type.element) if style.types else "") + (
            str(type.shape) if style.shapes else ""
        )
        return (text,) if text else ()


def _few(lines: Iterator[str]) -> list[str]:
    rows = list(lines)
    return rows if len(rows) <= LINES else [*rows[: LINES - 1], f"… {len(rows) - LINES + 1} more"]


def _constant_inputs(node: Node) -> Iterator[str]:
    for position, value in enumerate(node.inputs):
        op = None if value is None else value.producer.op
        if isinstance(op, Constant):
            yield f"input {position} = {constant(op)}"
