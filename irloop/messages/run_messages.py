"""Messages about operations that fail while they run, are converted, or are compiled."""

from __future__ import annotations

from irloop.messages.message import Message

__all__ = ["MESSAGES"]

_ORT, _OV = "ONNX Runtime", "OpenVINO"
_RUN = "irloop run MODEL --inputs in.npz names the node, its operands and the iteration"
_OLD = "convert for that runtime: irloop convert MODEL -o OLD.xml --target openvino-2021.4"
_IR = (
    "irloop convert MODEL.onnx -o MODEL.xml converts more, and names what it cannot convert; it "
    "writes an IR that OpenVINO reads"
)

_FAILED = (
    Message(
        _ORT,
        r"cannot be reshaped to the requested shape\. Input shape: ?\{(?P<have>[^}]{0,300})\}, "
        r"requested shape: ?\{(?P<want>[^}]{0,300})\}",
        "a Reshape of [{have}] to [{want}] would change the number of elements; the target often "
        "holds sizes that the exporter fixed, such as the batch of the example",
        ("ONX302",),
        f"{_RUN}; for another input size: irloop transform MODEL -o NEW --pass "
        "set_shape=NAME=1,3,640,640, which changes fixed targets as well",
    ),
    Message(
        _ORT,
        r"Attempting to broadcast an axis by a dimension other than 1\. (?P<left>\d{1,20}) by "
        r"(?P<right>\d{1,20})|invalid expand shape|BroadcastLoop|are not broadcastable",
        "the shapes of two operands cannot be broadcast: sizes differ, and neither is 1",
        ("ONX302",),
        _RUN,
    ),
    Message(
        _ORT,
        r"indices element out of data bounds, idx=(?P<index>-?\d{1,20}) must be within the "
        r"inclusive range \[(?P<range>[^\]]{0,100})\]|invalid index found",
        "an index is outside of the axis; often a token that is not in the vocabulary, or a "
        "position beyond the longest sequence",
        ("ONX201",),
        _RUN,
    ),
    Message(
        _ORT,
        r"Non concat axis dimensions must match|Ranks of input data are different, cannot "
        r"concatenate",
        "tensors that are concatenated differ in another axis than the one they are joined along",
        ("ONX302",),
        _RUN,
    ),
    Message(
        _ORT,
        r"MatMul dimension mismatch|Gemm: Dimension mismatch|left operand cannot broadcast|"
        r"Input channels C is not equal to kernel channels",
        "the inner sizes of a product, or the channels of a convolution and its input, differ",
        ("ONX302", "ONX201"),
        _RUN,
    ),
    Message(
        _ORT,
        r"updates tensor should have shape equal to indices\.shape|Cannot split using values in "
        r"'split' attribute|Starts must be a 1-D array|k argument \[(?P<k>-?\d{1,20})\] should not "
        r"be greater than|Dimension of input \d{1,9} must be 1 instead of",
        "a size, index or axis that the operation got does not fit its data",
        ("ONX201", "ONX302"),
        _RUN,
    ),
    Message(
        _ORT,
        r"Error merging shape info for output\. ?'(?P<name>[^']{0,300})' source: ?\{"
        r"(?P<have>[^}]{0,300})\} target: ?\{(?P<want>[^}]{0,300})\}",
        "the model declares the shape [{want}] of {name!r}, and inference gives [{have}]: a "
        "warning, but engines that trust the declaration fail",
        ("ONX302", "ONX107"),
        "irloop validate MODEL names the declaration",
    ),
    Message(
        _ORT,
        r"Initializer (?P<name>\S{1,300}) appears in graph inputs and will not be treated as "
        r"constant",
        "the weight {name!r} is an input of the model as well, so it can be replaced at run time "
        "and is not optimised: a warning",
        (),
        "by way of an IR it becomes a constant: irloop convert MODEL.onnx -o M.xml, then irloop "
        "convert M.xml -o NEW.onnx",
    ),
    Message(
        _ORT,
        r"Removing initializer '(?P<name>[^']{0,300})'\. It is not used",
        "no operation reads the weight {name!r}: a warning",
        (),
        "irloop transform MODEL.onnx -o NEW.onnx --pass dead_code removes it",
    ),
    Message(
        _ORT,
        r"Could not find an implementation for the node (?P<op>\w{1,300})\((?P<version>\d{1,20})\)",
        "ONNX Runtime has no kernel for {op}-{version}: the model's opset is too old or too new "
        "for it",
        (),
        "write another opset: irloop convert MODEL.onnx -o NEW.onnx --opset 17",
    ),
    Message(
        _ORT,
        r"Either `?sizes`? or `?scales`? must be provided|exactly one of (?:`)?scales",
        "a Resize has both scales and sizes, or neither",
        ("ONX201", "ONX104"),
        "irloop validate MODEL names the node",
    ),
    Message(
        _ORT,
        r"running (?P<type>Loop|Scan|If) node\. Name:'(?P<name>[^']{0,300})' Status Message: "
        r".{0,300}running (?P<inner>\w{1,300}) node\. Name:'(?P<node>[^']{0,300})'",
        "{inner} {node!r} in the body of {type} {name!r} failed while it ran",
        ("ONX302", "ONX308"),
        _RUN,
    ),
)
_CONVERTED = (
    Message(
        _OV,
        r"OpenVINO does not support the following ONNX operations: (?P<names>.{0,300})",
        "OpenVINO's ONNX frontend does not convert {names}",
        ("ONX103",),
        _IR,
    ),
    Message(
        _OV,
        r"Scan-\d{1,3}.{0,200}sequence_lens|`?sequence_lens`? input is not supported",
        "OpenVINO's ONNX frontend reads no Scan-8 with lengths; the model is valid",
        (),
        _IR,
    ),
    Message(
        _OV,
        r"Training mode of BatchNormalization is not supported",
        "a BatchNormalization has five outputs or training_mode=1: the model was exported in "
        "training mode, or with statistics that are computed while it runs",
        ("ONX105",),
        f"export it in evaluation mode (model.eval()); {_IR}",
    ),
    Message(
        _OV,
        r"Requested output shape \{?\[?(?P<want>[^}\]]{0,300})[}\]] is incompatible with input "
        r"shape|conflicts with the reshape pattern \((?P<pattern>[^)]{0,300})\)|"
        r"Product of output shape dimensions does not match",
        "a Reshape would change the number of elements; the target often holds sizes that the "
        "exporter fixed, such as the length of the example",
        ("IRL404", "ONX302"),
        f"irloop validate MODEL names the layer; {_RUN}; for another input size: irloop transform "
        "MODEL -o NEW --pass set_shape=NAME=1,136,6, which changes fixed targets as well",
    ),
    Message(
        _OV,
        r"Data batch channel count \((?P<have>\d{1,20})\) does not match filter input channel "
        r"count \((?P<want>\d{1,20})\)|is not divisible by num_splits|has incompatible shapes|"
        r"must be in (?:the )?range \[",
        "the shape of an operand does not fit the operation",
        ("IRL404", "IRL405"),
        "irloop validate MODEL names the layer and both shapes",
    ),
    Message(
        _OV,
        r"Failed to compile layer \"(?P<name>[^\"]{0,300})\": unsupported layer type "
        r"\"(?P<type>[^\"]{0,100})\"|[Uu]nsupported primitive of type: ?(?P<kind>\w{1,100})|"
        r"Operation: \S{1,300} of type \w{1,100}\(op::v\d{1,3}\) is not supported|"
        r"Unsupported operation: (?P<op>\w{1,100})",
        "the plugin of this device, or this old version, has no code for the operation",
        ("IRL901",),
        f"run it on the device CPU of a new OpenVINO, or {_OLD}; --loops unroll removes loops",
    ),
    Message(
        _OV,
        r"Accessing out-of-range dimension.{0,300}Conversion is failed for: (?P<type>\w{1,100})",
        "OpenVINO's ONNX frontend gives a state of the {type} the shape of its initial value, and "
        "cannot convert a state that grows; the model may well be valid",
        (),
        _IR,
    ),
    Message(
        _OV,
        r"m_element_type\.is_static\(\)",
        "OpenVINO folds a value without a known element type; known of products of constants and "
        "4-bit weights",
        (),
        "irloop convert MODEL.onnx -o MODEL.xml folds such products first",
    ),
    Message(
        _OV,
        r"Cannot find reader for model format: onnx",
        "this installation of OpenVINO has no ONNX frontend",
        (),
        f"convert the model: {_IR}",
    ),
    Message(
        _OV,
        r"Cannot infer shapes or values for node|Stopped shape/value propagation|List of "
        r"operations that cannot be converted to Inference Engine IR",
        "Model Optimizer, which is discontinued, could not infer or convert an operation",
        (),
        f"export the model to ONNX, then {_IR}; sizes are given by --shape NAME=1,3,640,640",
    ),
    Message(
        _OV,
        r"Incorrect shape of state ports",
        "the initial state of a recurrent layer has another shape than [batch, hidden size]; often "
        "the batch was changed for the inputs but not for the states",
        ("IRL801", "IRL404"),
        "irloop transform MODEL -o NEW --pass set_shape=NAME=2,25,512 changes the states as well; "
        "irloop validate MODEL names the layer",
    ),
    Message(
        _OV,
        r"\[CPU\] (?P<type>Loop|TensorIterator) node with name '(?P<name>[^']{0,300})'",
        "the {type} {name!r} failed while it ran: the condition is no scalar, a state changes its "
        "shape, or an input has too few elements",
        ("IRL604", "IRL611", "IRL625"),
        f"irloop validate MODEL; {_RUN}",
    ),
)
#: All entries of this module.
MESSAGES = (*_FAILED, *_CONVERTED)
