"""Sets the shapes and element types that a user gives for inputs of a model, by input name."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from operator import index
from typing import SupportsIndex

from irloop.errors import UsageError, did_you_mean
from irloop.graph.model import Graph, Model, Value
from irloop.graph.types import ElementType, Shape, TensorType

__all__ = [
    "has_input",
    "input_called",
    "missing_options",
    "named_shape",
    "set_input_shapes",
    "set_input_types",
    "shape_option",
    "shapes_of",
]


def named_shape(text: str) -> tuple[str, list[int | None]] | None:
    """Parse a text such as ``x=1,3,?,-1`` to an input name and dimensions; None if it is malformed.

    ``?`` and -1 are unknown dimensions; ``x=`` is a scalar.
    """
    name, equals, dims = text.rpartition("=")
    dims = dims.strip("[] ")
    parts = [part.strip() for part in dims.split(",")] if dims else []
    if not name or not equals or not all(re.fullmatch(r"\d{1,18}|\?|-1", part) for part in parts):
        return None
    return name, [None if part in ("?", "-1") else int(part) for part in parts]


def shapes_of(shapes: Mapping[str, Shape | Sequence[int | None]]) -> dict[str, Shape]:
    """The shapes that the user gives by input name; None is an unknown dimension.

    Raises:
        UsageError: for a shape that is not a sequence of sizes.
    """
    made = {}
    for name, shape in shapes.items():
        is_sequence = isinstance(shape, Sequence) and not isinstance(shape, str | bytes)
        if isinstance(shape, Shape):
            made[name] = shape
        elif is_sequence and all(size is None or _is_size(size) for size in shape):
            made[name] = Shape.of(*shape)
        else:
            raise UsageError(
                f"the shape of input {name!r} is not a sequence of sizes",
                expected="such as [1, 3, None, None]; None is an unknown dimension",
                found=repr(shape)[:100],
            )
    return made


def shape_option(value: Value) -> str:
    """Return the command-line option that gives an input a shape.

    The option has N in place of each size that the user has to fill in.
    """
    shape = value.type.shape if isinstance(value.type, TensorType) else Shape(None)
    if shape.dims is None:
        return f"--shape {value.producer.name}=N,..."
    sizes = ",".join(str(dim) if isinstance(dim, int) else "N" for dim in shape.dims)
    return f"--shape {value.producer.name}={sizes}"


def missing_options(graph: Graph) -> str:
    """Return the command-line options that give the inputs of a model what their types lack.

    The options have N in place of each size, and f32 in place of each element type, that the user
    has to fill in. The text is empty if all types are known.
    """
    options = []
    for value in graph.inputs:
        if not isinstance(value.type, TensorType):
            continue
        if value.type.element is ElementType.DYNAMIC:
            options.append(f"--type {value.producer.name}=f32")
        if not value.type.shape.is_static:
            options.append(shape_option(value))
    return " ".join(options)


def set_input_shapes(
    model: Model, shapes: Mapping[str, Shape | Sequence[int | None]], *, keeps_fixed: bool = False
) -> None:
    """Refine the shapes of model inputs; None in a shape is an unknown dimension.

    The keys of `shapes` are names of input tensors or of input layers. An unknown dimension in the
    place of a fixed one is an error, unless `keeps_fixed`.

    Raises:
        UsageError: for a name that no input has, a shape that is not a sequence of sizes, or a
            shape that contradicts the model.
    """
    for name, wanted in shapes_of(shapes).items():
        value = input_called(model, name)
        refined = value.type.shape.refine(wanted) if isinstance(value.type, TensorType) else None
        if not isinstance(value.type, TensorType) or refined is None:
            raise _fixed(model, name, value, wanted)
        if not keeps_fixed and _loosens(value.type.shape, wanted):
            raise _fixed(model, name, value, wanted)
        value.type = TensorType(value.type.element, refined)


def set_input_types(model: Model, types: Mapping[str, str]) -> None:
    """Set the element types of inputs whose element type is dynamic.

    `types` maps the name of an input's tensor or layer to the name of an element type.

    Raises:
        UsageError: for a name that no input has, an unknown element type, or an input that already
            has another type.
    """
    for name, text in types.items():
        value = input_called(model, name)
        try:
            wanted = ElementType(text)
        except ValueError:
            message = f"no element type is called {text!r}"
            raise UsageError(message, expected="one such as f32, i64, boolean") from None
        known = value.type.element if isinstance(value.type, TensorType) else None
        if not isinstance(value.type, TensorType) or known not in (ElementType.DYNAMIC, wanted):
            raise UsageError(
                f"input {name!r} has an element type already",
                expected=str(value.type),
                found=str(wanted),
                fix="leave out the type of this input: only a dynamic type can be set",
            )
        value.type = TensorType(wanted, value.type.shape)


def _loosens(old: Shape, wanted: Shape) -> bool:
    """Return whether `wanted` has an unknown dimension where `old` has a fixed one."""
    pairs = zip(old.dims or (), wanted.dims or (), strict=False)
    return any(isinstance(dim, int) and not isinstance(new, int) for dim, new in pairs)


def _fixed(model: Model, name: str, value: Value, wanted: Shape) -> UsageError:
    """Make the error for a shape that would change fixed dimensions of an input."""
    source = model.source or ("model.onnx" if model.dialect == "onnx" else "model.xml")
    stem, suffix = os.path.splitext(os.path.basename(source))
    dims = ",".join(str(dim) if isinstance(dim, int) else "?" for dim in wanted.dims or ())
    parts = ("transform", source, "-o", f"{stem}-reshaped{suffix}", "--pass")
    command = shlex.join(["irloop", *parts, f"set_shape={name}={dims}"])
    return UsageError(
        f"input {name!r} cannot have that shape: its dimensions are fixed",
        expected=str(value.type),
        found=str(wanted),
        fix=f"change them, and what depends on them, with: {command}",
    )


def _is_size(item: object) -> bool:
    return isinstance(item, SupportsIndex) and not isinstance(item, bool) and index(item) >= 0


def input_called(model: Model, name: str, *, setting: str = "") -> Value:
    """The input whose layer or tensor has this name, which the user gave in `setting`.

    Raises:
        UsageError: when there is none.
    """
    for node in model.graph.parameters:
        if name in (node.name, *node.output.names):
            return node.output
    known = [node.name for node in model.graph.parameters]
    prefix = f"{setting}: " if setting else ""
    raise UsageError(
        f"{prefix}the model has no input {name!r}",
        expected=f"one of the inputs {', '.join(known)}",
        fix=did_you_mean(name, known),
    )


def has_input(model: Model, name: str) -> bool:
    """Return whether `name` is the layer name or a tensor name of an input of the model."""
    return any(name in (node.name, *node.outputs[0].names) for node in model.graph.parameters)
