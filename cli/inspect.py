"""``irloop inspect``: show the content of a model, including bodies, port maps and back edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from irloop.diagnostics import one_line
from irloop.graph.describe import format_of
from irloop.progress import counted

from . import report_json
from .completion import files
from .console import common_options, console_of
from .files import lacks_weights, require_folder, write_whole, writer_for
from .names import ModelPath
from .options import format_option, weights_option

if TYPE_CHECKING:
    from irloop import Graph, Model, Node, Value
    from irloop.graph.outline import Group, Item

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop inspect model.xml
  irloop inspect model.onnx --depth 0
  irloop inspect model.xml --format json | jq .inputs
  irloop inspect model.xml --draw model.svg
"""


_PICTURES: dict[str, Literal["svg", "dot"]] = {".svg": "svg", ".dot": "dot"}


def _set_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        console_of(context).style = "json"


@click.command(
    "inspect", epilog=EPILOG, short_help="Show a model as a tree, and describe its loops."
)
@click.argument("model", type=ModelPath())
@weights_option()
@click.option("--depth", type=click.IntRange(min=0), help="Show bodies only down to this depth.")
@click.option(
    "--all",
    "every_copy",
    is_flag=True,
    help="Show every copy of a block of operations that repeats.",
)
@click.option(
    "--json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    hidden=True,
    callback=_set_json,
    help="The same as --format json.",
)
@format_option()
@click.option(
    "--draw",
    "picture",
    metavar="FILE",
    shell_complete=files,
    help="Write a picture instead: .svg for a browser, .dot for Graphviz.",
)
@click.option(
    "--draw-limit",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Draw at most this many operations; bodies are left out first.",
)
@common_options
@click.pass_context
def command(ctx: click.Context, /, model: str, **options: Any) -> None:
    """Show MODEL as a tree: inputs, outputs and operations, bodies indented.

    The inputs and outputs of each body, and its states, are described in words. Of a block of
    operations that repeats, such as the layers of a transformer, the first copy is shown; JSON has
    all operations.
    """
    from irloop import infer, read_model

    console = console_of(ctx)
    if options["picture"] is not None:
        writer_for(options["picture"], _PICTURES, "drawings are")
        require_folder(options["picture"])
    console.progress(f"reading {model}")
    absent = lacks_weights(model, options["weights"], console)
    loaded = read_model(model, options["weights"], without_weights=absent)
    if not absent:
        # Without weights less would be found than the file declares.
        infer(loaded)
    depth: int | None = options["depth"]
    if options["picture"] is not None:
        console.progress(f"drawing {model}")
        _draw(loaded, options["picture"], depth, options["draw_limit"])
        console.done()
        console.note(f"wrote {options['picture']}")
    elif console.style == "json":
        console.progress(f"describing {model}")
        tree = _tree(loaded, depth)
        source = loaded.source
        tree["file"] = None if source is None else console.named(source)
        text = report_json.dump(tree)
        console.done()
        click.echo(text)
    else:
        console.done()
        for line in _lines(loaded, depth, is_folded=not options["every_copy"]):
            click.echo(one_line(console.named(line)))


def _draw(model: Model, path: str, depth: int | None, limit: int) -> None:
    from irloop import draw

    style = writer_for(path, _PICTURES, "drawings are")
    write_whole(path, draw(model, style, depth=depth, limit=limit, info=True).rstrip("\n"))


def _lines(model: Model, depth: int | None, *, is_folded: bool) -> Iterator[str]:
    from irloop.graph.summary import summary_of

    name = f' "{model.graph.name}"' if model.graph.name else ""
    yield f"{model.source or '<model>'}: {format_of(model)}{name}"
    yield from (f"  {line}" for line in summary_of(model).lines())
    yield from (f"  {note.message}" for note in model.notes)
    yield "inputs"
    for index, value in enumerate(model.graph.inputs):
        yield f"  {index}  {value.name}  {value.type}"
    yield "outputs"
    for index, (name, value) in enumerate(_outputs(model)):
        yield f"  {index}  {name}  {value.type}"
    yield "operations"
    yield from _Operations(is_folded=is_folded).lines(model.graph, "  ", depth)


class _Operations:
    """The lines of operations; if `is_folded`, only the first copy of a repeated block is shown."""

    def __init__(self, *, is_folded: bool) -> None:
        self._is_folded = is_folded

    def lines(self, graph: Graph, indent: str, depth: int | None) -> Iterator[str]:
        """The lines of a graph, with bodies down to `depth`."""
        from irloop.graph.op import Constant
        from irloop.graph.outline import outline

        nodes = [node for node in graph.nodes if not isinstance(node.op, Constant)]
        if self._is_folded:
            found = outline([*graph.parameters, *nodes, *graph.results])
            borders = {*graph.parameters, *graph.results}
            yield from self._items([item for item in found if item not in borders], indent, depth)
        else:
            yield from self._items(nodes, indent, depth)

    def _items(self, items: Sequence[Item], indent: str, depth: int | None) -> Iterator[str]:
        from irloop.graph.outline import Group, members

        for part in items:
            if not isinstance(part, Group):
                yield from self._node(part, indent, depth)
                continue
            deeper = indent
            if len(part.copies) > 1:
                deeper = f"{indent}  "
                count = sum(1 for _ in members(part)) // len(part.copies)
                yield f"{indent}{len(part.copies)} times{_names(part)}, {count} operations each:"
            yield from self._items(part.copies[0], deeper, depth)

    def _node(self, node: Node, indent: str, depth: int | None) -> Iterator[str]:
        from .graph_text import attributes, iterations, operand, wires

        inputs = ", ".join(operand(value) for value in node.inputs)
        outputs = ", ".join(
            str(value.type) if value.name == node.name else f"{value.name} {value.type}"
            for value in node.outputs
        )
        settings = ", ".join(f"{key}={_short(value)}" for key, value in attributes(node).items())
        line = f'{indent}{node.op.label} "{node.name}" ({inputs}) -> {outputs}'
        yield f"{line}  {{{settings}}}" if settings else line
        inner = f"{indent}  "
        often = iterations(node)
        if often:
            yield f"{inner}{often}"
        for body in node.bodies:
            yield f"{inner}{body.label}"
            rows = list(wires(node, body))
            width = max((len(what) for what, _ in rows), default=0)
            for what, how in rows:
                yield f"{inner}  {what:<{width}}  {how}"
            if depth is None or depth > 0:
                deeper = None if depth is None else depth - 1
                yield from self.lines(body.graph, f"{inner}  ", deeper)


def _names(group: Group) -> str:
    first, last = group.names[0], group.names[-1]
    return f" ({first} to {last})" if first and last else ""


def _outputs(model: Model) -> Iterator[tuple[str, Value]]:
    for node, value in zip(model.graph.results, model.graph.outputs, strict=True):
        yield value.name if value.names else node.name, value


def _short(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _tree(model: Model, depth: int | None) -> dict[str, Any]:
    from irloop.graph.summary import summary_of

    graph = model.graph
    return {
        "schema": "irloop-inspect/1",
        "file": model.source,
        "dialect": model.dialect,
        "version": model.version,
        "opsets": model.opsets,
        "name": graph.name,
        "summary": summary_of(model).to_dict(),
        "inputs": [{"name": value.name, "type": str(value.type)} for value in graph.inputs],
        "outputs": [{"name": name, "type": str(value.type)} for name, value in _outputs(model)],
        "operations": _graph_tree(graph, depth),
    }


def _graph_tree(graph: Graph, depth: int | None) -> list[dict[str, Any]]:
    nodes: Iterable[Node] = graph.nodes
    if graph.owner is None:
        nodes = counted("operations", nodes, len(graph), every=64)
    return [_node_tree(node, depth) for node in nodes]


def _node_tree(node: Node, depth: int | None) -> dict[str, Any]:
    from .graph_text import attributes, iterations, wires

    deeper = None if depth is None else depth - 1
    tree: dict[str, Any] = {
        "name": node.name,
        "op": node.op.type or node.op.label,
        "version": node.op.label,
        "line": node.location.line,
        "layer_id": node.location.layer_id,
        "attributes": {key: _value(item) for key, item in attributes(node).items()},
        "inputs": [None if value is None else value.name for value in node.inputs],
        "outputs": [{"name": value.name, "type": str(value.type)} for value in node.outputs],
    }
    if node.bodies:
        tree["iterations"] = iterations(node)
        tree["bodies"] = [
            {
                "label": body.label,
                "wires": [{"what": what, "how": how} for what, how in wires(node, body)],
                "operations": [] if depth == 0 else _graph_tree(body.graph, deeper),
            }
            for body in node.bodies
        ]
    return tree


def _value(value: Any) -> Any:
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_value(part) for part in value]
    return str(value)
