"""Options that several commands have."""

from __future__ import annotations

import re
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click

from irloop.graph.convert_options import ConvertOptions, Options, WriteOptions, flag_of

from .completion import engines, files, input_names, releases, settings
from .console import Command, console_of
from .files import write_whole, writer_for
from .limits import size
from .names import ArraysPath

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import Field

__all__ = [
    "comparison_options",
    "conversion_options",
    "dims_option",
    "format_option",
    "input_type_options",
    "lengths_option",
    "memory_option",
    "page_option",
    "run_options",
    "taken",
    "weights_option",
]

Group = TypeVar("Group", bound=Options)


def weights_option(name: str = "weights") -> Callable[[Command], Command]:
    """Add the option for the weights file of an IR, as parameter `name`."""
    return click.option(
        "--bin",
        name,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="The weights of an IR.  [default: the .bin of the same name]",
    )


def by_name(
    parse: Callable[[str], Any], what: str, *, for_all: bool = False
) -> Callable[..., dict[str, Any]]:
    """Return a callback that reads values by name, from strings such as ``batch=4``.

    `parse` reads the value, and returns None if it is not `what`. With `for_all`, a value without a
    name gets the name "".
    """

    def read(
        context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
    ) -> dict[str, Any]:
        values = {}
        for text in texts:
            name, equals, value = text.rpartition("=")
            is_named = bool(name and equals) or (for_all and not equals)
            values[name] = parse(value) if is_named else None
            if values[name] is None:
                raise click.BadParameter(f"{text!r} is not {what}")
        return values

    return read


def _number(text: str, digits: int = 18) -> int | None:
    return int(text) if re.fullmatch(rf"\d{{1,{digits}}}", text) else None


def _shape(text: str) -> list[int | None] | None:
    # Imported late, because few commands are given shapes.
    from irloop.graph.input_types import named_shape

    found = named_shape(f"input={text}")
    return None if found is None else found[1]


def format_option(
    styles: Sequence[str] = ("text", "json"), help: str = ""
) -> Callable[[Command], Command]:
    """Add the option --format, the format of what goes to stdout, as parameter `style`.

    It is read before the other options, so that an error in these has this format, too.
    """
    return click.option(
        "--format",
        "style",
        type=click.Choice(styles),
        default="text",
        show_default=True,
        is_eager=True,
        callback=_set_style,
        help=help or None,
    )


def _set_style(context: click.Context, parameter: click.Parameter, style: str) -> str:
    if style != "text":
        console_of(context).style = style
    return style


def dims_option(command: Command) -> Command:
    """Add the option ``--dim NAME=N``, the size of a dynamic dimension, as parameter `dims`."""
    return click.option(
        "--dim",
        "dims",
        metavar="NAME=N",
        multiple=True,
        callback=by_name(_number, "a size such as batch=4"),
        help="The size of a dynamic dimension, as in batch=4; ?=4 sets all without a name.",
    )(command)


def _by_input(
    name: str,
    parse: Callable[[str], Any],
    what: str,
    *,
    metavar: str,
    help: str,
    for_all: bool = False,
) -> Callable[[Command], Command]:
    """An option that sets something of inputs by their names (see `by_name`), once or more."""
    return click.option(
        *name.split(),
        metavar=metavar,
        shell_complete=settings,
        multiple=True,
        callback=by_name(parse, what, for_all=for_all),
        help=help,
    )


def _word(text: str) -> str | None:
    return text.strip() or None


def input_type_options(command: Command) -> Command:
    """Add options for shapes and element types of inputs, as parameters `shapes` and `types`."""
    shape = _by_input(
        "--shape shapes",
        _shape,
        "a shape such as x=1,3,224,224",
        metavar="NAME=DIMS",
        help="Another shape for an input, as in x=1,3,224,224; ? is a dynamic dimension.",
    )
    element = _by_input(
        "--type types",
        _word,
        "an element type such as x=f32",
        metavar="NAME=TYPE",
        help="The element type of an input whose type is dynamic, as in x=f32.",
    )
    return shape(element(command))


def lengths_option(command: Command) -> Command:
    """Add the option for the lengths of sequence inputs, as parameter `lengths`."""
    return _by_input(
        "--length lengths",
        lambda text: _number(text, 6),
        "a number of tensors such as x=3",
        metavar="NAME=COUNT",
        help="How many tensors a sequence or optional input holds, as in x=3; an IR has an input "
        "for each.",
    )(command)


def conversion_options(command: Command) -> Command:
    """Add the options for `ConvertOptions` and `WriteOptions`, as parameters of their names."""
    for record in (WriteOptions, ConvertOptions):
        types = record.attribute_types()
        for item in reversed(record.all()):
            if item.metadata["help"]:
                command = _option_of(item, types[item.name])(command)
    return input_type_options(lengths_option(preprocessing_options(command)))


def preprocessing_options(command: Command) -> Command:
    """Add what is put before inputs: `layout`, `reverse_channels`, `mean` and `scale`."""
    options = (
        _by_input(
            "--layout",
            _word,
            "a layout",
            metavar="[NAME=]FROM->TO",
            help="Take inputs in another layout, as in nchw->nhwc; nchw alone names the axes.",
            for_all=True,
        ),
        click.option(
            "--reverse-channels",
            metavar="NAME|all",
            shell_complete=input_names,
            multiple=True,
            callback=lambda _, __, names: ["" if name == "all" else name for name in names],
            help="Reverse the 3 channels (RGB, BGR) of an input, or of all.",
        ),
        _by_input(
            "--mean",
            _numbers,
            "numbers such as 123.7,116.3,103.5",
            metavar="[NAME=]NUMBERS",
            help="Subtract a number, or one for each channel: x=123.7,116.3,103.5, or for all "
            "inputs without NAME.",
            for_all=True,
        ),
        _by_input(
            "--scale",
            _numbers,
            "numbers such as 255",
            metavar="[NAME=]NUMBERS",
            help="Divide by a number, or one for each channel, after --mean.",
            for_all=True,
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(part) for part in text.strip("[]() ").split(",")]
    except ValueError:
        return None


def _option_of(entry: Field[Any], type: Any) -> Callable[[Command], Command]:
    """Make the option for a field with this type."""
    choices = (type,) if get_origin(type) is Literal else get_args(type) or (type,)
    kind = next(choice for choice in choices if choice is not NoneType)
    how: dict[str, Any] = {"type": kind, "metavar": entry.metadata["metavar"]}
    if kind is bool:
        how = {"is_flag": True}
    elif kind is int:
        how["type"] = click.IntRange(min=entry.metadata["least"])
    elif get_origin(kind) is Literal:
        how["type"] = click.Choice(get_args(kind))
    if entry.name == "target":
        how["shell_complete"] = releases
    if isinstance(entry.default, str):
        how |= {"default": entry.default, "show_default": True}
    return click.option(flag_of(entry), entry.name, help=entry.metadata["help"], **how)


def taken(record: type[Group], options: dict[str, Any]) -> Group:
    """Move the options of a record out of those that a command received."""
    found = {item.name: options.pop(item.name) for item in record.all()}
    return record(**{name: value for name, value in found.items() if value})


def comparison_options(command: Command) -> Command:
    """Add options for tolerances, the time limit of a run, and the format (`style`)."""
    nearness = click.FloatRange(min=0)
    options = (
        click.option(
            "--rtol", type=nearness, help="The relative tolerance.  [default: by element type]"
        ),
        click.option(
            "--atol", type=nearness, help="The absolute tolerance.  [default: by element type]"
        ),
        click.option(
            "--seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=60.0,
            show_default=True,
            help="The time limit of one run of a model.",
        ),
        format_option(),
    )
    for option in reversed(options):
        command = option(command)
    return command


def page_option(command: Command) -> Command:
    """Add the option --report FILE.html, which also writes the result as an HTML page.

    The command receives the file name as the parameter `page`; None without the option.
    """
    return click.option(
        "--report",
        "page",
        metavar="FILE.html",
        callback=_page,
        shell_complete=files,
        help="Write the result as a page for browsers as well, with pictures of both models.",
    )(command)


def _page(context: click.Context, parameter: click.Parameter, file: str | None) -> str | None:
    if file is not None and not context.resilient_parsing:
        writer_for(file, {".html": write_whole, ".htm": write_whole}, "pages are")
    return file


def memory_option(command: Command) -> Command:
    """Add the option `--max-memory` for the memory limit of an engine's process.

    It replaces the option of the same name that all commands have. The command receives the limit
    in bytes as the parameter `max_memory`. A limit set by the user also applies to irloop's own
    process.
    """
    params: list[click.Parameter] = getattr(command, "__click_params__", [])
    params[:] = [param for param in params if "--max-memory" not in param.opts]
    return click.option(
        "--max-memory",
        callback=size,
        metavar="SIZE",
        help="The memory limit of an engine's process, as in 500M or 2G. Linux only.  "
        "[default: 2G, and 8 times the size of the files]",
    )(command)


def run_options(command: Command) -> Command:
    """Add the options for the inputs, the engines and the limits of a comparison.

    These are the parameters `inputs`, `engines`, `max_iterations` and `max_memory`.
    """
    return _inputs(_engines(_iterations(memory_option(command))))


def _inputs(command: Command) -> Command:
    return click.option(
        "-i",
        "--inputs",
        metavar="FILE",
        multiple=True,
        type=ArraysPath(),
        help="A .npz or .npy with inputs for the check, as for 'irloop run'; repeatable.  "
        "[default: generated]",
    )(command)


def _iterations(command: Command) -> Command:
    return click.option(
        "--max-iterations",
        type=click.IntRange(min=1),
        help="How often each loop may run in the built-in executor; engines have no such limit.  "
        "[default: 200000]",
    )(command)


def _engines(command: Command) -> Command:
    return click.option(
        "--engines",
        metavar="auto|NAME,NAME,...",
        shell_complete=engines,
        default="auto",
        show_default=True,
        help="The engines that run the models: numpy (built in), onnxruntime, openvino, "
        "onnx-reference, module:function. auto: numpy and each installed engine on its own format.",
    )(command)
