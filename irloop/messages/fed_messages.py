"""Messages about what a program gives to a model: inputs, names, files, devices and memory."""

from __future__ import annotations

from irloop.messages.message import Message

__all__ = ["MESSAGES"]

_ORT, _OV, _ONNX = "ONNX Runtime", "OpenVINO", "onnx.checker"
_INPUTS = "irloop inspect MODEL lists the inputs with their names, element types and shapes"
_RESHAPE = (
    "give data of the size that the model wants, or change the model: irloop transform MODEL -o "
    "NEW --pass set_shape=NAME=1,3,640,640"
)

MESSAGES = (
    Message(
        _ORT,
        r"Got invalid dimensions for input: (?P<name>\S{1,300}) for the following indices",
        "the data for input {name!r} has other sizes than the model declares for it",
        (),
        _RESHAPE,
    ),
    Message(
        _ORT,
        r"Invalid rank for input: (?P<name>\S{1,300}) Got: (?P<got>\d{1,20}) Expected: "
        r"(?P<want>\d{1,20})",
        "the data for input {name!r} has rank {got}, and the model declares rank {want}; often the "
        "batch axis is missing",
        (),
        f"add or remove an axis of the data; {_INPUTS}",
    ),
    Message(
        _ORT,
        r"Unexpected input data type\. ?Actual: (?P<got>.{1,300}?) ?, expected: (?P<want>.{1,300})",
        "the data for an input has the element type {got}, and the model declares {want}; NumPy "
        "makes f64 and i64 unless told otherwise",
        (),
        f"convert the data, as in array.astype(numpy.float32); {_INPUTS}",
    ),
    Message(
        _ORT,
        r"Invalid Feed Input Name: ?(?P<name>\S{1,300})|"
        r"Required inputs \((?P<names>[^)]{0,1000})\) are missing from input feed",
        "the names of the data are not the names of the model's inputs; an exporter may have "
        "renamed or removed some",
        (),
        _INPUTS,
    ),
    Message(
        _ORT,
        r"Invalid Output Name: ?(?P<name>\S{1,300})",
        "the model has no output {name!r}",
        (),
        "irloop inspect MODEL lists the outputs with their names",
    ),
    Message(
        _ORT,
        r"NO_SUCHFILE|Load model \S{1,300} failed\. File doesn't exist",
        "there is no file of this name",
        (),
        "correct the path; irloop validate MODEL tells if the file is readable",
    ),
    Message(
        _OV,
        r"\S{1,300}\.(?:xml|bin|onnx)\"? cannot be opened!|Could not open the file: \"",
        "there is no file of this name in the folder where the program runs, or it may not be read",
        (),
        "correct the path, or give the whole of it; irloop inspect MODEL tells if the file is "
        "readable",
    ),
    Message(
        _ORT,
        r"Failed to load external data file .{0,300}not found in preloaded files|"
        r"model_path must not be empty\. Ensure that a path is provided|"
        r"External initializer: .{0,300}are out of bounds or can not be read in full",
        "the weights are in a file of their own, which was not found, is not all there, or cannot "
        "be found because the model was loaded from memory or in a browser",
        ("ONX101",),
        "write one file with the weights inside: irloop transform MODEL -o ONE.onnx --pass "
        "simplify; irloop validate MODEL names a missing or truncated file",
    ),
    Message(
        _ORT,
        r"BFCArena::AllocateRawInternal|Failed to allocate memory for requested buffer of size "
        r"(?P<size>\d{1,20})",
        "a tensor does not fit into memory",
        (),
        "irloop inspect MODEL shows the sizes; give smaller inputs, or run irloop run MODEL "
        "--profile, which names the largest tensors",
    ),
    Message(
        _ONNX,
        r"model ir_version (?P<got>\d{1,20}) is higher than the checker's \((?P<most>\d{1,20})\)",
        "the model has ir_version {got}, and this onnx package knows at most {most}",
        (),
        "update the onnx package, or write an older version: irloop convert MODEL.onnx -o OLD.onnx "
        "--opset 17 --ir-version 8",
    ),
    Message(
        _ONNX,
        r"protobuf of onnx model is too large|exceeds maximum protobuf size",
        "the model is above 2 GB, the limit of a protobuf message; its weights must be in a file "
        "of their own",
        (),
        "irloop convert MODEL.onnx -o NEW.onnx writes large weights beside the model; pass the "
        "path, not the loaded model, to onnx.checker",
    ),
    Message(
        _ONNX,
        r"Error parsing message with type 'onnx\.ModelProto'",
        "the file is not an ONNX model: cut short, a Git LFS pointer, a web page, or another "
        "format",
        ("ONX101",),
        "irloop validate MODEL tells which of these it is",
    ),
    Message(
        _ONNX,
        r"version_converter.{0,300}(?:No Adapter|Assertion)|No Adapter (?:For|To Version)",
        "onnx's version converter does not know how to change the opset of this operation",
        (),
        "irloop convert MODEL.onnx -o NEW.onnx --opset 17 changes it, loops and branches included",
    ),
    Message(
        _OV,
        r"Can't set the input tensor with name: (?P<name>\S{1,300}), because the model input "
        r"\(shape=(?P<want>\[[^\]]{0,300}\])\) and the tensor \(shape=\((?P<got>[^)]{0,300})\)\)",
        "input {name!r} has the shape {want}, and data of the shape {got} was given",
        (),
        _RESHAPE,
    ),
    Message(
        _OV,
        r"input blob size is not equal to the network input size: got (?P<got>\d{1,20}) expecting "
        r"(?P<want>\d{1,20})",
        "the data has {got} elements or bytes, and the input of the model {want}",
        (),
        _RESHAPE,
    ),
    Message(
        _OV,
        r"ParameterMismatch|Failed to set (?:input )?blob with precision|tensor element type is "
        r"not matched with the model input element type",
        "the data for an input has another element type than the model declares; a version 10 IR "
        "changes i64 to i32 and boolean to u8 when OpenVINO reads it",
        ("IRL902",),
        f"convert the data; {_INPUTS}. Version 11 keeps the types: irloop convert MODEL.xml -o "
        "NEW.xml --ir-version 11",
    ),
    Message(
        _OV,
        r"Port for tensor name (?P<name>\S{1,300}) was not found|Data with name "
        r"(?P<other>\S{1,300}) was not found|Tensor name \S{1,300} was not found",
        "no input or output of the model has this name",
        (),
        _INPUTS,
    ),
    Message(
        _OV,
        r"Input data was not allocated|Data is empty!",
        "an input of the model got no data, or data without elements",
        (),
        f"set every input before running; {_INPUTS}",
    ),
    Message(
        _OV,
        r"Device with \"(?P<name>[^\"]{1,100})\" name is not registered",
        "OpenVINO has no plugin for the device {name}, or its driver is missing",
        (),
        "irloop doctor lists the installed engines; try the device CPU first",
    ),
    Message(
        _OV,
        r"Cannot get (?:length of dynamic dimension|dims for non static shape|shape from dynamic)|"
        r"(?:to_shape|get_shape) was called on a (?:dynamic shape|descriptor::Tensor with dynamic)|"
        r"\[GPU\] get_(?:dims|tensor)\(\) is called for dynamic shape",
        "a program or plugin asks for the size of an axis that is dynamic in this model",
        ("IRL628",),
        "fix the shapes of the inputs: irloop convert MODEL -o NEW.xml --shape NAME=1,3,640,640; "
        "in the program, ask for partial_shape",
    ),
)
