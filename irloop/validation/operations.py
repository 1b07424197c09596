"""What the attributes in `data` may be, by operation, and what is wrong with those of a file.

Names, kinds and arities come from the operation classes; the words an attribute may have, where
the class takes any text, from the specifications of the operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin

from irloop.diagnostics import Location
from irloop.formats.openvino.absent import ABSENT
from irloop.formats.openvino.numbers import attribute_number
from irloop.formats.openvino.places import at_data, describe
from irloop.formats.openvino.texts import ELEMENT_NAMES
from irloop.formats.openvino.xml import Layer
from irloop.graph.types import ElementType
from irloop.validation import availability

if TYPE_CHECKING:
    from irloop.validation.context import Context

__all__ = ["Attribute", "AttributeProblem", "Operation", "attribute_problems", "operation_of"]


class AttributeProblem(NamedTuple):
    """One thing wrong with an attribute; `code` is the rule that reports it."""

    code: str
    place: Location
    message: str
    expected: str = ""
    found: str = ""
    cause: str = ""
    fix: str = ""
    is_warning: bool = False


class Attribute(NamedTuple):
    """One attribute: "bool", "int", "float", "word", "element", "text" or a list of numbers.

    `words` are the values that a "word" or an "element" may have, `least` and `most` are the
    smallest and the largest number; `entries` are the smallest and the largest number of entries
    of a list.
    """

    kind: str
    required: bool
    words: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    entries: tuple[int, int | None] = (0, None)


class Operation(NamedTuple):
    """What validation knows of an operation: its inputs (smallest, largest) and attributes."""

    label: str
    type: str
    inputs: tuple[int, int | None]
    attributes: dict[str, Attribute]


_BROADCASTS = ("none", "numpy", "pdpd", "explicit", "bidirectional")
_REDUCTIONS = ("none", "sum", "prod", "min", "max", "mean", "sub")
#: Words by attribute, or by operation and attribute where the name alone does not tell.
_WORDS: dict[str, tuple[str, ...]] = {
    "auto_broadcast": _BROADCASTS,
    "auto_pad": ("explicit", "same_upper", "same_lower", "valid", "notset"),
    "rounding_type": ("floor", "ceil", "ceil_torch"),
    "pad_mode": ("constant", "edge", "reflect", "symmetric"),
    "box_encoding": ("corner", "center"),
    "shape_calculation_mode": ("sizes", "scales"),
    "coordinate_transformation_mode": (
        "half_pixel",
        "pytorch_half_pixel",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "align_corners",
    ),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"),
    "approximation_mode": ("erf", "tanh"),
    "aligned_mode": ("asymmetric", "half_pixel_for_nn", "half_pixel"),
    "padding_mode": ("zeros", "border", "reflection"),
    "negative_indices_mode": ("ignore_negative", "normalize"),
    "broadcast.mode": _BROADCASTS,
    "binaryconvolution.mode": ("xnor-popcount",),
    "deformablepsroipooling.mode": ("bilinear_deformable",),
    "depthtospace.mode": ("blocks_first", "depth_first"),
    "spacetodepth.mode": ("blocks_first", "depth_first"),
    "gridsample.mode": ("bilinear", "bicubic", "nearest"),
    "interpolate.mode": (
        "nearest",
        "linear",
        "linear_onnx",
        "cubic",
        "area",
        "bilinear_pillow",
        "bicubic_pillow",
    ),
    "fakeconvert.destination_type": ("f8e4m3", "f8e5m2"),
    "multinomial.convert_type": ("i32", "i64"),
    "pad.mode": ("constant", "edge", "reflect", "symmetric"),
    "psroipooling.mode": ("average", "bilinear"),
    "lstmcell.weights_format": ("fico", "icof", "ifco", "ifoc", "iofc"),
    "proposal.framework": ("", "tensorflow"),
    "roialign.mode": ("avg", "max"),
    "roipooling.method": ("max", "bilinear"),
    "round.mode": ("half_to_even", "half_away_from_zero"),
    "topk.mode": ("max", "min"),
    "topk.sort": ("index", "value", "none"),
    "mvn.eps_mode": ("inside_sqrt", "outside_sqrt"),
    "normalizel2.eps_mode": ("add", "max"),
    "scatterelementsupdate.reduction": _REDUCTIONS,
    "scatterndupdate.reduction": _REDUCTIONS,
}
#: Attributes that the specification gives a default and OpenVINO 2026.4 refuses the file without
#: (or crashes on it); measured by deleting every attribute of every operation.
_NEEDED = frozenset(
    [
        "avgpool.strides",
        "avgpool.dilations",
        "maxpool.strides",
        "maxpool.dilations",
        "col2im.strides",
        "col2im.dilations",
        "col2im.pads_begin",
        "col2im.pads_end",
        "deformableconvolution.group",
        "deformableconvolution.deformable_group",
        "depthtospace.block_size",
        "spacetodepth.block_size",
        "detectionoutput.num_classes",
        "psroipooling.group_size",
        "psroipooling.mode",
        "roipooling.spatial_scale",
        "bucketize.output_type",
        "shapeof.output_type",
        "stridedslice.begin_mask",
    ]
)
#: Entries of lists, at least and at most, that OpenVINO 2026.4 needs (some it reads unchecked).
_ENTRIES: dict[str, tuple[int, int | None]] = {
    "avgpool.strides": (1, None),
    "avgpool.dilations": (1, None),
    "maxpool.strides": (1, None),
    "maxpool.dilations": (1, None),
    "reorgyolo.stride": (1, None),
    "grucell.activations": (2, None),
    "lstmcell.activations": (3, None),
    "rnncell.activations": (1, None),
    "roipooling.output_roi": (2, 2),
    "col2im.strides": (2, 2),
    "col2im.dilations": (2, 2),
    "col2im.pads_begin": (2, 2),
    "col2im.pads_end": (2, 2),
    "extractimagepatches.sizes": (2, 2),
    "extractimagepatches.strides": (2, 2),
    "extractimagepatches.rates": (2, 2),
}
#: Smallest numbers by attribute, or by operation and attribute where not all operations have it.
_LEAST: dict[str, int] = {
    "deformable_group": 1,
    "group": 1,
    "pooled_h": 1,
    "pooled_w": 1,
    "roialignrotated.sampling_ratio": 0,
    "batchnorminference.epsilon": 0,
    "avgpool.pads_begin": 0,
    "avgpool.pads_end": 0,
    "interpolate.pads_begin": 0,
    "interpolate.pads_end": 0,
    "convolution.pads_begin": 0,
    "convolutionbackpropdata.pads_begin": 0,
    "groupconvolution.pads_begin": 0,
    "groupconvolutionbackpropdata.pads_begin": 0,
    "maxpool.pads_begin": 0,
    "maxpool.pads_end": 0,
    "lrn.size": 1,
    "proposal.post_nms_topn": 1,
    "regionyolo.coords": 0,
    "regionyolo.classes": 0,
    "regionyolo.num": 1,
    "background_class": -1,
    "matrixnms.keep_top_k": -1,
    "matrixnms.nms_top_k": -1,
    "multiclassnms.keep_top_k": -1,
    "multiclassnms.nms_top_k": -1,
    "multiclassnms.nms_eta": 0,
    "generateproposals.nms_eta": 1,
    "generateproposals.pre_nms_count": 1,
    "generateproposals.post_nms_count": 1,
    "experimentaldetectrondetectionoutput.post_nms_count": 0,
    "experimentaldetectrondetectionoutput.max_detections_per_image": 0,
    "experimentaldetectrongenerateproposalssingleimage.post_nms_count": 1,
    "experimentaldetectronroifeatureextractor.output_size": 0,
    "col2im.strides": 1,
    "col2im.dilations": 1,
    "col2im.pads_begin": 0,
    "col2im.pads_end": 0,
    "extractimagepatches.sizes": 1,
    "extractimagepatches.strides": 1,
    "extractimagepatches.rates": 1,
    "experimentaldetectronpriorgridgenerator.h": 0,
    "experimentaldetectronpriorgridgenerator.w": 0,
    "experimentaldetectrontopkrois.max_rois": 0,
    "deformablepsroipooling.spatial_bins_x": 1,
    "deformablepsroipooling.spatial_bins_y": 1,
}
_MOST: dict[str, int] = {"generateproposals.nms_eta": 1, "multiclassnms.nms_eta": 1}
#: Operations whose specification lets inputs be left out that OpenVINO 2026.4 does not do without.
_INPUTS: dict[str, int] = {"cumsum": 2}
#: What a type of indices or counts, which is one of these by default, may be.
_INDICES = (ElementType.I32, ElementType.I64)
#: Types that rules of their own look at; no class describes their attributes.
_PLAIN = frozenset({"Const", "Parameter", "Result"})
_INTEGERS = frozenset({"int", "ints"})
_NUMBERS = frozenset({"int", "float", "ints", "floats"})


@cache
def operation_of(type_name: str, version: str) -> Operation | None:
    """What is known of an operation in an opset; None when no class describes it."""
    from irloop.dialects.openvino import OPENVINO

    opset = availability.opset_of(version, type_name)
    cls: Any = None if opset is None else OPENVINO.find(type_name, opset)
    if cls is None:
        return None
    hints = cls.attribute_types()
    attributes = {
        item.metadata.get("name") or item.name: _attribute(
            cls.type, item.metadata.get("name") or item.name, hints[item.name], item.default
        )
        for item in fields(cls)
    }
    least, most = cls.arity
    arity = max(least, _INPUTS.get(cls.type.lower(), 0)), most
    return Operation(f"{cls.type}-{cls.since}", cls.type, arity, attributes)


def _attribute(type_name: str, name: str, hint: Any, default: Any) -> Attribute:
    own = f"{type_name.lower()}.{name}"
    required = default is MISSING or own in _NEEDED
    least = _LEAST.get(own, _LEAST.get(name))
    given = [item for item in get_args(hint) if item is not NoneType]
    if get_origin(hint) not in (tuple, Literal) and len(given) == 1:
        hint = given[0]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Attribute("word", required, tuple(str(item) for item in arguments))
    if origin is tuple:
        kind = {int: "ints", float: "floats"}.get(arguments[0], "text")
        return Attribute(kind, required, least=least, entries=_ENTRIES.get(own, (0, None)))
    words = _WORDS.get(own, _WORDS.get(name, ()))
    if hint is ElementType and (words or default in _INDICES):
        return Attribute("element", required, words or tuple(map(str, _INDICES)))
    if hint is str and words:
        return Attribute("word", required, words)
    names = {bool: "bool", int: "int", float: "float"}
    return Attribute(names.get(hint, "text"), required, least=least, most=_MOST.get(own))


def attribute_problems(context: Context) -> Iterator[AttributeProblem]:
    """Everything wrong with the attributes in `data` of all layers."""
    # Layers repeat each other: what is right once is right everywhere.
    sound: set[tuple[object, ...]] = set()
    for index in context.nets:
        for layer in index.net.layers:
            if layer.type in _PLAIN or layer.type is None or layer.version is None:
                continue
            key = (layer.type, layer.version, *layer.data.items())
            if key in sound:
                continue
            problems = list(_problems(layer, layer.type, layer.version))
            if not problems:
                sound.add(key)
            yield from problems
        yield from _lost_variables(index.net.layers)


def _lost_variables(layers: list[Layer]) -> Iterator[AttributeProblem]:
    """Assigns of variables that no ReadValue reads."""
    assigns = [layer for layer in layers if layer.type == "Assign"]
    read = {layer.data.get("variable_id") for layer in layers if layer.type == "ReadValue"}
    for layer in assigns:
        name = layer.data.get("variable_id")
        if name is not None and name not in read:
            yield AttributeProblem(
                "IRL115",
                at_data(layer, "variable_id"),
                f"{describe(layer)} sets a variable that no ReadValue reads",
                "the variable_id of a ReadValue",
                repr(name),
                fix="correct the name",
            )


def _problems(layer: Layer, type_name: str, version: str) -> Iterator[AttributeProblem]:
    operation = operation_of(type_name, version)
    if operation is None:
        return
    for name, attribute in operation.attributes.items():
        if not attribute.required or name in layer.data:
            continue
        filled_in = ABSENT.get((operation.type, name))
        yield AttributeProblem(
            "IRL103",
            at_data(layer),
            f"{describe(layer)} has no {name}",
            f"an attribute {name}",
            "none"
            if filled_in is None
            else f"none; OpenVINO and irloop take {filled_in or 'ones'}",
            fix=f"add {name} to its data",
            is_warning=filled_in is not None,
        )
    for name, text in layer.data.items():
        known = operation.attributes.get(name)
        if known is None:
            yield _unknown(layer, name, operation)
        else:
            yield from _value(layer, name, text, known)


def _unknown(layer: Layer, name: str, operation: Operation) -> AttributeProblem:
    names = ", ".join(operation.attributes) or "no attributes"
    return AttributeProblem(
        "IRL107",
        at_data(layer, name),
        f"{operation.label} has no attribute {name}, it is ignored",
        names,
        name,
        "a misspelling, or an attribute of another version of the operation",
        "correct or remove it",
    )


def _value(layer: Layer, name: str, text: str, attribute: Attribute) -> Iterator[AttributeProblem]:
    place = at_data(layer, name)
    what = f"{name} of {describe(layer)}"
    least, most = attribute.entries
    if least and not least <= len(_items(text)) <= (most or len(text)):
        yield AttributeProblem(
            "IRL115",
            place,
            f"{what} has another number of entries",
            f"{least}" if most == least else f"{least} or more",
            repr(text),
            fix="correct the list",
        )
    if attribute.kind == "bool":
        if text.lower() not in ("true", "false", "1", "0"):
            yield AttributeProblem(
                "IRL114",
                place,
                f"{what} is no boolean and keeps its default",
                "true or false",
                repr(text),
                fix="write true or false",
            )
    elif attribute.kind in ("word", "element"):
        # A name of no element type at all is for IRL111 to report.
        known = attribute.kind == "word" or text.lower() in ELEMENT_NAMES
        if known and text.strip().lower() not in {word.lower() for word in attribute.words}:
            yield AttributeProblem(
                "IRL115",
                place,
                f"{what} has a value that does not exist",
                ", ".join(attribute.words),
                repr(text),
                fix="write one of these",
            )
    elif attribute.kind in _NUMBERS:
        items = _items(text) if attribute.kind.endswith("s") else [text]
        for item in items:
            yield from _number(place, what, name, item, attribute)


def _items(text: str) -> list[str]:
    if not text.strip():
        return []
    items = text.split(",")
    if not items[-1].strip():
        items.pop()
    return [item.strip() for item in items]


def _number(
    place: Location, what: str, name: str, text: str, attribute: Attribute
) -> Iterator[AttributeProblem]:
    is_integer = attribute.kind in _INTEGERS
    kind = "an integer of 64 bits" if is_integer else "a number (inf, -inf, nan in lower case)"
    found = attribute_number(text, is_integer=is_integer)
    if found is None:
        yield AttributeProblem(
            "IRL115", place, f"{what} cannot be read", kind, repr(text), fix=f"write {kind}"
        )
        return
    number, rest = found
    if attribute.least is not None and float(number) < attribute.least:
        yield AttributeProblem(
            "IRL115",
            place,
            f"{what} is too small",
            f"{attribute.least} or more",
            number,
            fix="correct the number",
        )
    elif attribute.most is not None and float(number) > attribute.most:
        yield AttributeProblem(
            "IRL115",
            place,
            f"{what} is too large",
            f"{attribute.most} or less",
            number,
            fix="correct the number",
        )
    if rest:
        yield AttributeProblem(
            "IRL116",
            place,
            f"{what} is read only up to the first character that does not belong to the number",
            f"{number}, if that is meant",
            repr(text),
            fix=f"write {name} without anything after the number",
        )
