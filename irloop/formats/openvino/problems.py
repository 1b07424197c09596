"""Makes the problems of layers and ports, with one wording for the reader and the validation rules.

A `Problem` describes an error in a file: the code of its rule, the place, a message and a fix. The
reader raises the first problem that prevents it from building the model; each validation rule
reports all problems with its code. Problems of edges are in `edge_problems`, those of port maps in
`port_map_problems`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.openvino import texts
from irloop.formats.openvino.document import Document, Extra, Layer, Port
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.places import (
    at_bytes,
    at_data,
    at_layer,
    at_net,
    at_port,
    describe,
    describe_bytes,
)
from irloop.graph.types import LARGEST_RANK
from irloop.opening import Path, RefusedFileError

__all__ = ["Problem"]


class Problem(NamedTuple):
    """One problem of a file.

    `code` is the code of the rule that reports it; `place` does not contain the name of the file.
    """

    code: str
    place: Location
    message: str
    expected: str = ""
    found: str = ""
    cause: str = ""
    fix: str = ""
    is_warning: bool = False

    def error(self, file: str) -> ReadError:
        """Make the error that the reader raises for this problem in `file`."""
        return ReadError(
            self.message,
            location=replace(self.place, file=file),
            code=self.code,
            expected=self.expected,
            found=self.found,
            cause=self.cause,
            fix=self.fix,
        )


# --- attributes of elements


def missing_attribute(place: Location, tag: str, name: str) -> Problem:
    """IRL103: an element lacks a mandatory attribute."""
    return Problem(
        "IRL103",
        place,
        f"{tag} has no {name}",
        expected=f"an attribute {name}",
        found="none",
        fix=f"add {name} to this {tag}",
    )


def malformed_integer(place: Location, name: str, text: str) -> Problem:
    """IRL104: an id, an offset, a size or a number of a port map is not an integer."""
    return Problem(
        "IRL104",
        place,
        f"{name} is not an integer that OpenVINO can read",
        expected="decimal digits",
        found=repr(text),
        fix=f"write {name} in decimal digits",
    )


def bad_version(document: Document) -> Problem:
    """IRL102: the version of the IR is none of 2 to 7, 10 and 11."""
    version = unsigned(document.version)
    is_old = version is not None and version < 10
    return Problem(
        "IRL102",
        at_net(document.net),
        "IR version is not supported",
        expected="version 2 to 7, 10 or 11",
        found="no version" if document.version is None else f"version {document.version!r}",
        cause="no release of OpenVINO wrote this version"
        if is_old
        else "the file was edited, or made by a release newer than this program",
        fix="convert the original model again with a newer tool" if is_old else "",
    )


# --- layers


def duplicate_layer(layer: Layer, first: Layer) -> Problem:
    """IRL105: an earlier layer of the net has the same id."""
    return Problem(
        "IRL105",
        at_layer(layer),
        f"layer id {layer.id} is already taken by {first.name!r} in line {first.line}",
        expected="an id of its own in this net",
        found=f"id {layer.id} twice",
        cause="two graphs were joined, or a layer was copied",
        fix="renumber one of the layers and the edges that refer to it",
    )


def no_result(index: NetIndex) -> Problem:
    """IRL108: a net has no Result."""
    owner = index.net.owner
    wrong = next(iter(index.of_type("result")), None)
    what = "the model" if owner is None else f"a body of {describe(owner)}"
    return Problem(
        "IRL108",
        at_net(index.net) if wrong is None else at_layer(wrong),
        f"{what} has no {'Result' if index.net.layers else 'layers'}",
        expected="at least one layer of type Result",
        found="none" if wrong is None else f"type {wrong.type!r}",
        cause="" if wrong is None else "the type must be spelled Result, capital R",
        fix="add a Result layer for each output" if wrong is None else 'write type="Result"',
        is_warning=owner is None and wrong is None and bool(index.net.layers),
    )


def misspelt_type(layer: Layer) -> Problem | None:
    """IRL108 to IRL110: the type is Constant, or is Const, Parameter or Result in another case.

    The result is None if the type is none of these. Only these types are case-sensitive.
    """
    if layer.type in ("Const", "Parameter", "Result"):
        return None
    kind = (layer.type or "").lower()
    if kind in ("const", "constant"):
        return Problem(
            "IRL110",
            at_layer(layer),
            "a constant must have the type Const",
            expected="Const",
            found=layer.type or "",
            cause="the class is called Constant, but the type in the file is Const",
            fix='write type="Const"',
        )
    if kind == "result":
        return Problem(
            "IRL108",
            at_layer(layer),
            "the type must be spelled Result",
            expected="Result",
            found=layer.type or "",
            fix='write type="Result"',
        )
    if kind == "parameter":
        return Problem(
            "IRL109",
            at_layer(layer),
            "the type must be spelled Parameter",
            expected="Parameter",
            found=f"{layer.type} {layer.version}",
            fix='write type="Parameter"',
        )
    return None


def number_of_inputs(layer: Layer, count: int, least: int, most: int | None) -> Problem:
    """IRL406: a layer has too few or too many connected inputs."""
    if most is None:
        expected = f"{least} or more"
    else:
        expected = str(least) if least == most else f"{least} to {most}"
    return Problem(
        "IRL406",
        at_layer(layer),
        f"{describe(layer)} has {count} connected input{'' if count == 1 else 's'}",
        expected=expected,
        found=str(count),
        cause="an edge is missing" if count < least else "there is an edge too many",
        fix="correct the edges",
    )


# --- ports


def duplicate_port(layer: Layer, ports: Sequence[Port]) -> Iterator[Problem]:
    """IRL106: a port has the id of an earlier port in `ports`.

    `ports` are either the input ports or the output ports of the layer.
    """
    seen: set[str] = set()
    for port in ports:
        if port.id is None or port.id not in seen:
            seen.add(port.id or "")
            continue
        yield Problem(
            "IRL106",
            at_port(layer, port),
            f"{describe(layer)} has two ports with id {port.id}",
            expected="an id of its own for each port",
            found=f"id {port.id} twice",
            fix="number inputs 0, 1, ... and outputs from there on, and correct the edges",
        )


def unknown_precision(layer: Layer, port: Port) -> Problem | None:
    """IRL111: the precision of an output port is not an element type; None if it is."""
    name = port.precision
    if name is None or name in texts.PRECISIONS:
        return None
    meant = name.upper() if name.upper() in texts.PRECISIONS else ""
    return Problem(
        "IRL111",
        at_port(layer, port),
        f"{describe(layer)} has an output of unknown precision",
        expected=meant or "a precision such as FP32, I64, BOOL",
        found=repr(name),
        fix=f'write precision="{meant}"' if meant else "write a known precision",
    )


def bad_dim(layer: Layer, port: Port, text: str) -> Problem | None:
    """IRL113: a `<dim>` cannot be read; None if it can."""
    problem = texts.dim_problem(text)
    if problem is None or problem == "sloppy":
        return None
    return Problem(
        "IRL113",
        at_port(layer, port),
        f"{describe(layer)} has a dim that is {problem}",
        expected="a number from 0 on, or -1",
        found=repr(text),
        fix="write -1 for a dynamic dimension" if text.startswith("?") else "correct it",
    )


def too_many_dims(layer: Layer, port: Port) -> Problem | None:
    """IRL113: a port has more dimensions than an array can have; None if it has not."""
    if len(port.dims) <= LARGEST_RANK:
        return None
    return Problem(
        "IRL113",
        at_port(layer, port),
        f"{describe(layer)} has a port with too many dimensions",
        expected=f"at most {LARGEST_RANK}",
        found=str(len(port.dims)),
        cause="no exporter writes such shapes, and no engine runs them",
    )


def open_input(layer: Layer, port: Port) -> Problem:
    """IRL204: an input port has no edge, and a port after it has one."""
    return Problem(
        "IRL204",
        at_port(layer, port),
        f"input port {port.id} of {describe(layer)} has no edge, but a later port has",
        expected="an edge to each input port up to the last connected one",
        found=f"no edge to port {port.id}",
        fix="connect the port",
    )


# --- types, shapes and constants in `data`


def no_data(layer: Layer) -> Problem:
    """IRL103: a Parameter has no `data`."""
    return Problem(
        "IRL103",
        at_layer(layer),
        f"{describe(layer)} has no data element",
        expected="data with shape and element_type",
        found="none",
        fix="add the data element with both attributes",
    )


def unknown_element_type(layer: Layer, name: str) -> Problem | None:
    """IRL111 if an attribute does not name an element type; None if it names one."""
    text = layer.data[name]
    # The bytes of a constant need an element type; `dynamic` and `undefined` are allowed only for
    # inputs.
    typeless = layer.type == "Const" and text.lower() in ("dynamic", "undefined")
    if text.lower() in texts.ELEMENT_NAMES and not typeless:
        return None
    meant = None if typeless else texts.PRECISIONS.get(text.upper())
    return Problem(
        "IRL111",
        at_data(layer, name),
        f"{describe(layer)} has an unknown {name}",
        expected=str(meant) if meant else "an element type such as f32, i64, boolean",
        found=repr(text),
        cause="the name of a precision, not of an element type" if meant else "",
        fix=f'write {name}="{meant}"' if meant else "write a known element type",
    )


def bad_shape(layer: Layer, name: str) -> Problem | None:
    """IRL112 if a shape cannot be read; None if it can be read or is absent."""
    text = layer.data.get(name)
    problem = None if text is None else texts.shape_problem(text)
    if text is None or problem is None:
        return None
    return Problem(
        "IRL112",
        at_data(layer, name),
        f"{describe(layer)} has a malformed {name}: {problem}",
        expected="numbers separated by commas, as in 1,3,224,224",
        found=repr(text),
        fix="correct the shape",
        is_warning=layer.type == "Parameter" and texts.parameter_shape(text) is not None,
    )


#: The attributes of a constant.
CONSTANT = ("element_type", "shape", "offset", "size")


def incomplete_constant(layer: Layer) -> Iterator[Problem]:
    """IRL305: yield a problem for each attribute that a constant lacks, and for a dynamic shape.

    A constant without any data element has one problem only.
    """
    if layer.data_line is None:
        yield _incomplete(
            layer, "no data element", "data with element_type, shape, offset and size"
        )
        return
    for name in CONSTANT:
        if name not in layer.data:
            yield _incomplete(layer, f"no {name}", f"an attribute {name}")
    text = layer.data.get("shape")
    if text is None or texts.shape_problem(text) is not None:
        return
    if texts.static_shape(text) is None:
        yield _incomplete(layer, f"the dynamic shape {text!r}", "numbers only")


def _incomplete(layer: Layer, what: str, expected: str) -> Problem:
    return Problem(
        "IRL305",
        at_data(layer),
        f"{describe(layer)} has {what}",
        expected=expected,
        found=", ".join(layer.data) or "none",
        fix="write element_type, a static shape, offset and size",
    )


def no_weights(layer: Layer, path: Path, error: Exception) -> Problem:
    """IRL301: the weights file cannot be opened, with this error."""
    reason = getattr(error, "strerror", None) or str(error)
    what, seen, cause = f"cannot be read: {reason}", reason, ""
    if isinstance(error, FileNotFoundError):
        what, seen = "does not exist", "no file"
        cause = "the .xml was copied or downloaded without its .bin"
    elif isinstance(error, RefusedFileError):
        what, seen, cause = reason, f"a file that {reason}", error.cause
    elif reason.startswith("this is "):  # `open_regular` describes a folder or a pipe this way
        what = reason.removeprefix("this ")
        seen = what.removeprefix("is ").removesuffix(", not a file")
    return Problem(
        "IRL301",
        at_data(layer),
        f"the weights file {os.fspath(path)} {what}",
        expected="the .bin that belongs to this .xml",
        found=seen,
        cause=cause,
        fix="put the .bin next to the .xml, or pass its path (--bin FILE)",
    )


def disguised_weights(layer: Layer, path: str, disguise: str, size: int) -> Problem:
    """Make the IRL301 problem for a weights file that does not hold weights.

    `disguise` names what the file is instead, an LFS pointer for example.
    """
    is_pointer = "LFS" in disguise
    return Problem(
        "IRL301",
        at_data(layer),
        f"the weights file {path} is {disguise}, not weights",
        expected="binary weights",
        found=f"{disguise} of {size} bytes",
        cause="the repository was cloned without Git LFS"
        if is_pointer
        else "the wrong file was given or downloaded",
        fix="run git lfs pull" if is_pointer else "give the .bin that belongs to this .xml",
    )


def outside_weights(
    layer: Layer, offset: int, size: int, available: int, blob: Extra | None = None
) -> Problem:
    """IRL302: a constant lies outside the weights file, which has `available` bytes.

    `blob` is the element of an old layer that names the bytes.
    """
    return Problem(
        "IRL302",
        at_bytes(layer, blob, "offset"),
        f"{describe_bytes(layer, blob)} lies outside the weights file",
        expected=f"bytes up to {available}",
        found=f"bytes {offset} to {offset + size}",
        cause="the .bin is truncated, or belongs to another model"
        if available
        else "the file is empty",
        fix="restore the .bin that was written together with this .xml",
    )


def too_few_bytes(layer: Layer, needed: int, size: int) -> Problem:
    """IRL303: a constant has fewer bytes than its elements need (`needed`)."""
    element, shape = layer.data["element_type"].lower(), texts.static_shape(layer.data["shape"])
    return Problem(
        "IRL303",
        at_data(layer, "size"),
        f"{describe(layer)} has fewer bytes than its shape needs",
        expected=f"{needed} bytes for {element}{list(shape or ())}",
        found=f"{size} bytes",
        fix="correct shape, element_type or size",
    )


def bad_strings(layer: Layer, table: str) -> Problem:
    """IRL303: the bytes of a string constant are not a table of strings.

    `table` describes the bytes for the error message.
    """
    return Problem(
        "IRL303",
        at_data(layer, "size"),
        f"{describe(layer)} is not a table of strings",
        expected="i32 count, i32 0, an i32 end offset for each string, then their bytes",
        found=table,
        cause="offset or size of another constant, or a damaged .bin",
        fix="restore the .bin that was written together with this .xml",
    )


def no_attribute(layer: Layer, name: str, instead: str | None = None) -> Problem:
    """IRL103: an operation lacks an attribute.

    `instead` is the value that OpenVINO and irloop assume for the missing attribute. The problem is
    then a warning. If `instead` is None, nothing is assumed and the problem is an error.
    """
    return Problem(
        "IRL103",
        at_data(layer),
        f"{describe(layer)} has no {name}",
        expected=f"an attribute {name}",
        found="none" if instead is None else f"none; OpenVINO and irloop assume {instead}",
        fix=f"add {name} to its data",
        is_warning=instead is not None,
    )


def bad_attribute(layer: Layer, name: str, what: str, *, expected: str, fix: str = "") -> Problem:
    """IRL115: the text of an attribute cannot be read.

    `name` is the attribute. The message is "NAME of LAYER WHAT", so `what` must be a predicate.
    """
    return Problem(
        "IRL115",
        at_data(layer, name),
        f"{name} of {describe(layer)} {what}",
        expected=expected,
        found=repr(layer.data[name]),
        fix=fix or f"write {expected}",
    )


# --- edges
