"""Implements ONNX's backend interface, so that ONNX's test runner and other tools can use irloop.

    import onnx
    from irloop import backend

    prepared = backend.prepare(onnx.load("model.onnx"))
    (y,) = prepared.run([x])

As in ONNX Runtime, the module itself is the backend: it has the functions of
`onnx.backend.base.Backend`. For example: ``onnx.backend.test.BackendTest(irloop.backend,
__name__)``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irloop.boundary import guarded
from irloop.errors import IrloopError, UsageError

if TYPE_CHECKING:
    import onnx

    from irloop.graph.model import Model

    Path = str | os.PathLike[str]

__all__ = [
    "IrloopBackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
    "supports_opset",
]


class IrloopBackendRep:
    """A compiled model."""

    def __init__(self, model: Model) -> None:
        from irloop.execution.session import Session

        self._session = Session(model)

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """Run the model; return its outputs, in the order that the model declares.

        Args:
            inputs: arrays by position or by name; one array for a model with one input. An absent
                optional is None, a sequence a list.
            options: accepted for other backends' options, and ignored.

        Raises:
            UsageError: for an input that is missing, unknown, or of another type or shape.
            ExecutionError: naming the node and the iteration that failed.
        """
        given = inputs if isinstance(inputs, Mapping | list | tuple) else [inputs]
        if isinstance(given, Mapping):
            return tuple(self._session.run({k: _text(v) for k, v in given.items()}).values())
        return tuple(self._session.run([_text(value) for value in given]).values())


@guarded("preparing a model")
def prepare(
    model: onnx.ModelProto | Model | bytes | Path, device: str = "CPU", **options: Any
) -> IrloopBackendRep:
    """Compile a model, to run it repeatedly.

    Args:
        model: a ModelProto, its bytes, a path, or a model that irloop has read.
        device: only the CPU is supported.
        options: accepted for other backends' options, and ignored.

    Raises:
        UsageError: for another device.
        ReadError: when it is not a valid model.
        UnsupportedError: naming every operation that cannot be run.
    """
    if not supports_device(device):
        raise UsageError(f"the executor does not run on {device!r}", expected="CPU")
    return IrloopBackendRep(_read(model))


def run_model(
    model: onnx.ModelProto | Model | bytes | Path,
    inputs: Any,
    device: str = "CPU",
    **options: Any,
) -> tuple[Any, ...]:
    """Run a model once; see `prepare` and `IrloopBackendRep.run`."""
    return prepare(model, device, **options).run(inputs)


@guarded("running a node")
def run_node(
    node: onnx.NodeProto,
    inputs: Any,
    device: str = "CPU",
    outputs_info: Sequence[Any] | None = None,
    *,
    opset_version: int | None = None,
    context: Mapping[str, Any] | None = None,
    **options: Any,
) -> tuple[Any, ...]:
    """Run one operation.

    Args:
        node: the operation; its bodies may read the values of `context`.
        inputs: arrays by position or by name, without the inputs that the operation omits.
        device: only the CPU is supported.
        outputs_info: ignored: types and shapes follow from the inputs.
        opset_version: the opset of the operation's domain; by default the newest.
        context: the values that bodies read from outside of the operation, by name.
        options: ignored.

    Raises:
        UsageError: for another device, or inputs that do not match.
        UnsupportedError: when the operation cannot be run.
        ExecutionError: when the operation fails.
    """
    from irloop.formats.onnx.single_node import model_of_node

    if not supports_device(device):
        raise UsageError(f"the executor does not run on {device!r}", expected="CPU")
    outer = {name: value for name, value in (context or {}).items() if name not in node.input}
    if isinstance(inputs, Mapping):
        operands: Any = {**inputs, **outer}
    else:
        operands = [*(inputs if isinstance(inputs, list | tuple) else [inputs]), *outer.values()]
    return IrloopBackendRep(model_of_node(node, opset_version, outer)).run(operands)


def supports_device(device: str) -> bool:
    """Return whether `device` is "CPU", with or without a number."""
    return str(device).partition(":")[0] == "CPU"


def supports_opset(domain: str, version: int) -> bool:
    """Return whether irloop can read models of this opset."""
    from irloop.formats.onnx.signature import NEWEST

    return domain not in ("", "ai.onnx") or 1 <= version <= NEWEST


def is_compatible(
    model: onnx.ModelProto | Model | bytes | Path, device: str = "CPU", **options: Any
) -> bool:
    """Return whether the model can be read and compiled."""
    try:
        prepare(model, device, **options)
    except IrloopError:
        return False
    return True


def _read(model: Any) -> Model:
    from irloop.graph.model import Model

    if isinstance(model, Model):
        return model
    from irloop.formats import model_files

    if isinstance(model, str | os.PathLike):
        return model_files.read(model)
    from irloop.formats.onnx.single_node import model_of_proto

    return model_of_proto(model)


def _text(value: Any) -> Any:
    """Decode byte strings in an array, or in each array of a list, to Python strings.

    This is needed because onnx.numpy_helper returns strings as bytes. Other values are returned
    unchanged.

    Raises:
        UsageError: when a string is not UTF-8.
    """
    if isinstance(value, list | tuple):
        return [_text(item) for item in value]
    if getattr(getattr(value, "dtype", None), "kind", "") not in ("O", "S"):
        return value
    import numpy as np

    try:
        texts = [item.decode() if isinstance(item, bytes) else item for item in value.flat]
    except UnicodeDecodeError as error:
        raise UsageError("a string among the inputs is not UTF-8") from error
    return np.array(texts, dtype=object).reshape(value.shape)
