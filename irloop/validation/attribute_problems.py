"""Finds missing, unknown and invalid attributes of the layers in an OpenVINO IR.

The operation class of a layer determines which attributes the layer may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from irloop.dialects.attributes import Attribute, attributes_of
from irloop.dialects.openvino.opsets import opset_of
from irloop.formats.openvino import problems
from irloop.formats.openvino.attributes import (
    INTEGER,
    NO_SUCH_WORD,
    NUMBER,
    UNREADABLE,
    parse_bool,
    parse_choice,
    parse_items,
)
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import attribute_number
from irloop.formats.openvino.places import at_data, describe
from irloop.formats.openvino.problems import Problem
from irloop.formats.openvino.texts import ELEMENT_NAMES

__all__ = ["Operation", "attribute_problems", "operation_of"]


class Operation(NamedTuple):
    """The properties of an operation that validation rules use.

    `inputs` is its minimum and maximum number of inputs (None: no limit).
    """

    label: str
    type: str
    inputs: tuple[int, int | None]
    attributes: dict[str, Attribute]


#: Types that have their own rules; no class describes their attributes.
_PLAIN = frozenset({"Const", "Parameter", "Result"})
_INTEGERS = frozenset({"int", "ints"})
_NUMBERS = frozenset({"int", "float", "ints", "floats"})


@cache
def operation_of(type_name: str, version: str) -> Operation | None:
    """Return the description of an OpenVINO operation; None if irloop has no class for it.

    `version` is the `version` attribute of the layer, such as ``opset7``. The arity and the
    attributes are those of the class of the operation in that opset.
    """
    from irloop.dialects.openvino import OPENVINO

    opset = opset_of(version, type_name)
    cls = None if opset is None else OPENVINO.find(type_name, opset)
    if cls is None:
        return None
    return Operation(f"{cls.type}-{cls.since}", cls.type, cls.arity, attributes_of(cls))


def attribute_problems(nets: Iterable[NetIndex]) -> Iterator[Problem]:
    """Yield the problems of the attributes of all layers.

    An Assign to a variable that no ReadValue reads is a problem, too.
    """
    # Many layers are equal, so equal type, version and attributes are checked only once.
    sound: set[tuple[object, ...]] = set()
    # Equal layers often share their attributes, and then even the comparison is not needed.
    seen: set[tuple[str, str, int]] = set()
    for index in nets:
        for layer in index.net.layers:
            if layer.type in _PLAIN or layer.type is None or layer.version is None:
                continue
            shared = layer.type, layer.version, id(layer.data)
            if shared in seen:
                continue
            key = (layer.type, layer.version, *layer.data.items())
            wrong = [] if key in sound else list(_problems(layer, layer.type, layer.version))
            if not wrong:
                sound.add(key)
                seen.add(shared)
            yield from wrong
        yield from _lost_variables(index.net.layers)


def _lost_variables(layers: list[Layer]) -> Iterator[Problem]:
    """A problem for each Assign to a variable that no ReadValue reads."""
    assigns = [layer for layer in layers if layer.type == "Assign"]
    read = {layer.data.get("variable_id") for layer in layers if layer.type == "ReadValue"}
    for layer in assigns:
        name = layer.data.get("variable_id")
        if name is not None and name not in read:
            yield Problem(
                "IRL115",
                at_data(layer, "variable_id"),
                f"{describe(layer)} sets a variable that no ReadValue reads",
                "the variable_id of a ReadValue",
                repr(name),
                fix="correct the name",
            )


#: Attributes that Model Optimizer of 2020 wrote without a meaning, by operation; their values are
#: zeros.
_LEFTOVERS = frozenset({("Convolution", "output_padding"), ("GroupConvolution", "output_padding")})


def _is_leftover(type_name: str, name: str, text: str) -> bool:
    return (type_name, name) in _LEFTOVERS and not text.strip("0, ")


def _problems(layer: Layer, type_name: str, version: str) -> Iterator[Problem]:
    operation = operation_of(type_name, version)
    if operation is None:
        return
    for name, attribute in operation.attributes.items():
        if not attribute.required or name in layer.data:
            continue
        filled_in = "ones" if attribute.absent == "" else attribute.absent
        yield problems.no_attribute(layer, name, filled_in)
    for name, text in layer.data.items():
        known = operation.attributes.get(name)
        if known is None:
            if not _is_leftover(type_name, name, text):
                yield _unknown(layer, name, operation)
        else:
            yield from _value(layer, name, text, known)


def _unknown(layer: Layer, name: str, operation: Operation) -> Problem:
    names = ", ".join(operation.attributes) or "no attributes"
    return Problem(
        "IRL107",
        at_data(layer, name),
        f"{operation.label} has no attribute {name}, it is ignored",
        names,
        name,
        "a misspelling, or an attribute of another version of the operation",
        "correct or remove it",
    )


def _value(layer: Layer, name: str, text: str, attribute: Attribute) -> Iterator[Problem]:
    place = at_data(layer, name)
    what = f"{name} of {describe(layer)}"
    least, most = attribute.entries
    if least and not least <= len(parse_items(text)) <= (most or len(text)):
        yield Problem(
            "IRL115",
            place,
            f"{what} has the wrong number of entries",
            f"{least}" if most == least else f"{least} or more",
            repr(text),
            fix="correct the list",
        )
    if attribute.kind == "bool":
        if parse_bool(text) is None:
            yield Problem(
                "IRL114",
                place,
                f"{what} is not boolean and keeps its default",
                "true or false",
                repr(text),
                fix="write true or false",
            )
    elif attribute.words:
        # IRL111 reports names that are not element types.
        known = attribute.kind == "word" or text.lower() in ELEMENT_NAMES
        if known and parse_choice(attribute.words, text) is None:
            words = ", ".join(attribute.words)
            yield problems.bad_attribute(
                layer, name, NO_SUCH_WORD, expected=words, fix="write one of these"
            )
    elif attribute.kind in _NUMBERS:
        items = parse_items(text) if attribute.kind.endswith("s") else [text]
        for item in items:
            yield from _number(layer, name, item, attribute)


def _number(layer: Layer, name: str, text: str, attribute: Attribute) -> Iterator[Problem]:
    place = at_data(layer, name)
    what = f"{name} of {describe(layer)}"
    is_integer = attribute.kind in _INTEGERS
    parsed = attribute_number(text, is_integer=is_integer)
    if parsed is None:
        kind = INTEGER if is_integer else NUMBER
        yield problems.bad_attribute(layer, name, UNREADABLE, expected=kind)
        return
    number, rest = parsed
    if attribute.least is not None and float(number) < attribute.least:
        yield Problem(
            "IRL115",
            place,
            f"{what} is too small",
            f"{attribute.least} or more",
            number,
            fix="correct the number",
        )
    elif attribute.most is not None and float(number) > attribute.most:
        yield Problem(
            "IRL115",
            place,
            f"{what} is too large",
            f"{attribute.most} or less",
            number,
            fix="correct the number",
        )
    if rest:
        yield Problem(
            "IRL116",
            place,
            f"{what} is read only up to the first character that does not belong to a number",
            f"{number}, if that is meant",
            repr(text),
            fix=f"write {name} without anything after the number",
        )
