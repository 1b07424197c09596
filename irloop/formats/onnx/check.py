"""The ONNX checker's judgement, asked before a file is written."""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

import onnx

from irloop.errors import WriteError
from irloop.files import reason_of, scratch
from irloop.formats.onnx.store import Store

__all__ = ["check_model"]


def check_model(proto: onnx.ModelProto, store: Store, name: str) -> None:
    """Have a model judged whose weights are still in `store`; `name` is for the message.

    Raises:
        WriteError: when the checker refuses it.
    """
    unranked = [
        item.type.tensor_type
        for item in (*proto.graph.input, *proto.graph.output)
        if item.type.WhichOneof("value") == "tensor_type"
        and not item.type.tensor_type.HasField("shape")
    ]
    for item in unranked:
        # The checker demands a shape, although no file can give one for a rank not known.
        item.shape.SetInParent()
    try:
        with scratch() as folder, store.standing_in(folder):
            path = Path(folder, "model.onnx")
            path.write_bytes(proto.SerializeToString())
            onnx.checker.check_model(str(path), full_check=not unranked)
    except OSError as error:
        raise WriteError(f"{name} cannot be checked: {reason_of(error, gettempdir())}") from error
    except Exception as error:  # onnx has no common base of what it raises
        raise WriteError(
            f"{name} is not written: the ONNX checker refuses the model",
            found=str(error).strip()[:1000],
        ) from None
    finally:
        for item in unranked:
            item.ClearField("shape")
