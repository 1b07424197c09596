"""Explanations of messages of ONNX Runtime and onnx.checker: cause, rules and fix."""

from __future__ import annotations

from irloop.messages.message import Message

__all__ = ["MESSAGES"]

_ORT = "ONNX Runtime"
_BOTH = "ONNX Runtime, onnx.checker"

#: All entries for messages of ONNX Runtime and onnx.checker.
MESSAGES = (
    Message(
        _BOTH,
        r"[Pp]rotobuf parsing failed|Unable to parse proto from file",
        "the file is not an ONNX model: cut short, a Git LFS pointer, a web page, or another "
        "format",
        ("ONX101",),
        "irloop validate tells which of these it is",
    ),
    Message(
        _BOTH,
        r"No graph was found in the protobuf|does not have an ir_version set properly",
        "the protobuf holds no ONNX model: another kind of file, or one that is empty",
        ("ONX101",),
        "irloop validate tells what the file is",
    ),
    Message(
        _BOTH,
        r"must specify opset_import|Missing opset in the model|ModelProto does not have a graph|"
        r"opset_import.{0,40}(?:missing|empty)|"
        r"model\.cc:\d{1,20} onnxruntime::Model::Model(?!.{0,1000}Unsupported model IR version)",
        "the model does not import an opset, or its functions call themselves",
        ("ONX101",),
        "export the model again",
    ),
    Message(
        _ORT,
        r"Unsupported model IR version: (?P<got>\d{1,20}), max supported IR version: "
        r"(?P<most>\d{1,20})",
        "ir_version of the file is {got}, and this ONNX Runtime reads at most {most}; the "
        "operations may well be older",
        (),
        "update ONNX Runtime, or write an older version: irloop convert MODEL.onnx -o OLD.onnx "
        "--opset 17 --ir-version {most}",
    ),
    Message(
        _ORT,
        r"Expected shape from model of \{(?P<want>[^}]{0,300})\} does not match actual shape of "
        r"\{(?P<got>[^}]{0,300})\} for output (?P<name>\S{1,300})",
        "the model declares the shape [{want}] of its output {name}, but computed [{got}]: a "
        "warning, because the declaration is wrong and not the result",
        ("ONX302", "ONX107"),
        "run irloop validate, which names declared shapes that cannot be right",
    ),
    Message(
        _ORT,
        r"model_load_utils|Current official support for domain",
        "the model is of an opset that this ONNX Runtime does not know yet",
        ("ONX101",),
        "update ONNX Runtime, or write an older opset: irloop convert MODEL.onnx -o OLD.onnx "
        "--opset 17",
    ),
    Message(
        _BOTH,
        r"No Op registered for (?P<type>\S{0,300}) with domain_version of (?P<version>\d{1,20})",
        "opset {version} has no operation {type!r}: a misspelling, or one of a newer opset or of "
        "another domain",
        ("ONX102", "ONX103"),
        "run irloop validate, which names the node",
    ),
    Message(
        _BOTH,
        r"\b(?P<type>[\w.]{1,200}:?\w{1,200})\(-?\d{1,20}\) is not a registered function/op",
        "the runtime does not know the operation {type}: a custom operation whose library is not "
        "loaded, or a function that is missing in the model",
        ("ONX102", "ONX103"),
        "load the library of the operation (register_custom_ops_library), or run irloop validate, "
        "which names the node",
    ),
    Message(
        _BOTH,
        r"No opset import for domain '?(?P<domain>[^' ]{0,300})",
        "a node is of the domain {domain!r}, which opset_import does not list",
        ("ONX108", "ONX101", "ONX103"),
        "irloop validate MODEL.onnx --fix adds the domain to opset_import",
    ),
    Message(
        _BOTH,
        r"Node input '(?P<name>[^']{0,300})' is not a graph input|input "
        r"'(?P<other>[^']{0,300})' of "
        r"node:.{0,200}? is "
        r"not output of any previous nodes",
        "a node reads a name that is not defined, or is defined only later",
        ("ONX101", "ONX202"),
        "run irloop validate, which names the node; irloop convert MODEL.onnx -o SORTED.onnx sorts "
        "the nodes",
    ),
    Message(
        _BOTH,
        r"Graph output '(?P<name>[^']{0,300})' is not an output|graph\.cc:\d{1,20} void "
        r"onnxruntime::Graph::InitializeStateFro\w{0,300} ?(?!.{0,1000}outer scope)",
        "an output of a graph or body is not defined, or two nodes define one name",
        ("ONX101", "ONX204"),
        "run irloop validate, which names it",
    ),
    Message(
        _ORT,
        r"Subgraph output \((?P<name>[^)]{0,300})\) is an outer scope value",
        "a body returns {name!r}, which is a value of the outer graph",
        ("ONX204",),
        "insert an Identity in the body",
    ),
    Message(
        _BOTH,
        r"single static assignment \(SSA\) form, however '(?P<name>[^']{0,300})'|Duplicate "
        r"definition"
        r"(?: of name|-site for) \((?P<other>[^)]{0,300})\)",
        "a name is defined twice, or a body reuses a name of the outer graph",
        ("ONX101", "ONX203"),
        "run irloop validate, which names it, and rename one of the two; irloop convert MODEL.onnx "
        "-o MODEL.xml renames names that a body reuses",
    ),
    Message(
        _BOTH,
        r"the graph is not acyclic|Cycle detected in model-local function",
        "nodes, or functions, depend on themselves",
        ("ONX101", "ONX203"),
        "run irloop validate, which names the nodes of the cycle",
    ),
    Message(
        _BOTH,
        r"has (?P<side>input|output) size (?P<got>\d{1,20}) not in range \[min=(?P<low>\d{1,20}), "
        r"max=(?P<high>\d{1,20})",
        "a node has {got} {side}s, and its operation takes {low} to {high}",
        ("ONX104",),
        "run irloop validate, which names the node",
    ),
    Message(
        _BOTH,
        r"input (?P<at>\d{1,20}) is marked single but has an empty string",
        "input {at} of a node is left out, and its operation needs it",
        ("ONX104",),
        "run irloop validate, which names the node",
    ),
    Message(
        _BOTH,
        r"Required attribute '(?P<name>\w{1,300})' is missing|Unrecognized attribute: "
        r"(?P<other>\w{1,300})|"
        r"Mismatched attribute type in '(?P<node>[^']{0,300})'|Attribute "
        r"'(?P<twice>\w{1,300})' appeared "
        r"multiple|"
        r"type field and data field mismatch in attribute (?P<kind>\w{1,300})",
        "an attribute is missing, unknown, given twice or of the wrong kind",
        ("ONX105",),
        "run irloop validate, which names the node and what its operation takes",
    ),
    Message(
        _BOTH,
        r"Field '(?P<field>\w{1,300})' of '(?P<message>\w{1,300})' is required",
        "the field {field} of a {message} is empty",
        ("ONX102", "ONX106", "ONX101"),
        "run irloop validate, which names the position; ONNX Runtime needs a name for each body",
    ),
    Message(
        _BOTH,
        r"does not have type information|Invalid tensor data type (?P<type>\d{1,20})",
        "a model input or body input has no element type, or one that does not exist",
        ("ONX106", "ONX205"),
        "declare its element type",
    ),
    Message(
        _BOTH,
        r"Type '(?P<type>[^']{0,300})' of input parameter \((?P<name>[^)]{0,300})\) of operator "
        r"\((?P<op>\w{1,300})\)|"
        r"typestr: (?P<var>\w{1,300}), has unsupported type: (?P<other>\S{1,300})",
        "an operation gets an element type that it does not take",
        ("ONX206", "ONX201"),
        "insert a Cast",
    ),
    Message(
        _BOTH,
        r"does not match expected type|Inferred elem type differs from existing elem type",
        "a value is declared with a different element type than its operation gives",
        ("ONX207", "ONX401"),
        "correct the declaration, or insert a Cast",
    ),
    Message(
        _BOTH,
        r"Size mismatch validating subgraph inputs\. Got (?P<got>\d{1,20}) inputs but subgraph has "
        r"(?P<has>\d{1,20})|"
        r"Graph has (?P<count>\d{1,20}) inputs but (?P<given>\d{1,20}) were provided",
        "a body has a different number of inputs than its Loop, Scan or If gives it",
        ("ONX101",),
        "run irloop validate, which names the node; inputs of a Loop body are matched by position",
    ),
    Message(
        _BOTH,
        r"returned type information for (?P<got>\d{1,20}) outputs\. Expected (?P<want>\d{1,20})|"
        r"produce different number",
        "a Loop or If and its bodies have different numbers of outputs",
        ("ONX101", "ONX303"),
        "run irloop validate, which names the node",
    ),
    Message(
        _BOTH,
        r"Mismatch between number of inferred and declared dimensions|existing shape differ in "
        r"(?:rank|dim)|"
        r"Can't merge shape info",
        "a declared shape contradicts the computed one; for a Loop often a condition or state of "
        "a different rank than the body declares",
        ("ONX302", "ONX308", "ONX107"),
        "run irloop validate, which names the value",
    ),
    Message(
        _ORT,
        r"Loop subgraph input (?P<at>\d{1,20}) has unknown shape: (?P<name>\S{1,300})|Subgraph "
        r"must have "
        r"the shape "
        r"set for all outputs but (?P<out>\S{1,300}) did not",
        "ONNX Runtime needs a declared shape of a body input or output, which is missing",
        ("ONX205",),
        "irloop convert MODEL.onnx -o NEW.onnx writes inferred types",
    ),
    Message(
        _ORT,
        r"layout_ == 0 was false",
        "the CPU of ONNX Runtime runs recurrent operations of layout 0 only",
        (),
        "set layout to 0 and transpose the inputs and outputs",
    ),
    Message(
        _ORT,
        r"Could not find an implementation for (?P<op>\w{1,300})\((?P<version>\d{1,20})\)",
        "ONNX Runtime has no kernel for {op}-{version} with these element types: the opset is "
        "too old, "
        "or the type is unusual",
        (),
        "write a newer opset: irloop convert MODEL.onnx -o NEW.onnx --opset 17",
    ),
    Message(
        _BOTH,
        r"raw_data size \((?P<got>\d{1,20}) bytes\) is too small|tensor shape "
        r"size\((?P<need>\d{1,20})\) "
        r"does not "
        r"match the data size|buffer size mismatch|one and only one value field|"
        r"Tensor dimension product overflow|Negative dimension value|Out of bounds dimensions|"
        r"setting data_type field|initializer name is not unique|initializers must have a "
        r"non-empty name|"
        r"graph\.cc:\d{1,20} onnxruntime::Graph::Graph",
        "an initializer has wrong bytes, a wrong element type, a wrong shape or no name",
        ("ONX101",),
        "run irloop validate, which names the initializer",
    ),
    Message(
        _ORT,
        r"two nodes with same node name \((?P<name>[^)]{1,300})\)",
        "two nodes of one graph are called {name!r}",
        ("ONX215",),
        "irloop transform MODEL -o NEW.onnx --pass simplify removes the second name",
    ),
    Message(
        _BOTH,
        r"External data path|stored externally but|[Dd]ata of TensorProto|external data size "
        r"mismatch|"
        r"model format error! Missing 'location'|GetExtDataFromTensorProto|require a regular file|"
        r"Location of external TensorProto|Failed to parse value",
        "external data is missing, too short, outside of the model's folder, or badly described",
        ("ONX101",),
        "run irloop validate, which names the initializer; copy the data file beside the model",
    ),
    Message(
        _ORT,
        r"Non-zero status code returned while running (?P<type>\w{1,300}) node\. "
        r"Name:'(?P<name>[^']{0,300})'",
        "{type} {name!r} failed while it ran: it does not accept its operands",
        ("ONX201", "ONX206", "ONX302"),
        "run irloop run MODEL.onnx --inputs in.npz, which names the node and the iteration",
        general=True,
    ),
    Message(
        _ORT,
        r"Type parameter \((?P<letter>\w{1,300})\) of Optype \((?P<type>\w{1,300})\) bound to "
        r"different types "
        r"\((?P<found>.{0,1000}?)\) in node",
        "operands of {type} must have the same element type, but are {found}",
        ("ONX201",),
        "run irloop validate, which names the node; put a Cast before one of the operands",
    ),
    Message(
        _BOTH,
        r"axis must be in \[-rank|Incompatible dimensions|ShapeInferenceError",
        "the operands of a node contradict its specification",
        ("ONX201", "ONX104", "ONX105"),
        "run irloop validate, which names the node",
        general=True,
    ),
    Message(
        _BOTH,
        r"\[ONNXRuntimeError\].{0,1000}This is an invalid model|INVALID_GRAPH",
        "the model breaks a rule of ONNX",
        ("ONX",),
        "run irloop validate, which names every rule that is broken",
        general=True,
    ),
)
