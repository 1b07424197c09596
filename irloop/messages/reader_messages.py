"""Messages of OpenVINO's reader about files, numbers, layers and edges."""

from __future__ import annotations

from irloop.messages.message import Message

__all__ = ["MESSAGES"]

_OV, _OLD = "OpenVINO", "OpenVINO 2021.4"
_CHECK = "run irloop validate, which names the layer, the line and what was expected"
_NEWER = "convert for that runtime: irloop convert MODEL -o OLD.xml --target openvino-2021.4"

_FILES = (
    Message(
        _OV,
        r"Unable to read the model: .{0,1000}Please check that model format",
        "OpenVINO cannot read the file as a model: it is neither XML nor protobuf, a Git LFS "
        "pointer "
        "or a web page in place of it, a root element that is not <net>, or an IR version other "
        "than 10 and 11",
        ("IRL101", "IRL102", "ONX101"),
        "irloop validate tells which of these it is",
    ),
    Message(
        _OLD,
        r"Cannot find reader for model format: xml",
        "an IR of version 7 or older, or of version 11, given to a runtime that reads version "
        "10 only",
        ("IRL102", "IRL901"),
        "irloop convert MODEL.xml -o OLD.xml reads versions 2 to 11 and writes version 10",
    ),
    Message(
        _OLD,
        r"cannot parse future versions",
        "the IR is newer than the runtime",
        ("IRL102", "IRL901"),
        "irloop convert MODEL.xml -o NEW.xml reads versions 2 to 11 and writes version 10; for "
        "OpenVINO 2021.4, add --target openvino-2021.4",
    ),
    Message(
        _OV,
        r"[Tt]he support of IR v\d{1,4} has been removed",
        "an IR of versions 2 to 7, which OpenVINO has not read since 2021",
        ("IRL102",),
        "irloop convert MODEL.xml -o NEW.xml writes version 10, and -o NEW.onnx writes ONNX",
    ),
    Message(
        _OV,
        r"Start-end tags mismatch at offset (?P<offset>\d{1,20})|"
        r"Could not determine tag type at offset (?P<tag>\d{1,20})|"
        r"Error parsing (?:element attribute|comment|document declaration) at offset "
        r"(?P<other>\d{1,20})",
        "the .xml is not well-formed, most often because it is cut short; the offset counts bytes",
        ("IRL101",),
        "irloop validate gives the line; fetch or export the file again",
    ),
    Message(
        _OV,
        r"Empty weights data in bin file or bin file cannot be found",
        "the .bin is missing: it must be next to the .xml under the same name, or be passed",
        ("IRL301",),
        "copy the .bin beside the .xml, or pass it (irloop: --bin FILE)",
    ),
    Message(
        _OV,
        r"Incorrect weights in bin file!",
        "a Const lies outside the .bin: the file is cut short, belongs to another model, or is a "
        "Git LFS pointer or a web page; or offset or size in the .xml are wrong",
        ("IRL302", "IRL301"),
        "run irloop validate, which names the layer, its byte range and the size of the file",
    ),
    Message(
        _OLD,
        r"Layer \S{1,300} has incorrect weights|has incorrect weights!",
        "the .bin has a different size than the layer needs: it belongs to another model, or is "
        "damaged",
        ("IRL302", "IRL303"),
        "fetch .xml and .bin from the same export; irloop validate MODEL.xml names the layer and "
        "its bytes",
    ),
    Message(
        _OV,
        r"buffer is smaller than requested size",
        "less weight data than the model needs: often the .xml was passed in place of the .bin",
        ("IRL301", "IRL302"),
        "pass the .bin as weights",
    ),
    Message(
        _OV,
        r"Attribute and shape size are inconsistent for Const op!(?P<size>\d{1,20}), "
        r"(?P<need>\d{1,20})",
        "a Const has size={size} in its data, and its shape and element type need {need} bytes",
        ("IRL303", "IRL112", "IRL305"),
        "run irloop validate, which names the layer; correct size, shape or element_type",
    ),
    Message(
        _OV,
        r"Missing attribute '(?P<name>\w{1,300})' for Const|No attrtibutes defined for Const op|"
        r"Layer data must be defined for",
        "a Const or Parameter without data, or without one of its attributes",
        ("IRL305", "IRL103"),
        _CHECK,
    ),
)
_STRUCTURE = (
    Message(
        _OV,
        r"(?:\bstoll|\bstoull|\bstoi)\b",
        "a number in the .xml is not a number or too large: an id, a port, offset, size, axis, "
        "start, "
        "end, stride, part_size or external_port_id (in ONNX: offset or length of external data)",
        ("IRL104", "IRL115", "ONX101"),
        "run irloop validate, which names the attribute and the line",
    ),
    Message(
        _OV,
        r'node <(?P<tag>[\w-]{1,300})> has attribute "(?P<name>[\w-]{1,300})" = '
        r'"(?P<text>[^"]{0,300})" which is not '
        r"an? (?:un)?signed",
        "{name} of a <{tag}> is {text!r}; write digits and nothing after them",
        ("IRL104", "IRL623"),
        "irloop validate gives the line in place of the byte offset",
    ),
    Message(
        _OV,
        r"node <(?P<tag>[\w-]{1,300})> is missing mandatory attribute: (?P<name>[\w-]{1,300})",
        "a <{tag}> has no {name}",
        ("IRL103",),
        "irloop validate gives the line in place of the byte offset",
    ),
    Message(
        _OV,
        r"Cannot create\s{1,2}layer\s{1,9}id:0 from unsupported opset|Cannot create layer id:0 "
        r"from",
        "an edge starts at a layer that does not exist, or two layers have the same id; the empty "
        "layer in the message is the one that was not found",
        ("IRL201", "IRL105"),
        _CHECK,
    ),
    Message(
        _OV,
        r"Cannot create (?P<type>\w{1,300}) layer (?P<name>\S{1,300}) id:(?P<id>\d{1,20}) from "
        r"unsupported opset: "
        r"(?P<opset>\w{1,300})",
        "the runtime does not know {opset}, the opset of {type} {name!r} (layer {id})",
        ("IRL109", "IRL901"),
        f"use a newer runtime, or {_NEWER}",
    ),
    Message(
        _OV,
        r"Opset (?P<opset>\w{1,300}) doesn't contain the operation with type: ?(?P<type>\w{0,300})",
        "there is no operation {type!r} in {opset}: a misspelling, an operation of a newer "
        "opset, or "
        "one of an extension that is not loaded",
        ("IRL109", "IRL110"),
        _CHECK,
    ),
    Message(
        _OV,
        r"Can not find (?P<side>input|output) port with id (?P<port>\d{1,20}) in layer "
        r"?(?P<name>\S{0,300})",
        "an edge names {side} port {port} of layer {name!r}, which the layer does not declare, "
        "or two "
        "layers share the id",
        ("IRL203", "IRL106", "IRL105", "IRL208"),
        _CHECK,
    ),
    Message(
        _OV,
        r"\b(?P<type>\w{1,300}) layer (?P<name>\S{1,300}) with id: (?P<id>\d{1,20}) is "
        r"inconsistent",
        "an input port of {type} {name!r} (layer {id}) has no edge although a later port has one",
        ("IRL204",),
        "restore the edge that was lost",
    ),
    Message(
        _OV,
        r"\b(?P<type>\w{1,300}) layer (?P<name>\S{1,300}) with id: (?P<id>\d{1,20}) has "
        r"incorrect input with index "
        r"(?P<index>\d{1,20})",
        "two edges end in one input port of {type} {name!r} (layer {id})",
        ("IRL206",),
        "remove one of the edges",
    ),
    Message(
        _OV,
        r"Attempt to access node (?P<id>\d{1,20}) that not in graph",
        "the edges form a cycle; layer {id} is on it or after it",
        ("IRL207",),
        _CHECK,
    ),
    Message(
        _OV,
        r"^index '(?P<index>\d{1,20})' out of range|: index '(?P<other>\d{1,20})' out of range",
        "an operation has fewer inputs than it needs: an edge was lost",
        ("IRL406", "IRL205"),
        _CHECK,
    ),
    Message(
        _OV,
        r"Argument has 0 outputs \(1 expected\)",
        "a Result has no edge: nothing leads to a model output",
        ("IRL406", "IRL202"),
        "restore the edge to the Result",
    ),
    Message(
        _OV,
        r'"(?P<name>[^"]{0,300})" is not a member of enum element::Type_t|Unsupported element '
        r"type: "
        r"(?P<other>\w{1,300})",
        "an element type that does not exist: data uses f32, i64, boolean, ports use FP32, I64, "
        "BOOL",
        ("IRL111",),
        _CHECK,
    ),
    Message(
        _OV,
        r'Cannot get vector of dimensions! "(?P<text>[^"]{0,300})"|Cannot parse dimension: '
        r'"(?P<dim>[^"]{0,300})"',
        "a shape attribute cannot be read",
        ("IRL112",),
        "write numbers with commas between them, ? for a size that is not known",
    ),
    Message(
        _OV,
        r"dimension \((?P<text>[^)]{0,300})\) in node dim must be (?:greater or equal to -1|a "
        r"non-negative)",
        "a <dim> holds {text!r}; an unknown size is -1, and 2021.4 reads no unknown sizes",
        ("IRL113", "IRL901"),
        _CHECK,
    ),
    Message(
        _OV,
        r"Cannot parse '(?P<text>[^']{0,300})' (?:to number|in \"[^\"]{0,300}\")",
        "an attribute in data holds {text!r} where a number belongs",
        ("IRL115",),
        _CHECK,
    ),
    Message(
        _OV,
        r"Unsupported legacy argument: (?P<name>\w{1,300})",
        "<{name}> in meta_data has no value attribute",
        ("IRL119",),
        "add value to it, or remove the element",
    ),
    Message(
        _OV,
        r"Model (?:operation|tensor) names have collisions",
        "two inputs or outputs of a version 10 model share a name, or one tensor with names is "
        "given "
        "out twice (a Parameter that is a Result as well)",
        ("IRL117",),
        "rename a layer, or write version 11: irloop convert MODEL.xml -o NEW.xml --ir-version 11",
    ),
    Message(
        _OLD,
        r"Network input and output use the same name: (?P<name>\S{1,300})",
        "the model input {name!r} is a model output as well, or shares the name of one",
        ("IRL117",),
        "insert an operation that does not change the value, or rename one",
    ),
    Message(
        _OV,
        r"Attempt to get a name for a Tensor without names",
        "the model input or output has no tensor name; version 11 gives none unless a port has "
        "names",
        (),
        'add names="..." to the port, ask by position, or write version 10, which names inputs '
        "after their layers: irloop convert MODEL.xml -o NEW.xml --ir-version 10",
    ),
)
#: All entries for messages of OpenVINO's reader.
MESSAGES = (*_FILES, *_STRUCTURE)
