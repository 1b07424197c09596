"""Runs the ONNX checker before a file is written."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import gettempdir

import onnx

from irloop.dialects.onnx.base import ONNX, RUNTIME_DOMAIN, OnnxOp
from irloop.errors import LimitError, WriteError
from irloop.files import reason_of, scratch
from irloop.formats.onnx import apart
from irloop.formats.onnx.local_functions import all_nodes
from irloop.formats.onnx.store import Store

__all__ = ["check_model"]

BF16, F16 = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT16

#: The first opset in which all operations, including loops and branches, support bf16.
BF16_SINCE = 16


def check_model(
    proto: onnx.ModelProto, store: Store, name: str, *, types: Collection[str], sound: bool
) -> bytes | None:
    """Check a model with the ONNX checker before it is written.

    The weights of the model are still in `store`. `name` is the model's name in error messages.
    `types` holds the operation types in the model; those of standard ONNX operations may be
    missing. A model that is not `sound` (see `soundness`) is checked in a child process.

    The checker sees a copy with changes if the model needs them:

    - Operations of ai.onnx that only ONNX Runtime has are moved to its own domain, because the
      checker skips other domains.
    - Before opset 16, bf16 is replaced by f16, because not all operations support bf16 there. ONNX
      Runtime runs such files anyway, so the written file keeps bf16.

    Returns the serialised `proto` if it was checked without any change and `store` is empty. The
    caller then need not serialise it again. Otherwise, the result is None.

    Raises:
        WriteError: when the checker refuses the model, or crashes.
        LimitError: when the checker takes too long.
    """
    unranked = [
        info.type.tensor_type
        for info in (*proto.graph.input, *proto.graph.output)
        if info.type.WhichOneof("value") == "tensor_type"
        and not info.type.tensor_type.HasField("shape")
    ]
    for unshaped in unranked:
        # The checker demands a shape, but a value of unknown rank has none.
        unshaped.shape.SetInParent()
    try:
        with scratch() as folder, store.with_empty_file(folder):
            path = Path(folder, "model.onnx")
            judged = _judged(proto, types)
            encoded = judged.SerializeToString(deterministic=True)
            path.write_bytes(encoded)
            judge = onnx.checker.check_model if sound else apart.check
            judge(str(path), full_check=not unranked)
    except LimitError:
        raise
    except OSError as error:
        raise WriteError(f"{name} cannot be checked: {reason_of(error, gettempdir())}") from error
    except Exception as error:  # onnx raises exceptions without a common base class
        raise WriteError(
            f"{name} is not written: the ONNX checker refuses the model",
            found=str(error).strip()[:1000],
        ) from None
    finally:
        for unshaped in unranked:
            unshaped.ClearField("shape")
    return encoded if judged is proto and store.is_empty and not unranked else None


def _judged(proto: onnx.ModelProto, types: Collection[str]) -> onnx.ModelProto:
    opsets = {item.domain: item.version for item in proto.opset_import}
    opset = opsets.get("", BF16_SINCE)
    suspects = {type for type in types if _is_of_runtime(type, "", opset)}
    of_runtime = bool(suspects) and any(
        node.op_type in suspects and not node.domain for node in all_nodes(proto.graph.node)
    )
    if opset >= BF16_SINCE and not of_runtime:
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for node in all_nodes(copy.graph.node):
        if _is_of_runtime(node.op_type, node.domain, opset):
            node.domain = RUNTIME_DOMAIN
    if of_runtime and RUNTIME_DOMAIN not in opsets:
        copy.opset_import.add(domain=RUNTIME_DOMAIN, version=1)
    if opset < BF16_SINCE:
        _replace_in_graph(copy.graph)
    return copy


def _is_of_runtime(op_type: str, domain: str, opset: int) -> bool:
    if domain:
        return False
    cls = ONNX.find(op_type, opset)
    return cls is not None and issubclass(cls, OnnxOp) and cls.of_runtime


def _replace_in_graph(graph: onnx.GraphProto) -> None:
    for item in (*graph.input, *graph.output, *graph.value_info):
        if item.type.HasField("tensor_type") and item.type.tensor_type.elem_type == BF16:
            item.type.tensor_type.elem_type = F16
    for tensor in graph.initializer:
        _replace_element(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and node.op_type == "Cast" and attribute.i == BF16:
                attribute.i = F16
            if attribute.HasField("t"):
                _replace_element(attribute.t)
            if attribute.HasField("g"):
                _replace_in_graph(attribute.g)


def _replace_element(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == BF16:
        tensor.data_type = F16
