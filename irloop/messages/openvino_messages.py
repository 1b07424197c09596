"""Messages of OpenVINO about bodies, operations and runs."""

from __future__ import annotations

from irloop.messages.message import Message

__all__ = ["MESSAGES"]

_OV, _OLD = "OpenVINO", "OpenVINO 2021.4"
_CHECK = "run irloop validate, which names the layer, the line and what was expected"
_NEWER = "convert for that runtime: irloop convert MODEL -o OLD.xml --target openvino-2021.4"

_BODIES = (
    Message(
        _OV,
        r"unordered_map::at|\b(?<!unordered_)map::at",
        "a port map or a back edge names a layer that the body does not have, or one of a wrong "
        "kind "
        "(in ONNX: a weight of no element type)",
        ("IRL509", "IRL510", "IRL515", "IRL108", "ONX101"),
        "irloop validate --select IRL5 names the entry",
    ),
    Message(
        _OV,
        r"node index is out of range",
        "a port map names an outer port that does not exist or has no edge, is missing, or "
        "leaves out "
        "an output or the condition",
        ("IRL502", "IRL503", "IRL508", "IRL601"),
        "irloop validate --select IRL5,IRL6 names the entry",
    ),
    Message(
        _OV,
        r"(?:vector|deque)::_M_range_check",
        "a port map names a port or a purpose that the layer does not have (in ONNX: an If without "
        "inputs)",
        ("IRL503", "IRL504", "IRL514", "ONX104"),
        "irloop validate --select IRL5,IRL6 names the entry",
    ),
    Message(
        _OV,
        r"TensorIterator has no body",
        "a Loop, TensorIterator or If has no body element, or an If only one of its two",
        ("IRL501", "IRL701"),
        _CHECK,
    ),
    Message(
        _OV,
        r"Number of inputs must be the same as number of input descriptions",
        "an outer input of the loop has no entry in its port map, or two",
        ("IRL507", "IRL505"),
        "irloop validate --select IRL5 names the port",
    ),
    Message(
        _OV,
        r"No nested TensorIterator",
        "a TensorIterator is directly in the body of another",
        ("IRL522",),
        "run irloop validate, which names both; write one of them as a Loop",
    ),
    Message(
        _OV,
        r"Accessing out-of-range dimension(?!.{0,300}Conversion is failed for)|"
        r"Invalid \"axis\" value in an iteration component",
        "the axis of a port map is not an axis of the tensor that it slices, which may be a scalar",
        ("IRL622", "IRL623"),
        "irloop validate --select IRL6 names the entry",
    ),
    Message(
        _OV,
        r'Invalid "start","stride","end" values|Invalid "stride" value in an iteration component',
        "start, end and stride of a sliced input do not divide its axis: stride 0, a "
        "reversed stride without a reversed range, or a range beyond the axis",
        ("IRL616", "IRL617", "IRL618", "IRL620"),
        "irloop validate --select IRL6 names the entry",
    ),
    Message(
        _OV,
        r"Each iteration must be the same size: length \((?P<length>\d{1,20})\) is not "
        r"divisible by "
        r"step "
        r"\((?P<step>\d{1,20})\)",
        "an axis of size {length} cannot be divided into parts of size {step}",
        ("IRL618",),
        "irloop validate --select IRL6 names the entry",
    ),
    Message(
        _OV,
        r"There are at least two different iterations numbers: (?P<a>\d{1,20}) and (?P<b>\d{1,20})",
        "the sliced inputs of one loop give {a} and {b} iterations, or part_size is not the stride",
        ("IRL621", "IRL614"),
        "irloop validate --select IRL6 names both entries",
    ),
    Message(
        _OV,
        r"Shape mismatch for tensor iterator port",
        "the body result of a concatenated output has a different size along the axis than "
        "part_size; "
        "also a loop with such an output that runs zero times",
        ("IRL613", "IRL609"),
        "irloop validate --select IRL6 names the entry",
    ),
    Message(
        _OV,
        r"incorrect output shape\[axis\] after iteration for concatenation",
        "the parts that a loop concatenates do not have the size part_size, or an input "
        "that "
        "should be sliced has no axis",
        ("IRL613", "IRL615", "IRL627"),
        "irloop validate --select IRL6 names the entry",
    ),
    Message(
        f"{_OV}, {_OLD}",
        r"Rank of (?:BodyExecutionCondition output|ExecutionCondition input|If condition input) "
        r"must",
        "a condition must be a single boolean, and its rank is above 1",
        ("IRL604", "IRL707", "ONX302"),
        "squeeze the condition to a scalar",
    ),
    Message(
        _OV,
        r"Incorrect associating in (?P<where>\w{1,300})!|is already associated with another output",
        "an output of an If is not returned by both branches, or one Result is mapped to two of "
        "them",
        ("IRL702", "IRL705"),
        "irloop validate --select IRL7 names the entry",
    ),
    Message(
        _OV,
        r"type of then_body output (?P<then>\w{1,300}) is not equal type of else_body output "
        r"?(?P<other>\w{1,300})",
        "the branches of an If return {then} and {other} for one output",
        ("IRL703",),
        "insert a Convert into one of the branches",
    ),
    Message(
        _OV,
        r"The number of values in the (?:Condition|If condition|TripCount)|Rank of TripCount "
        r"input must",
        "a condition or trip count has more than one element",
        ("IRL604", "IRL606", "IRL707"),
        "irloop validate --select IRL6,IRL7 names the layer",
    ),
    Message(
        f"{_OV}, {_OLD}",
        r"(?:Function|Model) references undeclared parameters: (?P<names>.{0,80})",
        "a body reads a Parameter that no port map entry feeds, or a sequence operation has "
        "computed "
        "weights, which this runtime does not take",
        ("IRL512", "IRL513", "IRL708", "IRL901"),
        "run irloop validate, which names the Parameter",
    ),
    Message(
        _OLD,
        r"(?:Ngraph operation|operation) (?P<type>\w{1,300}) with name (?P<name>\S{1,300}) has "
        r"dynamic output "
        r"shape on (?P<port>\d{1,20}) port",
        "output {port} of {type} {name!r} has a size that depends on data, and the CPU plugin "
        "of this "
        "runtime takes static shapes only",
        ("IRL901", "IRL611"),
        "give the loop a constant trip count, or use OpenVINO 2022.1 or newer",
    ),
    Message(
        _OV,
        r"CPU plug-in doesn't support (?P<type>\w{1,300}) operation with dynamic rank\. "
        r"Operation name: "
        r"(?P<name>\S{1,300})",
        "the rank of {type} {name!r} is not known, and the CPU plugin needs it",
        ("IRL628", "ONX106"),
        "irloop convert MODEL -o NEW.xml --shape NAME=1,3,640,640 gives the inputs a rank; give it "
        "for every input whose rank is unknown",
    ),
    Message(
        _OV,
        r"Input descriptor .{0,80}has been changed|Unknown input type of a loop|unknown input "
        r"type of a "
        r"loop (?P<type>\S{1,300})",
        "a body input of the loop is mapped in a way that this version does not convert",
        ("IRL5", "IRL610", "IRL611"),
        "irloop validate --select IRL5,IRL6; irloop inspect MODEL shows the port map in words",
    ),
    Message(
        _OLD,
        r"Node expects (?P<need>\d{1,20}) inputs\. Actual: (?P<got>\d{1,20})",
        "an operation has {got} inputs where this runtime expects {need}: the file has "
        "an older or newer version (LSTMCell-1 has peepholes, LSTMCell-4 has none)",
        ("IRL406", "IRL806"),
        _CHECK,
    ),
)
_OPERATIONS = (
    Message(
        _OV,
        r"Unknown activation function: (?P<name>\w{1,300})",
        "a recurrent layer names the activation {name!r}; there are sigmoid, tanh, relu, "
        "hardsigmoid",
        ("IRL803",),
        _CHECK,
    ),
    Message(
        _OV,
        r"\[(?:LSTM|GRU|RNN)CellDecomposition\]|\[Convert\w{1,300}SequenceToTensorIterator\]",
        "the CPU plugin cannot run this recurrent layer: it lacks one of the activations "
        "(hardsigmoid), or the sequence has no attribute activations",
        ("IRL804", "IRL808", "IRL803"),
        "irloop validate --select IRL8 names the layer",
    ),
    Message(
        _OV,
        r'"(?P<text>[^"]{0,300})" is not a member of enum (?!element)(?P<enum>[\w:]{1,300})',
        "an attribute in data holds {text!r}, which is not one of the allowed words ({enum})",
        ("IRL115", "IRL805"),
        _CHECK,
    ),
    Message(
        _OV,
        r"Can't set the input tensor with index: (?P<index>\d{1,20}), because the model input "
        r"\(shape="
        r"(?P<want>\[[^\]]{0,300}\])\) and the tensor \(shape=\((?P<got>[^)]{0,300})\)\)",
        "input {index} has the shape {want}, and data of the shape {got} was given",
        (),
        "give data of that shape, or change the model: irloop transform MODEL -o NEW --pass "
        "set_shape=NAME=1,3,640,640",
    ),
    Message(
        _OLD,
        r"Incorrect precision: UNSPECIFIED",
        "a port has no precision that this runtime knows: its type was not known when it was "
        "written",
        ("IRL402", "IRL901"),
        _NEWER,
    ),
    Message(
        _OV,
        r"Arguments do not have the same element type|Argument element types (?:are|must)",
        "an operation gets operands of different element types",
        ("IRL403", "IRL610"),
        "insert a Convert",
    ),
    Message(
        _OV,
        r"Argument shapes are inconsistent|Incompatible MatMul matrix dimension|"
        r"matrix dimension.{0,40}(?:incompatible|not)",
        "the shapes of two operands do not fit together",
        ("IRL404", "IRL401"),
        "run irloop validate, which names both shapes; irloop inspect MODEL shows their origin",
    ),
    Message(
        _OV,
        r"Axis (?P<axis>-?\d{1,20}) out of the tensor rank range",
        "axis {axis} is outside of the rank of the operand",
        ("IRL405",),
        _CHECK,
    ),
    Message(
        _OV,
        r"No conversion rule found for operations: (?P<names>[^\n]{0,300})",
        "OpenVINO's ONNX frontend does not convert {names}",
        ("ONX103", "ONX102"),
        "irloop convert MODEL.onnx -o MODEL.xml converts more, and names what it cannot convert",
    ),
    Message(
        _OV,
        r"loop body graph canonical inputs size \((?P<size>\d{1,20})\), does not match",
        "OpenVINO counts {size} inputs of the body of an ONNX Loop, and the node passes another "
        "number; it does not count a body input that has the name of an outer value",
        ("ONX203", "ONX101"),
        "run irloop validate, which names the Loop or the name; irloop convert MODEL.onnx -o "
        "MODEL.xml converts a Loop with such a name",
    ),
    Message(
        _OV,
        r"loop body graph outputs size \((?P<size>\d{1,20})\) is smaller than number of outputs",
        "an ONNX Loop has more outputs than its body ({size})",
        ("ONX101",),
        "run irloop validate, which names the Loop",
    ),
    Message(
        _OV,
        r"Missing '(?P<name>then_branch|else_branch)' attribute|'then' and 'else' branches have to",
        "an ONNX If lacks a branch, or its branches have different numbers of outputs",
        ("ONX101", "ONX105"),
        "run irloop validate, which names the If",
    ),
    Message(
        _OV,
        r"Input tensor isn't found for node \"(?P<name>[^\"]{0,300})\"|Input tensor isn't "
        r"found for node",
        "a node reads a name that is not defined; in a body, perhaps one of another body",
        ("ONX101",),
        "run irloop validate, which names the node",
    ),
    Message(
        _OV,
        r"Tensor already exists \"(?P<name>[^\"]{0,300})\"",
        "the name {name!r} is defined twice",
        ("ONX101",),
        "rename one of the two",
    ),
    Message(
        _OV,
        r"Unsupported operator version: (?P<type>\w{1,300}):(?P<version>\d{1,20})",
        "the model imports opset {version}, which has no {type}",
        ("ONX101", "ONX102"),
        "correct opset_import",
    ),
    Message(
        _OV,
        r"size of the initializer does not match the number of|invalid external data: |"
        r"Invalid usage of method for external|resolves to '[^']{0,300}'? ?\S{0,300} ?outside|"
        r"Path '(?P<path>[^']{0,300})' resolves to",
        "an initializer does not have the bytes that its shape needs, or its external data is "
        "missing, too "
        "short or outside of the model's folder",
        ("ONX101",),
        "run irloop validate, which names the initializer; copy the data file beside the model",
    ),
    Message(
        _OV,
        r"Model can't be|Unsupported attribute type|Unsupported type\b|Unsupported input type",
        "an element type or attribute kind that the ONNX frontend does not know",
        ("ONX105", "ONX106", "ONX206"),
        "run irloop validate, which names the node or value",
    ),
    Message(
        _OV,
        r'Output tensor "(?P<name>[^"]{0,300})" was declared as a graph output but',
        "the output {name!r} of a graph or body is not defined",
        ("ONX101",),
        "run irloop validate, which names it",
    ),
    Message(
        _OV,
        r"doesn't support NullNode",
        "an ONNX node leaves out an input that its operation needs",
        ("ONX104",),
        "run irloop validate, which names the node",
    ),
    Message(
        _OV,
        r"Cannot allocate memory for incompatible descriptors|Failed to allocate "
        r"(?P<size>\d{1,20}) "
        r"bytes",
        "a value without an element type, or of a size that no memory holds (a wrong trip count)",
        ("IRL103", "IRL112", "IRL606"),
        _CHECK,
    ),
    Message(
        f"{_OV}, {_OLD}",
        r"While validating node '(?P<node>[^']{0,300}?)(?: \(.{0,4000}?)?' with friendly_name "
        r"'(?P<name>[^']{0,300})'",
        "the operands of {node} contradict its specification; the name may be invented by the "
        "reader",
        ("IRL403", "IRL404", "IRL405", "IRL406", "IRL7", "IRL8"),
        "run irloop validate, which names the layer, what was expected and what was found",
        general=True,
    ),
    Message(
        _OV,
        r"Node (?P<name>\S{1,300}) of type (?P<type>Loop|TensorIterator)\b",
        "the {type} {name!r} failed while it ran: too few slices, or a state that "
        "changes its shape",
        ("IRL625", "IRL611", "IRL612"),
        "run irloop run MODEL --inputs in.npz, which names the node and the iteration",
        general=True,
    ),
    Message(
        _OV,
        r"FrontEnd API failed with OpConversionFailure",
        "OpenVINO could not convert an operation of the ONNX model",
        ("ONX102", "ONX104", "ONX105", "ONX201"),
        "irloop validate MODEL.onnx, or irloop convert MODEL.onnx -o MODEL.xml",
        general=True,
    ),
)
#: All entries of this module.
MESSAGES = (*_BODIES, *_OPERATIONS)
